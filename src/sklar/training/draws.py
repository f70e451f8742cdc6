"""Draws of the gates: masks and, with a copula, the latents they came from."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sklar.model import copula, topk_mask
from sklar.training import gradients


class Latents(NamedTuple):
    """What correlated gates were drawn from: a gate is open where its latent q exceeds its threshold c."""

    distance: Tensor  # c - q, (R, n, d)
    correlation: Tensor  # (R, d, d)


class Draw(NamedTuple):
    """Gates drawn for rows; the latents only with a copula."""

    mask: Tensor  # (R, n, d)
    latents: Latents | None = None


def draw_gates(scores: Tensor, root: Tensor | None, generator: torch.Generator) -> Draw:
    """Gates open with probability sigmoid(alpha); correlated by R = root root^T + diag if `root` (R, d, p) is given."""
    if root is None:
        noise = torch.rand(scores.shape, generator=generator, device=scores.device)
        return Draw((noise < torch.sigmoid(scores)).to(scores.dtype))
    own = (1 - root.square().sum(-1)).clamp_min(0)  # (R, d)
    xi, eps = _normal(scores, root.shape[-1], generator), _normal(scores, scores.shape[-1], generator)
    q = torch.baddbmm(own.sqrt().unsqueeze(1) * eps, xi, root.mT)
    distance = gradients.thresholds(scores) - q
    correlation = torch.baddbmm(torch.diag_embed(own), root, root.mT)
    return Draw((distance < 0).to(scores.dtype), Latents(distance, correlation))


def draw_topk(scores: Tensor, root: Tensor | None, k: int, generator: torch.Generator) -> Draw:
    """Exactly k gates a row: the largest of the keys log(u) / alpha, as the top-k mask draws them."""
    s = _normal(scores, scores.shape[-1], generator)
    if root is not None:
        own = (1 - root.square().sum(-1)).clamp_min(0)
        s = _normal(scores, root.shape[-1], generator) @ root.mT + own.sqrt().unsqueeze(1) * s
    keys = topk_mask.sampling_keys(topk_mask.sampling_weights(scores), copula.log_uniform(s))
    return Draw(topk_mask.hard_topk(keys, k).to(scores.dtype))


def random_features(eligible: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Different features for every row of `eligible` (R, n, d), in random order, the others last: (R, n, count).

    Where there are fewer than `count` it is all of them.
    """
    keys = torch.rand(eligible.shape, generator=generator, device=eligible.device) + 2.0 * ~eligible
    return keys.topk(min(count, eligible.shape[-1]), dim=-1, largest=False).indices


def _normal(like: Tensor, width: int, generator: torch.Generator) -> Tensor:
    """Standard normal draws for the rows of `like`: (R, n, width)."""
    return torch.randn(*like.shape[:2], width, generator=generator, device=like.device, dtype=like.dtype)
