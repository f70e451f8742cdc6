"""What a feature is worth to a row, by flips: the loss without it minus the loss with it, the rest as drawn.

A draw of the gates is a mask and, with a copula, the latents it came from. For independent gates the rest of the mask
stays as it is. For correlated gates the flip of i is taken at the threshold of latent i, which moves the others
(see `gradients`). For an exact number of features see `swaps`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training import gradients

RowLoss = Callable[[Tensor, Tensor], Tensor]  # (..., out), (...) -> (...)


class Latents(NamedTuple):
    """What correlated gates were drawn from."""

    q: Tensor  # (R, n, d)
    thresholds: Tensor  # c, (R, n, d)
    correlation: Tensor  # (R, 1, d, d)


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
    q = xi @ root.mT + own.sqrt().unsqueeze(1) * eps
    c = gradients.thresholds(scores)
    correlation = (root @ root.mT + torch.diag_embed(own)).unsqueeze(1)
    return Draw((q > c).to(scores.dtype), Latents(q, c, correlation))


def random_features(eligible: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Different random features for every row of `eligible` (R, n, d), the others last: (R, n, count)."""
    d = eligible.shape[-1]
    if count >= d:
        return torch.arange(d, device=eligible.device).expand(*eligible.shape[:-1], d)
    keys = torch.rand(eligible.shape, generator=generator, device=eligible.device) + 2.0 * ~eligible
    return keys.topk(count, dim=-1, largest=False).indices


def gains(
    judge: MaskedPredictor,
    loss: RowLoss,
    x: Tensor,
    y: Tensor,
    draw: Draw,
    index: Tensor,
) -> Tensor:
    """Loss with gate i shut minus loss with gate i open, for each i in `index` (R, n, K): (R, n, K)."""
    if draw.latents is None:
        hidden = judge.before_activation(x, draw.mask)
        output = judge.after_step(hidden, judge.flip_step(x, draw.mask, index))
        flipped = loss(output, y.unsqueeze(-1).expand(index.shape))
        return (flipped - loss(judge.after_first(hidden), y).unsqueeze(-1)) * (2 * draw.mask.gather(-1, index) - 1)
    q, c, correlation = draw.latents
    moved = gradients.at_threshold(q, c, correlation, index) > c.unsqueeze(-2)  # (R, n, K, d)
    rows, masks, labels = _one_row_each(x, gradients.with_gate(moved.to(x.dtype), index, 0.0), y)
    hidden = judge.before_activation(rows, masks)
    opened = judge.flip_step(rows, masks, index.flatten(1, 2).unsqueeze(-1))
    on = loss(judge.after_step(hidden, opened).squeeze(2), labels)
    return (loss(judge.after_first(hidden), labels) - on).view(index.shape)


def mixed_differences(
    judge: MaskedPredictor, loss: RowLoss, x: Tensor, y: Tensor, latents: Latents, first: Tensor, second: Tensor
) -> Tensor:
    """f11 - f10 - f01 + f00 of the loss, latents i and j at their thresholds: (R, n, K) for K pairs a row."""
    q, c, correlation = latents
    masks = (gradients.pair_at_threshold(q, c, correlation, first, second) > c.unsqueeze(-2)).to(x.dtype)
    shut = gradients.with_gate(gradients.with_gate(masks, first, 0.0), second, 0.0)
    rows, masks, labels = _one_row_each(x, shut, y)
    hidden = judge.before_activation(rows, masks)
    step_i, step_j = (judge.flip_step(rows, masks, i.flatten(1, 2).unsqueeze(-1)) for i in (first, second))
    steps = torch.cat([torch.zeros_like(step_i), step_i, step_j, step_i + step_j], dim=2)  # 00, 10, 01, 11
    losses = loss(judge.after_step(hidden, steps), labels.unsqueeze(-1).expand(*labels.shape, 4))
    return (losses[..., 3] - losses[..., 2] - losses[..., 1] + losses[..., 0]).view(first.shape)


def _one_row_each(x: Tensor, masks: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """K masks a row (R, n, K, d) as K rows: x, masks (R, n K, d) and y (R, n K)."""
    count = masks.shape[2]
    return x.repeat_interleave(count, 1), masks.flatten(1, 2), y.repeat_interleave(count, 1)


def _normal(like: Tensor, width: int, generator: torch.Generator) -> Tensor:
    """Standard normal draws for the rows of `like`: (R, n, width)."""
    return torch.randn(*like.shape[:2], width, generator=generator, device=like.device, dtype=like.dtype)
