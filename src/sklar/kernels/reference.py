"""The three costly steps in plain torch, in chunks: memory stays bounded, and a fused kernel has something to equal.

Each function has a fused twin of the same name in `_triton`. What a backward pass needs is computed again there
rather than kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

# Entries of the largest intermediate that a chunk may make: on a CPU what its cache holds, on a GPU what fills it.
CHUNK_ENTRIES = {"cpu": 2**21, "cuda": 2**26}
# A feature that is chosen again multiplies the gradient by 1 / t. At low temperatures the exact gradient of the
# top-k recursion reaches 1e96, beyond float32; what passes from step to step is cut here.
LARGEST_GRADIENT = 1e6
# The least standard deviation a gate's own noise can have. Where L and sigma both vanish a correlation is not
# defined; with this floor such a gate is independent, and every marginal stays exact.
SMALLEST_SIGMA = 1e-3
_SQRT_HALF = math.sqrt(0.5)


def logistic(s: Tensor) -> Tensor:
    """g = log Phi(s) - log Phi(-s): standard logistic noise of a standard normal draw, exact in both tails."""
    a = within_reach(s) * _SQRT_HALF
    return torch.log(torch.erfc(-a)) - torch.log(torch.erfc(a))


def within_reach(s: Tensor) -> Tensor:
    """Keep erfc above its underflow: beyond 12 deviations (36 in float64), less than 1e-32 of the mass."""
    bound = 36.0 if s.dtype == torch.float64 else 12.0
    return s.clamp(-bound, bound)


def low_rank_mask(
    scores: Tensor, head: Tensor | None, xi: Tensor | None, eps: Tensor, temperature: float, activation: str
) -> Tensor:
    """Scores -> correlated noise -> mask: hard forward, relaxed backward: (..., d).

    scores, eps (..., d), xi (..., p), head (..., (p + 1) d): L^T and sigma before their activations.
    s = (L xi + sigma eps) / sqrt(|L_i|^2 + sigma_i^2); without a head, s = eps.
    """
    return _LowRankMask.apply(scores, head, xi, eps, temperature, activation)


class _LowRankMask(torch.autograd.Function):
    """The gradient by hand: two passes over L, where that of each operation would take a dozen."""

    @staticmethod
    def forward(
        ctx: Any,
        scores: Tensor,
        head: Tensor | None,
        xi: Tensor | None,
        eps: Tensor,
        temperature: float,
        activation: str,
    ) -> Tensor:
        ctx.temperature, ctx.activation = temperature, activation
        if head is None or xi is None:
            logit = logistic(eps) + scores
            ctx.save_for_backward(logit)
            return (logit > 0).to(logit.dtype)
        parts = head.unflatten(-1, (-1, scores.shape[-1]))  # (..., p + 1, d)
        loadings = parts[..., :-1, :]
        loadings = _tanh_(loadings.clone()) if activation == "tanh" else loadings.relu()
        own = parts[..., -1, :].relu() if activation == "tanh" else parts[..., -1, :].tanh()
        sigma = own.abs().clamp_min(SMALLEST_SIGMA)
        deviation = (loadings.square().sum(-2) + sigma.square()).sqrt_()
        s = ((xi.unsqueeze(-2) @ loadings).squeeze(-2) + sigma * eps) / deviation
        logit = logistic(s) + scores
        ctx.save_for_backward(logit, loadings, own, sigma, xi, eps, deviation, s)
        return (logit > 0).to(logit.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        logit, *others = ctx.saved_tensors
        relaxed = torch.sigmoid(logit / ctx.temperature)
        d_logit = gradients[0] * relaxed * (1 - relaxed) / ctx.temperature
        if not others:
            return d_logit, None, None, None, None, None
        loadings, own, sigma, xi, eps, deviation, s = others
        d_q = d_logit * _slope_of_logistic(s) / deviation
        pull = -s * d_q / deviation  # of |L_i|^2 + sigma_i^2, times its half derivative
        p, d = loadings.shape[-2:]
        d_head = loadings.new_empty((*loadings.shape[:-2], p + 1, d))
        d_loadings = torch.mul(d_q.unsqueeze(-2), xi.unsqueeze(-1), out=d_head[..., :p, :])
        d_loadings.addcmul_(pull.unsqueeze(-2), loadings)
        d_loadings.mul_(_slope(loadings.clone(), ctx.activation))
        slope = own.sign() * (1 if ctx.activation == "tanh" else 1 - own.square())
        d_head[..., p, :] = (d_q * eps + pull * sigma) * slope * (sigma > SMALLEST_SIGMA)
        return d_logit, d_head.flatten(-2), None, None, None, None


def _slope_of_logistic(s: Tensor) -> Tensor:
    """dg / ds = sqrt(2 / pi) e^(-a^2) (1 / erfc(-a) + 1 / erfc(a)) with a = s / sqrt 2, and 0 beyond reach."""
    a = within_reach(s) * _SQRT_HALF
    slope = torch.exp(-a.square()) * (1 / torch.erfc(-a) + 1 / torch.erfc(a)) * math.sqrt(2 / math.pi)
    return torch.where(a == s * _SQRT_HALF, slope, 0.0)


def full_draw(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """q = L zeta and the squared length of every row of L, where L = act(h W + b) is never stored whole.

    hidden (R, n, r), weight (R, r, d d), bias (R, 1, d d), zeta (R, n, d) -> (R, n, d), (R, n, d).
    """
    return _FullDraw.apply(*(part.to(zeta.dtype) for part in (hidden, weight, bias)), zeta, activation)


class _FullDraw(torch.autograd.Function):
    """Rows of L in chunks, made anew in the backward pass."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(hidden, weight, bias, zeta)
        ctx.activation = activation
        q, squares = (torch.empty(zeta.shape, dtype=zeta.dtype, device=zeta.device) for _ in range(2))
        for rows, columns in _rows_of_loadings(zeta):
            loadings = _loadings(hidden, weight[..., columns], bias[..., columns], zeta, activation)  # (R, n, c, d)
            q[..., rows] = (loadings @ zeta.unsqueeze(-1)).squeeze(-1)
            squares[..., rows] = loadings.square_().sum(-1)
        return q, squares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_q, d_squares = gradients
        hidden, weight, bias, zeta = ctx.saved_tensors
        d_hidden, d_weight, d_bias = torch.zeros_like(hidden), torch.empty_like(weight), torch.empty_like(bias)
        d_zeta = zeta.new_zeros(zeta.shape) if ctx.needs_input_grad[3] else None
        for rows, columns in _rows_of_loadings(zeta):
            loadings = _loadings(hidden, weight[..., columns], bias[..., columns], zeta, ctx.activation)
            if d_zeta is not None:
                d_zeta += (d_q[..., rows].unsqueeze(-2) @ loadings).squeeze(-2)
            # dL = dq zeta^T + 2 L dsquares, then through the activation, whose slope L itself tells
            push = d_q[..., rows].unsqueeze(-1) * zeta.unsqueeze(-2)
            push.addcmul_(loadings, d_squares[..., rows].unsqueeze(-1), value=2)
            push = push.mul_(_slope(loadings, ctx.activation)).flatten(-2)  # (R, n, c d)
            d_hidden += push @ weight[..., columns].mT
            d_weight[..., columns] = hidden.mT @ push
            d_bias[..., columns] = push.sum(-2, keepdim=True)
        return d_hidden, d_weight, d_bias, d_zeta, None


def _rows_of_loadings(zeta: Tensor) -> Iterator[tuple[slice, slice]]:
    """Chunks of rows of L, each with its columns of the weights."""
    replicas, n, d = zeta.shape
    size = max(1, CHUNK_ENTRIES[zeta.device.type] // max(1, replicas * n * d))
    for first in range(0, d, size):
        last = min(first + size, d)
        yield slice(first, last), slice(first * d, last * d)


def _loadings(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str) -> Tensor:
    """Some rows of L: (R, n, c, d)."""
    before = torch.baddbmm(bias, hidden, weight).unflatten(-1, (-1, zeta.shape[-1]))
    return _tanh_(before) if activation == "tanh" else before.relu_()


def _tanh_(x: Tensor) -> Tensor:
    """tanh in place; on a CPU by the sigmoid, which takes torch a third of the time there."""
    return x.tanh_() if x.is_cuda else x.mul_(2).sigmoid_().mul_(2).sub_(1)


def _slope(loadings: Tensor, activation: str) -> Tensor:
    """act' told by act: 1 - L^2 for tanh, 1{L > 0} for ReLU. Overwrites L."""
    return loadings.square_().neg_().add_(1) if activation == "tanh" else loadings.gt_(0)


def relaxed_topk(keys: Tensor, k: int, temperature: float, step: float) -> Tensor:
    """z~ = sum_s p^s, with p^s = softmax(v^s / t) and v^(s+1) = v^s + step log(1 - p^s): (..., d)."""
    return _RelaxedTopK.apply(keys, k, temperature, step)


class _RelaxedTopK(torch.autograd.Function):
    """Keeps the keys alone; the k steps are made anew, and undone in turn, for some rows at a time."""

    @staticmethod
    def forward(ctx: Any, keys: Tensor, k: int, temperature: float, step: float) -> Tensor:
        ctx.save_for_backward(keys)
        ctx.settings = (k, temperature, step)
        total = torch.zeros_like(keys)
        for index in range(k):
            log_p = torch.log_softmax(keys / temperature, dim=-1)
            total += log_p.exp()
            if index + 1 < k:
                keys = keys + step * log_complement(log_p)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (keys,) = ctx.saved_tensors
        k, temperature, step = ctx.settings
        rows, push = keys.reshape(-1, keys.shape[-1]), gradients[0].reshape(-1, keys.shape[-1])
        size = max(1, CHUNK_ENTRIES[keys.device.type] // max(1, k * keys.shape[-1]))
        parts = [
            _undo_steps(v, g, k, temperature, step) for v, g in zip(rows.split(size), push.split(size), strict=True)
        ]
        return torch.cat(parts).view_as(keys) if parts else torch.zeros_like(keys), None, None, None


def _undo_steps(v: Tensor, push: Tensor, k: int, temperature: float, step: float) -> Tensor:
    """The gradient of the keys v (n, d), given that of z~: one adjoint step for every step, last first.

    With l = log p: z~ gets p, so dl = p g; the next keys get step log(1 - p), so dl -= a p / (1 - p) where a is step
    times their gradient. The largest p alone can round to 1: its log(1 - p) is the log of the others' sum, and its
    part of dl falls on them. Then dv = (dl - p sum dl) / t, plus what came from the next keys.
    """
    log_ps, complements = [], []
    for index in range(k):
        log_ps.append(torch.log_softmax(v / temperature, dim=-1))
        if index + 1 < k:
            complements.append(log_complement(log_ps[-1]))
            v = v + step * complements[-1]
    later = torch.zeros_like(v)  # the gradient of the next keys
    for index in reversed(range(k)):
        log_p = log_ps.pop()
        p = log_p.exp()
        d_log_p = p * push
        if index + 1 < k:
            complement = complements.pop()
            top = log_p.argmax(dim=-1, keepdim=True)
            through = step * later
            of_top = through.gather(-1, top)
            share = (log_p - complement.gather(-1, top)).exp() * of_top - through * p / complement.exp()
            d_log_p += share.scatter(-1, top, 0.0)
        later = later + (d_log_p - p * d_log_p.sum(-1, keepdim=True)) / temperature
        if index:
            later.clamp_(-LARGEST_GRADIENT, LARGEST_GRADIENT)
    return later


def log_complement(log_p: Tensor) -> Tensor:
    """log(1 - p_i) of a probability vector, exact also where p_i rounds to 1.

    Only the largest entry can exceed 1/2, and for that one 1 - p_i is the sum of the others.
    """
    top = log_p.argmax(dim=-1, keepdim=True)
    is_top = torch.zeros_like(log_p, dtype=torch.bool).scatter(-1, top, True)
    others = log_p.masked_fill(is_top, -torch.inf)
    return torch.where(is_top, torch.logsumexp(others, dim=-1, keepdim=True), torch.log1p(-others.exp()))
