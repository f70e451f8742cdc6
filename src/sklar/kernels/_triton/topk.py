"""The top-k recursion: one row a program."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import PROGRAMS, precise_exp
from sklar.kernels.reference import LARGEST_GRADIENT

BUFFER_ENTRIES = 2**24  # of the programs' own buffers together, at most


@triton.jit
def _log1p(x):
    """log(1 + x): the rounding of 1 + x divides out."""
    u = 1.0 + x
    at_one = u == 1.0
    return tl.where(at_one, x, tl.log(u) * (x / tl.where(at_one, 1.0, u - 1.0)))


@triton.jit
def _log_softmax(v, temperature):
    x = v / temperature
    x -= tl.max(x, 0)
    return x - tl.log(tl.sum(precise_exp(x), 0))


@triton.jit
def _log_complement(log_p, p, column):
    """log(1 - p), and where the largest p stands; see `reference.log_complement`."""
    is_top = column == tl.argmax(log_p, 0)
    others = tl.where(is_top, -float("inf"), log_p)
    most = tl.max(others, 0)
    most = tl.where(most == -float("inf"), 0.0, most)
    of_top = most + tl.log(tl.maximum(tl.sum(precise_exp(others - most), 0), 1e-30))  # 0 only where there are no others
    return tl.where(is_top, of_top, _log1p(-tl.where(is_top, 0.0, p))), of_top, is_top


@triton.jit
def _topk_kernel(keys, out, d, k, temperature, step, BD: tl.constexpr):
    column = tl.arange(0, BD)
    place = tl.program_id(0).to(tl.int64) * d + column
    v = tl.load(keys + place, mask=column < d, other=-float("inf")).to(tl.float32)
    total = tl.zeros((BD,), tl.float32)
    for _ in range(k):
        log_p = _log_softmax(v, temperature)
        p = precise_exp(log_p)
        total += p
        complement = _log_complement(log_p, p, column)[0]
        v += step * complement
    tl.store(out + place, total.to(out.dtype.element_ty), mask=column < d)


@triton.jit
def _topk_gradient_kernel(
    keys, push, out, buffer, n, d, k, temperature, step, programs, LARGEST: tl.constexpr, BD: tl.constexpr
):
    """The steps forward into the program's own buffer, then their adjoints, last first: see `reference`."""
    column = tl.arange(0, BD)
    inside = column < d
    buffer += tl.program_id(0).to(tl.int64) * k * d
    for row in range(tl.program_id(0), n, programs):
        place = tl.cast(row, tl.int64) * d + column
        v = tl.load(keys + place, mask=inside, other=-float("inf")).to(tl.float32)
        for s in range(k):
            log_p = _log_softmax(v, temperature)
            tl.store(buffer + s * d + column, log_p, mask=inside)
            complement = _log_complement(log_p, precise_exp(log_p), column)[0]
            v += step * complement
        tl.debug_barrier()
        g = tl.load(push + place, mask=inside, other=0.0).to(tl.float32)
        later = tl.zeros((BD,), tl.float32)
        for back in range(k):
            s = k - 1 - back
            log_p = tl.load(buffer + s * d + column, mask=inside, other=-float("inf"))
            p = precise_exp(log_p)
            of_step = p * g
            if back > 0:
                complement, of_top, is_top = _log_complement(log_p, p, column)
                through = step * later
                top = tl.sum(tl.where(is_top, through, 0.0), 0)
                share = precise_exp(log_p - of_top) * top - through * p / tl.where(is_top, 1.0, 1.0 - p)
                of_step += tl.where(is_top | (column >= d), 0.0, share)
            later += (of_step - p * tl.sum(of_step, 0)) / temperature
            if s > 0:
                later = tl.minimum(tl.maximum(later, -LARGEST), LARGEST)
        tl.store(out + place, later.to(out.dtype.element_ty), mask=inside)
        tl.debug_barrier()


def relaxed_topk(keys: Tensor, k: int, temperature: float, step: float) -> Tensor:
    """See `reference.relaxed_topk`; rows of at most `kernels.WIDEST_ROW` features."""
    return _RelaxedTopK.apply(keys, k, temperature, step)


class _RelaxedTopK(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, keys: Tensor, k: int, temperature: float, step: float) -> Tensor:
        keys = keys.contiguous()
        ctx.save_for_backward(keys)
        ctx.settings = (k, temperature, step)
        out = torch.empty_like(keys)
        d = keys.shape[-1]
        if keys.numel():
            _topk_kernel[(keys.numel() // d,)](keys, out, d, k, temperature, step, **_row_sizes(d))
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (keys,) = ctx.saved_tensors
        k, temperature, step = ctx.settings
        d = keys.shape[-1]
        n = keys.numel() // d
        out = torch.empty_like(keys)
        if n:
            programs = max(1, min(PROGRAMS, n, BUFFER_ENTRIES // (k * d)))
            buffer = keys.new_empty((programs, k, d), dtype=torch.float32)
            tiles = {**_row_sizes(d), "LARGEST": LARGEST_GRADIENT}
            push = gradients[0].contiguous()
            _topk_gradient_kernel[(programs,)](keys, push, out, buffer, n, d, k, temperature, step, programs, **tiles)
        return out, None, None, None


def _row_sizes(d: int) -> dict[str, int]:
    """A row of d features in one program."""
    padded = triton.next_power_of_2(d)
    return {"BD": padded, "num_warps": 4 if padded <= 2048 else 8 if padded <= 4096 else 16}
