"""Draws of the gates: masks and, with a copula, the latents they came from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.training import gradients


class Copula(NamedTuple):
    """The correlation of the gates, R = root root^T + diag(deviation^2)."""

    root: Tensor  # (R, d, p)
    deviation: Tensor  # of each latent's own noise, (R, 1, d)
    correlation: Tensor  # (R, d, d)

    @classmethod
    def of(cls, root: Tensor) -> Copula:
        """With the root (R, d, p) of everything off the diagonal."""
        own = (1 - root.square().sum(-1)).clamp_min(0)
        return cls(root, own.sqrt().unsqueeze(1), torch.baddbmm(torch.diag_embed(own), root, root.mT))

    def for_folds(self, folds: int) -> Copula:
        """The same for every fold of a problem: P replicas become P F."""
        return Copula(*(part.repeat_interleave(folds, 0) for part in self))

    def noise(self, like: Tensor, generator: torch.Generator) -> Tensor:
        """q ~ N(0, R) for the rows of `like` (R, n, d)."""
        xi = _normal(like, self.root.shape[-1], generator)
        return torch.baddbmm(self.deviation * _normal(like, like.shape[-1], generator), xi, self.root.mT)


class Latents(NamedTuple):
    """What correlated gates were drawn from: a gate is open where its latent q exceeds its threshold c."""

    distance: Tensor  # c - q, (R, n, d)
    correlation: Tensor  # (R, d, d)


class Draw(NamedTuple):
    """Gates drawn for rows; the latents only with a copula."""

    mask: Tensor  # (R, n, d)
    latents: Latents | None = None


def draw_gates(scores: Tensor, copula: Copula | None, generator: torch.Generator) -> Draw:
    """Gates open with probability sigmoid(alpha), correlated if a copula is given."""
    if copula is None:
        noise = torch.rand(scores.shape, generator=generator, device=scores.device)
        return Draw((noise < torch.sigmoid(scores)).to(scores.dtype))
    distance = gradients.thresholds(scores) - copula.noise(scores, generator)
    return Draw((distance < 0).to(scores.dtype), Latents(distance, copula.correlation))


def random_features(eligible: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Different features for every row of `eligible` (R, n, d), in random order, the others last: (R, n, count).

    Where there are fewer than `count` it is all of them.
    """
    keys = torch.rand(eligible.shape, generator=generator, device=eligible.device) + 2.0 * ~eligible
    count = min(count, eligible.shape[-1])
    if keys.device.type == "cpu":  # the same, several times as fast for rows so short
        return torch.from_numpy(np.argsort(keys.numpy(), axis=-1)[..., :count].copy())
    return keys.topk(count, dim=-1, largest=False).indices


def _normal(like: Tensor, width: int, generator: torch.Generator) -> Tensor:
    """Standard normal draws for the rows of `like`: (R, n, width)."""
    return torch.randn(*like.shape[:2], width, generator=generator, device=like.device, dtype=like.dtype)
