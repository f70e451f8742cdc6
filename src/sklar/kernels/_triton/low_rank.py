"""The low-rank draw: scores -> noise -> logistic -> mask in one pass, a program for some gates of a row."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import INTERPRETED, precise_exp, tanh
from sklar.kernels.reference import SMALLEST_SIGMA


@triton.jit
def _erfc_parts(a):
    """erfc(a) and e^(a^2) erfc(a) for a >= 0; the second is a polynomial of 1 / (1 + a/2) away from 0."""
    t = 1.0 / (1.0 + 0.5 * a)
    far = -0.06879588961601257 * t + 0.325947105884552
    far = far * t - 0.5616488456726074
    far = far * t + 0.3518538177013397
    far = far * t - 0.07052918523550034
    far = far * t + 0.2186921089887619
    far = far * t + 0.23962323367595673
    far = far * t + 0.28278714418411255
    far = (far * t + 0.28206613659858704) * t
    decay = precise_exp(-a * a)
    near = 1.0 - tl.erf(a)
    is_near = a < 0.5
    return tl.where(is_near, near, far * decay), tl.where(is_near, near / decay, far)


@triton.jit
def _logistic(s):
    """log Phi(s) - log Phi(-s) and its slope, odd and even in s: through a = |s| / sqrt 2, where erfc is small."""
    a = tl.minimum(tl.abs(s), 12.0) * 0.7071067811865476
    tail, scaled = _erfc_parts(a)
    log_tail = tl.where(a < 0.5, tl.log(tail), tl.log(scaled) - a * a)
    g = tl.log(2.0 - tail) - log_tail
    # d/ds = sqrt(2 / pi) e^(-a^2) (1 / erfc(-a) + 1 / erfc(a)), and 0 beyond the clamp
    slope = 0.7978845608028654 * (precise_exp(-a * a) / (2.0 - tail) + 1.0 / scaled)
    return tl.where(s < 0.0, -g, g), tl.where(tl.abs(s) > 12.0, 0.0, slope)


@triton.jit
def _own_deviation(raw, TANH: tl.constexpr, FLOOR: tl.constexpr, COMPILED: tl.constexpr):
    """sigma, and its slope: the size of the activation that L does not have, from a floor up."""
    if TANH:
        own, slope = raw, 1.0
    else:
        own = tanh(raw, COMPILED)
        slope = tl.where(own < 0.0, -1.0, 1.0) * (1.0 - own * own)
        own = tl.abs(own)
    return tl.maximum(own, FLOOR), tl.where(own > FLOOR, slope, 0.0)


@triton.jit
def _loading(raw, TANH: tl.constexpr, COMPILED: tl.constexpr):
    if TANH:
        return tanh(raw, COMPILED)
    return tl.maximum(raw, 0.0)


@triton.jit
def _standard(head, xi, e, row, i, d, P: tl.constexpr, TANH: tl.constexpr, FLOOR: tl.constexpr, COMPILED: tl.constexpr):
    """s = q / sqrt(Sigma_ii) of some gates of a row, with what its gradient needs."""
    if P == 0:
        return e, e, e, e
    else:
        here = head + row * (P + 1) * d + i
        inside = i < d
        raw = tl.load(here + P * d, mask=inside, other=1.0).to(tl.float32)
        own, own_slope = _own_deviation(raw, TANH, FLOOR, COMPILED)
        q, squares = own * e, own * own
        for factor in range(P):
            entry = _loading(tl.load(here + factor * d, mask=inside, other=0.0).to(tl.float32), TANH, COMPILED)
            q += entry * tl.load(xi + row * P + factor).to(tl.float32)
            squares += entry * entry
        deviation = tl.sqrt(squares)
        return q / deviation, deviation, own, own_slope


@triton.jit
def _mask_kernel(
    scores, head, xi, eps, out, d,
    P: tl.constexpr, TANH: tl.constexpr, FLOOR: tl.constexpr, COMPILED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, i = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    place, inside = row * d + i, i < d
    e = tl.load(eps + place, mask=inside, other=0.0).to(tl.float32)
    g = _logistic(_standard(head, xi, e, row, i, d, P, TANH, FLOOR, COMPILED)[0])[0]
    alpha = tl.load(scores + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + place, tl.where(g + alpha > 0.0, 1.0, 0.0).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _mask_gradient_kernel(
    scores, head, xi, eps, push, d_scores, d_head, d, temperature,
    P: tl.constexpr, TANH: tl.constexpr, FLOOR: tl.constexpr, COMPILED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row, i = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    place, inside = row * d + i, i < d
    e = tl.load(eps + place, mask=inside, other=0.0).to(tl.float32)
    s, deviation, own, own_slope = _standard(head, xi, e, row, i, d, P, TANH, FLOOR, COMPILED)
    g, slope = _logistic(s)
    alpha = tl.load(scores + place, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(push + place, mask=inside, other=0.0).to(tl.float32)
    t = precise_exp(-tl.abs((g + alpha) / temperature))
    d_logit = up * (t / ((1.0 + t) * (1.0 + t))) / temperature
    tl.store(d_scores + place, d_logit.to(d_scores.dtype.element_ty), mask=inside)
    if P > 0:
        d_q = d_logit * slope / deviation
        pull = -s * d_q / deviation  # of |L_i|^2 + sigma_i^2, times its half derivative
        here = row * (P + 1) * d + i
        d_own = (d_q * e + pull * own) * own_slope
        tl.store(d_head + here + P * d, d_own.to(d_head.dtype.element_ty), mask=inside)
        for factor in range(P):
            raw = tl.load(head + here + factor * d, mask=inside, other=0.0).to(tl.float32)
            entry = _loading(raw, TANH, COMPILED)
            of_entry = d_q * tl.load(xi + row * P + factor).to(tl.float32) + pull * entry
            if TANH:
                of_entry *= 1.0 - entry * entry
            else:
                of_entry = tl.where(entry > 0.0, of_entry, 0.0)
            tl.store(d_head + here + factor * d, of_entry.to(d_head.dtype.element_ty), mask=inside)


def low_rank_mask(
    scores: Tensor, head: Tensor | None, xi: Tensor | None, eps: Tensor, temperature: float, activation: str
) -> Tensor:
    """See `reference.low_rank_mask`."""
    return _LowRankMask.apply(scores, head, xi, eps, temperature, activation)


class _LowRankMask(torch.autograd.Function):
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
        d = scores.shape[-1]
        ctx.temperature = temperature
        ctx.settings = {
            "P": 0 if xi is None else xi.shape[-1],
            "TANH": activation == "tanh",
            "FLOOR": SMALLEST_SIGMA,
            "COMPILED": not INTERPRETED,
            "BLOCK": min(128, triton.next_power_of_2(d)),
        }
        ctx.grid = (scores.numel() // d, triton.cdiv(d, ctx.settings["BLOCK"]))
        tensors = [None if t is None else t.contiguous() for t in (scores, head, xi, eps)]
        ctx.save_for_backward(*tensors)
        out = torch.empty(scores.shape, dtype=scores.dtype, device=scores.device)
        _mask_kernel[ctx.grid](*tensors, out, d, **ctx.settings)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scores, head, xi, eps = ctx.saved_tensors
        d_scores, d_head = torch.empty_like(scores), None if head is None else torch.empty_like(head)
        push, d = gradients[0].contiguous(), scores.shape[-1]
        _mask_gradient_kernel[ctx.grid](
            scores, head, xi, eps, push, d_scores, d_head, d, ctx.temperature, **ctx.settings
        )
        return d_scores, d_head, None, None, None, None
