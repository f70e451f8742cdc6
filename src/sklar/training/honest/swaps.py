"""Exactly k features per row: masks of k gates, and what the scores learn from swaps, one feature out and one in.

Every gate gets the slope of the loss as drawn, which one backward pass gives for all gates together. A slope is of an
infinitely small change, so some swaps a row, picked at random, are tried in full, and what the slope got wrong about
them is put right. The mean over the swaps is exact; the slopes only take away most of its noise, which with hundreds of
features and a few swaps a row would be large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sklar.model import topk_mask
from sklar.model.gates import sum_by_gate
from sklar.training.engine.team import WHOLE, Share
from sklar.training.honest.draws import Draw, Trial, random_features


def draw(scores: Tensor, k: int | Tensor, generator: torch.Generator, share: Share = WHOLE) -> Draw:
    """Exactly k gates a row, or as many as k (R, n, 1) says, one after the other in proportion to exp(alpha)."""

    def exponential(shape: Sequence[int]) -> Tensor:
        return scores.new_empty(shape).exponential_(generator=generator)

    wait = share.drawn(exponential, scores.shape, 1)
    keys = topk_mask.sampling_keys(topk_mask.exponential_weights(scores), -wait)  # -wait is the log of a uniform
    return Draw(topk_mask.hard_topk(keys, k).to(scores.dtype))


def bound_for(k: int | Tensor, d: int, bound: float) -> float | Tensor:
    """The bound of the scores at which nine of ten gates drawn are among the k at its upper end; one a row, if k is."""
    if isinstance(k, Tensor):
        return (0.5 * (9 * (d - k).clamp_min(1) / k).log()).clamp_min(bound)
    return max(bound, 0.5 * math.log(9 * max(1, d - k) / k))


def push(
    trial: Trial, free: Tensor, count: int, generator: torch.Generator, own_k: bool = False, share: Share = WHOLE
) -> Tensor:
    """What the scores are to be moved against, of a draw whose gates `free` (R, n, d) may change: (R, n, d).

    A hidden feature gets minus what it gains when it comes for one that is shown, a shown one what is gained when it
    leaves, both in the mean over its partners, and all in proportion to the number of features. Rows may differ in how
    many they show: `own_k`.
    """
    is_shown = trial.draw.mask > 0.5
    hidden, shown = free & ~is_shown, free & is_shown
    slope = slopes(trial)
    out, into = (random_features(part, count, generator, share) for part in (shown, hidden))
    wrong = swap_gains(trial, out, into) - (slope.gather(-1, out) - slope.gather(-1, into))
    tried = hidden.gather(-1, into) * shown.gather(-1, out)  # rows that show few have fewer partners
    put_right = torch.zeros_like(slope).scatter_add(-1, into, -wrong * tried).scatter_add(-1, out, wrong * tried)
    n_tried = tried.sum(-1, keepdim=True).clamp_min(1) if own_k else out.shape[-1]
    return put_right * (slope.shape[-1] / n_tried) + _by_slopes(slope, hidden, shown)


def slopes(trial: Trial) -> Tensor:
    """The slope of the loss as drawn in every gate: (R, n, d)."""
    judge = trial.judge
    with torch.enable_grad():
        hidden = trial.hidden.detach().requires_grad_()
        (slope,) = torch.autograd.grad(trial.loss(judge.after_first(hidden), trial.y).sum(), hidden)
    of_input = slope @ judge.first.weight.mT  # (R, n, D + d): of x * z, and of z - 1/2
    of_value = trial.x * of_input[..., : judge.n_inputs]
    if judge.gate_of_input is not None:
        of_value = sum_by_gate(of_value, judge.gate_of_input, judge.n_features)
    return of_value + of_input[..., judge.n_inputs :]


def swap_gains(trial: Trial, out: Tensor, into: Tensor) -> Tensor:
    """Loss as drawn minus loss with feature `out` hidden and feature `into` shown instead: (R, n, K)."""
    hide, show = (trial.judge.flip_step(trial.x, trial.draw.mask, index) for index in (out, into))
    return trial.drawn_loss.unsqueeze(-1) - trial.losses(trial.hidden.unsqueeze(2) + hide + show)


def _by_slopes(slope: Tensor, hidden: Tensor, shown: Tensor) -> Tensor:
    """The mean push over all swaps, were the loss as the slopes say: (R, n, d)."""
    n_hidden, n_shown = (part.sum(-1, keepdim=True).clamp_min(1) for part in (hidden, shown))
    of_hidden, of_shown = (slope * hidden).sum(-1, keepdim=True), (slope * shown).sum(-1, keepdim=True)
    comes, leaves = (slope - of_shown / n_shown) / n_hidden, (slope - of_hidden / n_hidden) / n_shown
    return slope.shape[-1] * (hidden * comes + shown * leaves)
