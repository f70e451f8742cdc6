"""Exact gradients of E f(z) for gates with a Gaussian copula, by flips: no relaxation, no temperature.

Write z_i = 1{q_i > c_i} with q ~ N(0, R) and c_i = Phi^-1(1 - sigmoid(alpha_i)). Then

    d E f / d alpha_i = p_i (1 - p_i) E[ f(z_i = 1) - f(z_i = 0) | q_i = c_i ]
    d E f / d R_ij    = phi2(c_i, c_j; R_ij) E[ f11 - f10 - f01 + f00 | q_i = c_i, q_j = c_j ]

The first differentiates the threshold c_i; the second is Plackett's identity (Price's theorem). Each expectation
is over the other gates *given* that latent i (and j) sits at its threshold, so a draw of q is moved there:
q_l + R_li (c_i - q_i), which has exactly the conditional law. For independent gates nothing moves, and the first
line is the plain flip. For features that replace each other the mixed difference is positive, so their gates learn
to exclude each other (R < 0); for features that only work together it is negative, and they learn to come
together (R > 0).

Everything here is a function of tensors whose leading axes broadcast; d is the last axis.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Beyond this score a gate is open or shut for all that float32 can tell.
LARGEST_SCORE = 15.0


def thresholds(scores: Tensor) -> Tensor:
    """c = Phi^-1(1 - p), p = sigmoid(alpha): the gate is open where its latent exceeds it."""
    p = torch.sigmoid_(scores.clamp(-LARGEST_SCORE, LARGEST_SCORE))
    return p.mul_(2).sub_(1).erfinv_().mul_(-math.sqrt(2))  # half the cost of ndtri on a CPU


def at_threshold(q: Tensor, c: Tensor, correlation: Tensor, index: Tensor) -> Tensor:
    """The latents given that latent i sits at its threshold, for each i in `index`.

    q, c : (..., d); correlation : (d, d), or with axes that broadcast before it; index : (..., K)
    -> (..., K, d)
    """
    step = c.gather(-1, index) - q.gather(-1, index)  # (..., K)
    return q.unsqueeze(-2) + _rows_of(correlation, index) * step.unsqueeze(-1)


def pair_at_threshold(q: Tensor, c: Tensor, correlation: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """The latents given that latents i and j both sit at their thresholds, for each pair: (..., K, d).

    q + [R_i R_j] [[1, r], [r, 1]]^-1 [c_i - q_i, c_j - q_j], with r = R_ij.
    """
    step_i = c.gather(-1, first) - q.gather(-1, first)  # (..., K)
    step_j = c.gather(-1, second) - q.gather(-1, second)
    row_i, row_j = _rows_of(correlation, first), _rows_of(correlation, second)  # (..., K, d)
    r = row_i.gather(-1, second.unsqueeze(-1)).squeeze(-1)
    moved_i, moved_j = pair_displacement(step_i, step_j, r)
    return q.unsqueeze(-2) + row_i * moved_i.unsqueeze(-1) + row_j * moved_j.unsqueeze(-1)


def pair_displacement(step_i: Tensor, step_j: Tensor, r: Tensor) -> tuple[Tensor, Tensor]:
    """[[1, r], [r, 1]]^-1 [step_i, step_j]: R_i and R_j times these are how all latents move."""
    rest = (1 - r.square()).clamp_min(1e-6)
    return (step_i - r * step_j) / rest, (step_j - r * step_i) / rest


def with_gate(mask: Tensor, index: Tensor, value: float) -> Tensor:
    """`mask` (..., K, d) with gate index (..., K) of each of its K copies set to `value`."""
    return mask.scatter(-1, index.unsqueeze(-1), value)


def bivariate_density(a: Tensor, b: Tensor, r: Tensor) -> Tensor:
    """phi2(a, b; r), the density of two standard normals of correlation r."""
    rest = (1 - r.square()).clamp_min(1e-6)
    return torch.exp(-0.5 * (a.square() - 2 * r * a * b + b.square()) / rest) / (2 * math.pi * rest.sqrt())


def _rows_of(correlation: Tensor, index: Tensor) -> Tensor:
    """Rows R_i for each i in `index` (..., K): (..., K, d)."""
    if correlation.dim() == 2:
        return correlation[index]
    d = correlation.shape[-1]
    expanded = correlation.expand(*index.shape[:-1], d, d)
    return expanded.gather(-2, index.unsqueeze(-1).expand(*index.shape, d))
