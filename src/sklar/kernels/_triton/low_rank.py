"""The low-rank draw: scores -> noise -> logistic -> mask in one pass."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import precise_exp


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
def _standard(loadings, sigma, xi, eps, place, width, d, p, BP: tl.constexpr):
    """s = q / sqrt(Sigma_ii) of some gates, with what its gradient needs."""
    factor = tl.arange(0, BP)
    inside = (place < width)[:, None] & (factor < p)[None, :]
    row_of = (place // d)[:, None]
    entry = tl.load(loadings + place[:, None] * p + factor[None, :], mask=inside, other=0.0).to(tl.float32)
    x = tl.load(xi + row_of * p + factor[None, :], mask=inside, other=0.0).to(tl.float32)
    own = tl.load(sigma + place, mask=place < width, other=1.0).to(tl.float32)
    e = tl.load(eps + place, mask=place < width, other=0.0).to(tl.float32)
    q = tl.sum(entry * x, 1) + own * e
    scale = tl.maximum(tl.max(tl.abs(entry), 1), own)  # so that no square overflows
    small, small_own = entry / scale[:, None], own / scale
    deviation = scale * tl.sqrt(tl.sum(small * small, 1) + small_own * small_own)
    return q / deviation, deviation, entry, x, own, e, inside


@triton.jit
def _mask_kernel(
    scores, loadings, sigma, xi, eps, out, width, d, p, temperature, BLOCK: tl.constexpr, BP: tl.constexpr
):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    g = _logistic(_standard(loadings, sigma, xi, eps, place, width, d, p, BP)[0])[0]
    alpha = tl.load(scores + place, mask=place < width, other=0.0).to(tl.float32)
    tl.store(out + place, tl.where(g + alpha > 0.0, 1.0, 0.0).to(out.dtype.element_ty), mask=place < width)


@triton.jit
def _mask_gradient_kernel(
    scores, loadings, sigma, xi, eps, push, d_scores, d_loadings, d_sigma, width, d, p, temperature,
    BLOCK: tl.constexpr, BP: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    s, deviation, entry, x, own, e, inside = _standard(loadings, sigma, xi, eps, place, width, d, p, BP)
    g, slope = _logistic(s)
    alpha = tl.load(scores + place, mask=place < width, other=0.0).to(tl.float32)
    up = tl.load(push + place, mask=place < width, other=0.0).to(tl.float32)
    t = precise_exp(-tl.abs((g + alpha) / temperature))
    d_logit = up * (t / ((1.0 + t) * (1.0 + t))) / temperature
    d_q = d_logit * slope / deviation
    pull = -s * d_q / deviation  # of |L_i|^2 + sigma_i^2, times its half derivative
    tl.store(d_scores + place, d_logit.to(d_scores.dtype.element_ty), mask=place < width)
    tl.store(d_sigma + place, (d_q * e + pull * own).to(d_sigma.dtype.element_ty), mask=place < width)
    of_entries = d_q[:, None] * x + pull[:, None] * entry
    where = d_loadings + place[:, None] * p + tl.arange(0, BP)[None, :]
    tl.store(where, of_entries.to(d_loadings.dtype.element_ty), mask=inside)


def low_rank_mask(
    scores: Tensor, loadings: Tensor, sigma: Tensor, xi: Tensor, eps: Tensor, temperature: float
) -> Tensor:
    """See `reference.low_rank_mask`; every gate has loadings of its own."""
    return _LowRankMask.apply(scores, loadings, sigma.expand_as(scores), xi, eps, temperature)


class _LowRankMask(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, loadings: Tensor, sigma: Tensor, xi: Tensor, eps: Tensor, temperature: float
    ) -> Tensor:
        tensors = [t.contiguous() for t in (scores, loadings, sigma, xi, eps)]
        ctx.save_for_backward(*tensors)
        ctx.temperature = temperature
        out = torch.empty_like(tensors[0])
        grid, words = _blocks_of(tensors[1])
        _mask_kernel[grid](*tensors, out, scores.numel(), *loadings.shape[-2:], temperature, **words)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        results = [torch.empty_like(t) for t in tensors[:3]]
        grid, words = _blocks_of(tensors[1])
        width, (d, p) = tensors[0].numel(), tensors[1].shape[-2:]
        push = gradients[0].contiguous()
        _mask_gradient_kernel[grid](*tensors, push, *results, width, d, p, ctx.temperature, **words)
        return *results, None, None, None


def _blocks_of(loadings: Tensor) -> tuple[tuple[int], dict[str, int]]:
    """Programs, and gates for each: about as many entries of L as registers hold well."""
    padded = triton.next_power_of_2(loadings.shape[-1])
    block = max(16, 2048 // padded)
    return (triton.cdiv(loadings[..., 0].numel(), block),), {"BLOCK": block, "BP": padded}
