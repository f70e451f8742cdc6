"""What a feature is worth to a row, by flips: the loss without it minus the loss with it, the rest as drawn.

A draw of the gates is a mask and, with a copula, the latents it came from. For independent gates the rest of the mask
stays as it is. For correlated gates the flip of i is taken at the threshold of latent i, which moves the others
(see `gradients`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training import gradients

RowLoss = Callable[[Tensor, Tensor], Tensor]  # (..., out), (...) -> (...)


class Draw(NamedTuple):
    """Gates drawn for rows (R, n, d); the last three only with a copula."""

    mask: Tensor
    latents: Tensor | None = None  # q
    thresholds: Tensor | None = None  # c
    correlation: Tensor | None = None  # R: (R, 1, d, d)


def draw_gates(scores: Tensor, correlation_root: Tensor | None, generator: torch.Generator) -> Draw:
    """Gates open with probability sigmoid(alpha); correlated if loadings and own noise are given.

    `correlation_root` is (R, d, p + 1): the rows of L divided by the deviation, then sigma divided by it.
    """
    if correlation_root is None:
        noise = torch.rand(scores.shape, generator=generator, device=scores.device)
        return Draw((noise < torch.sigmoid(scores)).to(scores.dtype))
    loadings, own = correlation_root[..., :-1], correlation_root[..., -1]
    replicas, n, d = scores.shape
    xi = torch.randn(replicas, n, loadings.shape[-1], generator=generator, device=scores.device)
    eps = torch.randn(replicas, n, d, generator=generator, device=scores.device)
    q = xi @ loadings.mT + own.unsqueeze(1) * eps
    c = gradients.thresholds(scores)
    correlation = loadings @ loadings.mT + torch.diag_embed(own.square())
    return Draw((q > c).to(scores.dtype), q, c, correlation.unsqueeze(1))


def random_features(scores: Tensor, alive: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Different random features for every row of scores (R, n, d), those not `alive` last: (R, n, count)."""
    d = scores.shape[-1]
    if count >= d:
        return torch.arange(d, device=scores.device).expand(*scores.shape[:-1], d)
    keys = torch.rand(scores.shape, generator=generator, device=scores.device) + 2.0 * ~alive
    return keys.topk(count, dim=-1, largest=False).indices


def gains(judge: MaskedPredictor, loss: RowLoss, x: Tensor, y: Tensor, draw: Draw, index: Tensor) -> Tensor:
    """Loss with gate i shut minus loss with gate i open, for each i in `index` (R, n, K): (R, n, K)."""
    if draw.latents is None:
        hidden = judge.before_activation(x, draw.mask)
        flipped = loss(judge.flipped(hidden, x, draw.mask, index), y.unsqueeze(-1).expand(index.shape))
        drawn = loss(judge.after_first(hidden), y).unsqueeze(-1)
        return (flipped - drawn) * (2 * draw.mask.gather(-1, index) - 1)
    moved = gradients.at_threshold(draw.latents, draw.thresholds, draw.correlation, index)  # (R, n, K, d)
    masks = gradients.with_gate((moved > draw.thresholds.unsqueeze(-2)).to(x.dtype), index, 0.0)
    rows, masks, labels = _one_row_each(x, masks, y)
    hidden = judge.before_activation(rows, masks)
    off = loss(judge.after_first(hidden), labels)
    on = loss(judge.flipped(hidden, rows, masks, index.flatten(1, 2).unsqueeze(-1)).squeeze(2), labels)
    return (off - on).view(index.shape)


def mixed_differences(
    judge: MaskedPredictor, loss: RowLoss, x: Tensor, y: Tensor, draw: Draw, first: Tensor, second: Tensor
) -> Tensor:
    """f11 - f10 - f01 + f00 of the loss, latents i and j at their thresholds: (R, n, K) for K pairs a row."""
    moved = gradients.pair_at_threshold(draw.latents, draw.thresholds, draw.correlation, first, second)
    masks = (moved > draw.thresholds.unsqueeze(-2)).to(x.dtype)
    total = torch.zeros(first.shape, device=x.device, dtype=x.dtype)
    for a in (0.0, 1.0):
        for b in (0.0, 1.0):
            corner = gradients.with_gate(gradients.with_gate(masks, first, a), second, b)
            rows, corner, labels = _one_row_each(x, corner, y)
            sign = 1.0 if a == b else -1.0
            total += sign * loss(judge(rows, corner), labels).view(first.shape)
    return total


def _one_row_each(x: Tensor, masks: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """K masks a row (R, n, K, d) as K rows: x, masks (R, n K, d) and y (R, n K)."""
    count = masks.shape[2]
    return x.repeat_interleave(count, 1), masks.flatten(1, 2), y.repeat_interleave(count, 1)
