"""The full-rank draw: tiles of L = act(h W + b), used where they are made, of numbers cut into parts (see `parts`)."""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import INTERPRETED, special, tanh_of_powers
from sklar.kernels._triton.packing import ROWS, pack_hidden, pack_slopes, pack_weights
from sklar.kernels._triton.parts import add_product, joined, parts_of, plus, times_parts


@triton.jit
def _activated(before, TANH: tl.constexpr, PARTS: tl.constexpr, COMPILED: tl.constexpr):
    if not TANH:
        return tl.maximum(before, 0.0)
    if PARTS > 1:
        return tanh_of_powers(before, COMPILED)
    if COMPILED:  # right to 2^-11, more than bfloat16 can hold
        return special(before, "tanh.approx.f32 $0, $1;")
    return 1.0 - 2.0 / (tl.exp(2.0 * before) + 1.0)


@triton.jit
def _before(a, b, bias, factor, PARTS: tl.constexpr, COMPILED: tl.constexpr):
    """What the activation gets: the product, over slots as they are and exchanged, times factor, plus bias."""
    zero = tl.zeros((a[0].shape[0], b[0].shape[1]), tl.float32)
    if PARTS == 1:
        return add_product(bias + zero, a[0], b[0], COMPILED)
    else:
        total = add_product(zero, a[2], b[2], COMPILED) if PARTS == 3 else zero
        total = add_product(total, a[1], b[1], COMPILED)
        return tl.fma(add_product(total, a[0], b[0], COMPILED), factor, bias + zero)


@triton.jit
def _weights(weights, i, j, d, r, PARTS: tl.constexpr, SLOTS: tl.constexpr, BK: tl.constexpr):
    """Weights of the entries L[i, j], in slots: (SLOTS BK, BJ)."""
    column = tl.arange(0, SLOTS * BK)
    unit, part = column % BK, SLOTS - 1 - column // BK
    place = i * d + j
    there = ((unit < r) & (part < PARTS))[:, None] & ((j < d) & (place < d * d))[None, :]
    return tl.load(weights + (part * r + unit)[:, None].to(tl.int64) * (d * d) + place[None, :], mask=there, other=0.0)


@triton.jit
def _exchanged(hidden, row, SWAP: tl.constexpr, SLOTS: tl.constexpr, BK: tl.constexpr):
    column = tl.max_contiguous(tl.multiple_of(tl.arange(0, SLOTS * BK) ^ (SWAP * BK), BK), BK)
    return tl.load(hidden + row[:, None] * (SLOTS * BK) + column[None, :])


@triton.jit
def _hidden(hidden, row, PARTS: tl.constexpr, SLOTS: tl.constexpr, BK: tl.constexpr):
    """Packed hidden units, slots as they are, neighbours exchanged, pairs exchanged: each (BN, SLOTS BK)."""
    alike = _exchanged(hidden, row, 0, SLOTS, BK)
    neighbours = _exchanged(hidden, row, 1, SLOTS, BK) if PARTS > 1 else alike
    return alike, neighbours, (_exchanged(hidden, row, 2, SLOTS, BK) if PARTS == 3 else alike)


@triton.jit
def _bias(bias, i, j, d, UNIT: tl.constexpr):
    place = i * d + j
    return tl.load(bias + place, mask=(j < d) & (place < d * d), other=0.0).to(tl.float32) * UNIT


@triton.jit
def _factor(h_inverse, w_inverses, i, d, UNIT: tl.constexpr, PARTS: tl.constexpr):
    """What undoes the scales of h and W, in the unit of the activation."""
    return tl.load(w_inverses + i, mask=i < d, other=0.0) * (tl.load(h_inverse) * UNIT) if PARTS > 1 else 1.0


@triton.jit
def _draw_kernel(
    hidden, weights, bias, zeta, h_inverse, w_inverses, q, squares, n, m, d, r,
    TANH: tl.constexpr, UNIT: tl.constexpr, PARTS: tl.constexpr, SLOTS: tl.constexpr, COMPILED: tl.constexpr,
    BN: tl.constexpr, BJ: tl.constexpr, BK: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    """BN rows, BI rows of L: a tile of the draws zeta stays in registers from one row of L to the next."""
    row = tl.program_id(1) * BN + tl.arange(0, BN)
    replica = tl.program_id(2).to(tl.int64)
    hidden, zeta = hidden + replica * m * (SLOTS * BK), zeta + replica * n * d
    q, squares = q + replica * n * d, squares + replica * n * d
    weights, bias = weights + replica * PARTS * r * d * d, bias + replica * d * d
    h_inverse, w_inverses = h_inverse + replica, w_inverses + replica * d
    h = _hidden(hidden, row, PARTS, SLOTS, BK)
    step = tl.arange(0, BI)
    i = tl.program_id(0) * BI + step
    total = tl.zeros((BN, BI), tl.float32)
    length = tl.zeros((BN, BI), tl.float32)
    for first in range(0, d, BJ):
        j = first + tl.arange(0, BJ)
        there = (row < n)[:, None] & (j < d)[None, :]
        z = tl.load(zeta + row[:, None] * d + j[None, :], mask=there, other=0.0).to(tl.float32)
        for k in range(BI):
            now = tl.program_id(0) * BI + k
            w = _weights(weights, now, j, d, r, PARTS, SLOTS, BK)
            b = _bias(bias, now, j, d, UNIT)[None, :]
            factor = _factor(h_inverse, w_inverses, now, d, UNIT, PARTS)
            before = _before(h, (w, w, w), b, factor, PARTS, COMPILED)
            entry = _activated(before, TANH, PARTS, COMPILED)
            here = (step == k)[None, :]
            total += tl.where(here, tl.sum(entry * z, 1)[:, None], 0.0)
            length += tl.where(here, tl.sum(entry * entry, 1)[:, None], 0.0)
    cells, there = row[:, None] * d + i[None, :], (row < n)[:, None] & (i < d)[None, :]
    tl.store(q + cells, total.to(q.dtype.element_ty), mask=there)
    tl.store(squares + cells, length.to(squares.dtype.element_ty), mask=there)


@triton.jit
def _push(entry, z, up, wide, TANH: tl.constexpr):
    """The gradient of h W + b: what L is worth times the activation's slope, which L itself tells."""
    push = up * z + entry * wide
    return push * (1.0 - entry * entry) if TANH else tl.where(entry > 0.0, push, 0.0)


@triton.jit
def _gradient_kernel(
    hidden, weights, bias, draws, up, wide, h_inverse, w_inverses, inverses, d_hidden, d_weight, d_bias,
    m, d, r, programs,
    TANH: tl.constexpr, UNIT: tl.constexpr, PARTS: tl.constexpr, SLOTS: tl.constexpr, COMPILED: tl.constexpr,
    BN: tl.constexpr, BJ: tl.constexpr, BK: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """Of the blocks of BJ columns of a row of L every `programs`-th, all rows through each.

    What a program adds to the hidden units' gradient is its own, and summed over programs afterwards, so that a run can
    be repeated to the bit.

    draws, up, wide : (d, m), rows filled up with zeros
    d_hidden : (programs, m, BK)
    """
    replica = tl.program_id(1).to(tl.int64)
    hidden += replica * m * (SLOTS * BK)
    draws, up, wide = draws + replica * m * d, up + replica * m * d, wide + replica * m * d
    weights, bias = weights + replica * PARTS * r * d * d, bias + replica * d * d
    h_inverse, w_inverses, inverses = h_inverse + replica, w_inverses + replica * d, inverses + replica * d
    d_weight, d_bias = d_weight + replica * r * d * d, d_bias + replica * d * d
    d_hidden += (replica * programs + tl.program_id(0)) * m * BK
    k = tl.arange(0, BK)
    across = tl.cdiv(d, BJ)
    for block in range(tl.program_id(0), d * across, programs):
        i = block // across
        j = (block % across) * BJ + tl.arange(0, BJ)
        w = tl.trans(_weights(weights, i, j, d, r, PARTS, SLOTS, BK))
        b = _bias(bias, i, j, d, UNIT)[:, None]
        factor = _factor(h_inverse, w_inverses, i, d, UNIT, PARTS)
        of_hidden, of_weight, of_bias = 1.0, 1.0, 1.0
        if PARTS > 1:
            of_bias = tl.load(inverses + i)
            of_hidden, of_weight = of_bias * tl.load(w_inverses + i), of_bias * tl.load(h_inverse)
        later = tl.zeros((BN,), tl.int32) + block >= programs  # than this program's first
        for_weight = tl.zeros((BJ, SLOTS * BK), tl.float32)
        for_bias = tl.zeros((BJ,), tl.float32)
        for first in tl.range(0, m, BN, num_stages=AHEAD):
            row = first + tl.arange(0, BN)
            h = _hidden(hidden, row, PARTS, SLOTS, BK)
            slope, slope_a_unit = tl.load(up + i * m + row)[None, :], tl.load(wide + i * m + row)[None, :]
            z = tl.load(draws + j[:, None] * m + row[None, :], mask=(j < d)[:, None], other=0.0).to(tl.float32)
            cells = d_hidden + row[:, None] * BK + k[None, :]
            so_far = tl.load(cells, mask=later[:, None], other=0.0)
            before = _before((w, w, w), (tl.trans(h[0]), tl.trans(h[1]), tl.trans(h[2])), b, factor, PARTS, COMPILED)
            push = _push(_activated(before, TANH, PARTS, COMPILED), z, slope, slope_a_unit, TANH)
            for_bias += tl.sum(push, 1)
            push = parts_of(push if PARTS > 1 else push.to(hidden.dtype.element_ty), 0.0, PARTS)
            for_weight = plus(for_weight, times_parts(push, h[0], PARTS, COMPILED), COMPILED)
            push = tl.trans(push[0]), tl.trans(push[1]), tl.trans(push[2])
            more = joined(times_parts(push, w, PARTS, COMPILED), PARTS, SLOTS, BK)
            tl.store(cells, so_far + more * of_hidden)
        cells = k[None, :].to(tl.int64) * (d * d) + (i * d + j)[:, None]
        there = (k < r)[None, :] & (j < d)[:, None]
        for_weight = joined(for_weight, PARTS, SLOTS, BK) * of_weight
        tl.store(d_weight + cells, for_weight.to(d_weight.dtype.element_ty), mask=there)
        tl.store(d_bias + i * d + j, (for_bias * of_bias).to(d_bias.dtype.element_ty), mask=j < d)


def full_draw(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """See `reference.full_draw`; zeta gets no gradient."""
    return _FullDraw.apply(hidden, weight, bias, zeta, activation)


# Rows and columns of a tile, rows of L, warps, and what is read ahead: the quickest on an H200 at the shape of MNIST
# (benchmarks/tune_full_rank.py). Wide tables, of more than 32 columns, need more registers and more shared memory.
Blocks = dict[str, Any]
FORWARD: Blocks = {"BN": 64, "BJ": 64, "BI": 8, "num_warps": 4, "num_stages": 3}
BACKWARD: Blocks = {"BN": 32, "BJ": 64, "AHEAD": 3, "num_warps": 2, "programs": 528}
WIDE_FORWARD: Blocks = {**FORWARD, "BJ": 32, "num_stages": 2}
WIDE_BACKWARD: Blocks = {**BACKWARD, "AHEAD": 1, "num_warps": 4, "programs": 264}


class _FullDraw(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str
    ) -> tuple[Tensor, Tensor]:
        hidden, weight, bias, zeta = (t.contiguous() for t in (hidden, weight, bias, zeta))
        (replicas, n, r), d = hidden.shape, zeta.shape[-1]
        m = triton.cdiv(n, ROWS) * ROWS
        tiles = _tile_sizes(hidden, d, activation, FORWARD, WIDE_FORWARD)
        packed, h_inverse = pack_hidden(hidden, m, tiles)
        weights, w_inverses = pack_weights(weight, d, tiles["PARTS"])
        q, squares = torch.empty_like(zeta), torch.empty_like(zeta)
        grid = (triton.cdiv(d, tiles["BI"]), triton.cdiv(n, tiles["BN"]), replicas)
        _draw_kernel[grid](packed, weights, bias, zeta, h_inverse, w_inverses, q, squares, n, m, d, r, **tiles)
        ctx.save_for_backward(hidden, packed, weights, bias, zeta, h_inverse, w_inverses, squares)
        ctx.activation = activation
        return q, squares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden, packed, weights, bias, zeta, h_inverse, w_inverses, squares = ctx.saved_tensors
        (replicas, n, r), (m, d) = hidden.shape, (packed.shape[1], zeta.shape[-1])
        tiles = _tile_sizes(hidden, d, ctx.activation, BACKWARD, WIDE_BACKWARD)
        *slopes, inverses = pack_slopes(zeta, gradients, squares, m, tiles["PARTS"])
        d_weight, d_bias = hidden.new_empty((replicas, r, d * d)), torch.empty_like(bias)
        programs = min(d * triton.cdiv(d, tiles["BJ"]), triton.cdiv(tiles.pop("programs"), replicas))
        d_hidden = hidden.new_empty((replicas, programs, m, tiles["BK"]), dtype=torch.float32)
        tables = packed, weights, bias, *slopes, h_inverse, w_inverses, inverses, d_hidden, d_weight, d_bias
        _gradient_kernel[programs, replicas](*tables, m, d, r, programs=programs, **tiles)
        return d_hidden.sum(1)[:, :n, :r].to(hidden.dtype), d_weight, d_bias, None, None


def _tile_sizes(hidden: Tensor, d: int, activation: str, narrow: Blocks, wide: Blocks) -> dict[str, Any]:
    """The constants of a kernel.

    Two parts lose a bit in each product, less than float32 loses in a sum of many, but not of few.
    """
    r = hidden.shape[-1]
    parts = 1 if hidden.dtype == torch.bfloat16 else 2 if r > 8 else 3
    slots, width = triton.next_power_of_2(parts), max(8 if parts == 3 else 16, triton.next_power_of_2(r))
    blocks = narrow if slots * width <= 32 else wide
    return {
        **blocks,
        "BJ": min(blocks["BJ"], max(16, triton.next_power_of_2(d))),
        "BK": width,
        "TANH": activation == "tanh",
        "UNIT": 2 / math.log(2) if activation == "tanh" and parts > 1 else 1.0,  # `tanh_of_powers` takes powers of 2
        "PARTS": parts,
        "SLOTS": slots,
        "COMPILED": not INTERPRETED,
    }
