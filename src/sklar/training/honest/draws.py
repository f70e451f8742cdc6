"""Draws of the gates: masks and, with a copula, the latents they came from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.training.honest import gradients

WIDEST_SORTED = 256  # features: up to here numpy sorts them all sooner than torch finds the first few


class Noise(NamedTuple):
    """Correlated draws of standard normals."""

    q: Tensor  # (R, n, d)
    correlation: Tensor  # (R, d, d)


def correlated_noise(loadings: Tensor, n: int, generator: torch.Generator, folds: int = 1) -> Noise:
    """Draws q ~ N(0, R) for n rows of each replica, R = Norm(L L^T + I).

    loadings : (P, d, p), of P problems; all folds of a problem, its replicas, share them
    """
    own = own_deviation(loadings)
    root = loadings * own
    correlation = root @ root.mT
    correlation.diagonal(dim1=1, dim2=2).fill_(1.0)
    own, root = (part.unsqueeze(1).expand(-1, folds, -1, -1).flatten(0, 1).mT for part in (own, root))
    xi, eps = (
        torch.randn(len(root), n, width, generator=generator, device=root.device, dtype=root.dtype)
        for width in root.shape[1:]
    )
    return Noise(torch.baddbmm(own * eps, xi, root), correlation.repeat_interleave(folds, 0))


def own_deviation(loadings: Tensor) -> Tensor:
    """The share of each latent's deviation that is its own noise, 1 / sqrt(|L_i|^2 + 1): (P, d, 1)."""
    return (loadings.square().sum(-1, keepdim=True) + 1).rsqrt()


class Latents(NamedTuple):
    """What correlated gates were drawn from: a gate is open where its latent q exceeds its threshold c."""

    distance: Tensor  # c - q, (R, n, d)
    correlation: Tensor  # (R, d, d)


class Draw(NamedTuple):
    """Gates drawn for rows; the latents only with a copula."""

    mask: Tensor  # (R, n, d)
    latents: Latents | None = None


def draw_gates(scores: Tensor, noise: Noise | Tensor) -> Draw:
    """Gates open with probability sigmoid(alpha), correlated as the noise is, or not where it is uniform (R, n, d)."""
    if not isinstance(noise, Noise):
        return Draw((noise < torch.sigmoid(scores)).to(scores.dtype))
    distance = gradients.thresholds(scores) - noise.q
    return Draw((distance < 0).to(scores.dtype), Latents(distance, noise.correlation))


def random_features(eligible: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Different features for every row of `eligible` (R, n, d), in random order, the others last: (R, n, count).

    Where there are fewer than `count` it is all of them.
    """
    keys = torch.rand(eligible.shape, generator=generator, device=eligible.device) + 2.0 * ~eligible
    count = min(count, eligible.shape[-1])
    if keys.device.type == "cpu" and keys.shape[-1] <= WIDEST_SORTED:  # the same, several times as fast for short rows
        return torch.from_numpy(np.argsort(keys.numpy(), axis=-1)[..., :count].copy())
    return keys.topk(count, dim=-1, largest=False).indices
