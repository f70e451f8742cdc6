"""Exactly k features per row: masks of k gates, and the exact gradient of their scores, by swaps at the edge.

A gate is shown where its key v_i = alpha_i + g_i, with Gumbel noise g, is among the k largest: where it passes the
k-th largest of the *other* keys, T_i. Moving alpha_i changes a mask only where v_i meets T_i, and then feature i and
the one whose key is T_i change places. So for any loss f of masks, with T_i and the other gates as drawn,

    d E f / d alpha_i = E[ density of v_i at T_i, given the other keys * (f with i shown - f with i hidden) ]

For all shown features the partner is the hidden one with the largest key, for all hidden ones the shown one with the
lowest: those whose place is least certain. (The mean over all partners, instead, asks what a feature is worth against
those that nothing would replace: copies that add nothing then keep out what adds a little.)

With a copula g_i is a function of a latent q_i = root_i xi + own_i eps_i. Given xi the latents are independent, which
gives the density above; and the threshold is passed at q_i = q*_i, so that loadings L, root = Norm(L), get

    d E f / d L_i = own_i E[ density of q_i at q*_i * (f with i shown - f with i hidden) * (xi - root_i q*_i) ]

Every gate gets the difference that the slope of the loss in the gates says, which one backward pass gives for all
together; some differences a row, picked at random, are tried in full, and what the slope got wrong about them is put
right. Up to `NEAR` gates the mean is exact, and the slopes only take away most of its noise. Of more, only those are
tried whose keys are among the highest: what a few of hundreds stand for is noise that drowns the rest, and by the time
that a gate may be shown the slope's word is no longer taken for it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sklar.model import copula, topk_mask
from sklar.model.gates import sum_by_gate
from sklar.training.engine.team import WHOLE, Share
from sklar.training.honest.draws import Draw, Edge, LatentEdge, Noise, Trial, random_features

FARTHEST = (-5.0, 30.0)  # thresholds less scores: beyond, no float32 density of a Gumbel is above 0, or one that counts
OTHER_ROWS = 4  # whose thresholds say how often a key is at its own
SELDOM = 0.04  # a key counts as being at its threshold at least so often: the largest density is 9 times as large
NEAR = 64  # gates of the highest keys that are tried, and at least twice as many as are shown
WITHIN = 1e-7  # of 0 and 1, uniforms are not looked at: they are latents of 5 deviations


def draw(scores: Tensor, k: int | Tensor, noise: Noise | Tensor, share: Share = WHOLE) -> Draw:
    """Exactly k gates a row, or as many as k (R, n, 1) says, one after the other in proportion to exp(alpha).

    The noise is correlated, or uniform (R, n, d).
    """
    log_uniform = copula.log_uniform(noise.q) if isinstance(noise, Noise) else noise.log()
    keys = scores - (-log_uniform).log()
    shown = topk_mask.hard_topk(keys, k)
    return Draw(shown.to(scores.dtype), edge=edge_of(scores, keys, shown, near(keys, k), noise, share))


def near(keys: Tensor, k: int | Tensor) -> Tensor:
    """The gates that are tried in full: (R, n, d)."""
    d = keys.shape[-1]
    if d <= NEAR:
        return torch.ones_like(keys, dtype=torch.bool)
    return topk_mask.hard_topk(keys, (2 * k).clamp_min(NEAR) if isinstance(k, Tensor) else min(d, max(NEAR, 2 * k)))


def edge_of(
    scores: Tensor, keys: Tensor, shown: Tensor, near: Tensor, noise: Noise | Tensor, share: Share = WHOLE
) -> Edge:
    """Where gates `shown` (R, n, d) by their keys would change."""
    lowest, last = keys.masked_fill(~shown, torch.inf).min(-1, keepdim=True)
    highest, first = keys.masked_fill(shown, -torch.inf).max(-1, keepdim=True)
    rate = _rate(scores, torch.where(shown, highest, lowest))
    density = rate * (-rate).exp()
    often = _often(scores, (lowest + highest) / 2, share)
    if not isinstance(noise, Noise):
        return Edge(last, first, density, often, near)
    at = _normal_quantile((-rate).exp_())
    own_part = (at - noise.factors @ noise.root.mT) / noise.own
    of_latent = _normal_density(own_part) / noise.own
    latent = LatentEdge(at, of_latent, noise.factors)
    return Edge(last, first, density * of_latent / _normal_density(at), often, near, latent)


def _rate(scores: Tensor, thresholds: Tensor) -> Tensor:
    """exp(alpha - T): a key is above T with probability 1 - exp(-rate), and has the density rate exp(-rate) there."""
    return (scores - thresholds).clamp_(-FARTHEST[1], -FARTHEST[0]).exp_()


def _often(scores: Tensor, edges: Tensor, share: Share) -> Tensor:
    """How often each key is at its threshold, the mean density at the edges (R, n, 1) of other rows: (R, n, d).

    Being of other rows, it is no function of a row's own draw.
    """
    edges = share.together(edges, 1)
    rates = [_rate(scores, share.own(edges.roll(by, 1), 1)) for by in range(1, OTHER_ROWS + 1)]
    return torch.stack([rate * (-rate).exp() for rate in rates]).mean(0).clamp_min_(SELDOM)


def _normal_quantile(uniform: Tensor) -> Tensor:
    return (2 * uniform.clamp(WITHIN, 1 - WITHIN) - 1).erfinv_().mul_(math.sqrt(2))


def _normal_density(value: Tensor) -> Tensor:
    return value.square().mul_(-0.5).exp_().mul_((2 * math.pi) ** -0.5)


def bound_for(k: int | Tensor, d: int, bound: float) -> float | Tensor:
    """The bound of the scores at which nine of ten gates drawn are among the k at its upper end; one a row, if k is."""
    if isinstance(k, Tensor):
        return (0.5 * (9 * (d - k).clamp_min(1) / k).log()).clamp_min(bound)
    return max(bound, 0.5 * math.log(9 * max(1, d - k) / k))


def differences(
    trial: Trial, edge: Edge, free: Tensor, count: int, generator: torch.Generator, share: Share = WHOLE
) -> Tensor:
    """Loss with each gate shown minus loss with it hidden, its partner the other way: (R, n, d).

    Of the gates `free` (R, n, d) near the edge up to `count` a row are tried in full; for these it is unbiased.
    """
    shown, by_slope = trial.draw.mask > 0.5, differences_by_slope(trial, edge)
    near = free & edge.near
    tried = random_features(near, count, generator, share)
    is_shown = shown.gather(-1, tried)
    out, into = torch.where(is_shown, tried, edge.last), torch.where(is_shown, edge.first, tried)
    gain = swap_gains(trial, out, into)
    wrong = torch.where(is_shown, gain, -gain) - by_slope.gather(-1, tried)
    is_near = near.gather(-1, tried)  # rows that have fewer such gates than `count` were given others
    of_row = near.sum(-1, keepdim=True) / is_near.sum(-1, keepdim=True).clamp_min(1)
    return by_slope.scatter_add(-1, tried, wrong * of_row * is_near) * free


def differences_by_slope(trial: Trial, edge: Edge) -> Tensor:
    """The same as the slopes of the loss say: (R, n, d)."""
    shown, slope = trial.draw.mask > 0.5, slopes(trial)
    return slope - torch.where(shown, slope.gather(-1, edge.first), slope.gather(-1, edge.last))


def natural(change: Tensor, edge: Edge, free: Tensor) -> Tensor:
    """The gradient of the scores, over how often keys are at their thresholds, less its mean over a row: (R, n, d).

    Adding a number to all scores of a row changes no draw, so the exact gradient sums to 0. That of a draw does not:
    all hidden gates have one partner, and what it happens to be worth pushes them together.
    """
    often = edge.often * free
    gradient = change * edge.density
    together = gradient.sum(-1, keepdim=True) / often.sum(-1, keepdim=True).clamp_min(SELDOM)
    return (gradient / edge.often - together) * free


def slopes(trial: Trial) -> Tensor:
    """The slope of the loss as drawn in every gate: (R, n, d)."""
    judge = trial.judge
    with torch.enable_grad():
        hidden = trial.hidden.detach().requires_grad_()
        (slope,) = torch.autograd.grad(trial.loss(judge.after_first(hidden), trial.y).sum(), hidden)
    of_input = slope @ judge.first.weight.mT  # (R, n, n_values + d): of x * z, and of z - 1/2
    of_value = judge.values(trial.x) * of_input[..., : judge.n_values]
    if judge.gate_of_value is not None:
        of_value = sum_by_gate(of_value, judge.gate_of_value, judge.n_features)
    return of_value + of_input[..., judge.n_values :]


def swap_gains(trial: Trial, out: Tensor, into: Tensor) -> Tensor:
    """Loss as drawn minus loss with feature `out` hidden and feature `into` shown instead: (R, n, K)."""
    hide, show = (trial.judge.flip_step(trial.x, trial.draw.mask, index, trial.cells) for index in (out, into))
    return trial.drawn_loss.unsqueeze(-1) - trial.losses(trial.hidden.unsqueeze(2) + hide + show)
