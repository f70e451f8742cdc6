"""The full-rank draw: tiles of L = act(h W + b), used where they are made.

Tensor cores multiply numbers of 16 bits. A float32, scaled by a power of 2 into the range of float16, is the sum of two
of these, its parts, but for its last bit; all products of parts together are as exact as float32's own. The parts of a
number lie in slots: a table of r units has `SLOTS` blocks of `BK` columns, the largest parts in the last block. A
product of two such tables over their columns meets equal slots alone, so that it is taken once more with the slots of
one of them exchanged. Tensor cores cut what they add where float32 would round: few products, those of small parts
first, are added on them, and many by float32's own addition.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import INTERPRETED

# `_tanh` in one piece
FUSED_TANH: tl.constexpr = tl.constexpr("""{
.reg .f32 u, near, far;
.reg .pred small;
mul.f32 u, $1, $1;
fma.rn.f32 near, u, 0fB7F79C6E, 0f3A2E5393;
fma.rn.f32 near, near, u, 0fBC63571B;
fma.rn.f32 near, near, u, 0f3EB17218;
mul.f32 near, near, $1;
abs.f32 far, $1;
ex2.approx.ftz.f32 far, far;
add.f32 far, far, 0f3F800000;
rcp.approx.ftz.f32 far, far;
fma.rn.f32 far, far, 0fC0000000, 0f3F800000;
copysign.f32 far, $1, far;
setp.lt.f32 small, u, 0f3F828F5C;
selp.f32 $0, near, far, small;
}""")


@triton.jit
def _special(x, ASM: tl.constexpr):
    return tl.inline_asm_elementwise(ASM, "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def _tanh(x, COMPILED: tl.constexpr):
    """tanh(x log(2) / 2), by a polynomial of x^2 near 0, where 1 - 2 / (2^x + 1) would cancel."""
    if COMPILED:
        return _special(x, FUSED_TANH)
    u = x * x
    near = ((-2.9517538485777902e-05 * u + 0.0006650026507975855) * u - 0.013875748441704553) * u + 0.3465735902799726
    far = (1.0 - 2.0 / (tl.exp2(tl.abs(x)) + 1.0)) * tl.where(x < 0.0, -1.0, 1.0)
    return tl.where(u < 1.02, near * x, far)


@triton.jit
def _activated(before, TANH: tl.constexpr, PARTS: tl.constexpr, COMPILED: tl.constexpr):
    if not TANH:
        return tl.maximum(before, 0.0)
    if PARTS > 1:
        return _tanh(before, COMPILED)
    if COMPILED:  # right to 2^-11, more than bfloat16 can hold
        return _special(before, "tanh.approx.f32 $0, $1;")
    return 1.0 - 2.0 / (tl.exp(2.0 * before) + 1.0)


@triton.jit
def _scale(largest):
    """The power of 2 that lifts `largest` to 2^14 or more, below float16's limit of 2^16, and its inverse."""
    exponent = tl.minimum(tl.maximum((largest.to(tl.int32, bitcast=True) >> 23) - 127 - 14, -60), 60)
    return ((127 - exponent) << 23).to(tl.float32, bitcast=True), ((127 + exponent) << 23).to(tl.float32, bitcast=True)


@triton.jit
def _parts(x, more, PARTS: tl.constexpr):
    """Float16's whose sum is x + more, two of them but for the last bit; x itself where one is enough."""
    if PARTS == 1:
        return x, x, x
    else:
        first = x.to(tl.float16)
        rest = (x - first.to(tl.float32)) + more
        second = rest.to(tl.float16)
        return first, second, (rest - second.to(tl.float32)).to(tl.float16)


@triton.jit
def _add_product(total, a, b, COMPILED: tl.constexpr):
    if COMPILED:
        return tl.dot(a, b, acc=total)
    return total + tl.dot(a.to(tl.float32), b.to(tl.float32))  # the interpreter has no bfloat16 product


@triton.jit
def _plus(x, y, COMPILED: tl.constexpr):
    """x + y. The compiler would make the plus part of a product before it, whose sums are cut."""
    if COMPILED:
        return tl.inline_asm_elementwise("add.rn.f32 $0, $1, $2;", "=f,f,f", [x, y], tl.float32, is_pure=True, pack=1)
    return x + y


@triton.jit
def _before(a, b, bias, factor, PARTS: tl.constexpr, COMPILED: tl.constexpr):
    """What the activation gets: the product, over slots as they are and exchanged, times factor, plus bias."""
    zero = tl.zeros((a[0].shape[0], b[0].shape[1]), tl.float32)
    if PARTS == 1:
        return _add_product(bias + zero, a[0], b[0], COMPILED)
    else:
        total = _add_product(zero, a[2], b[2], COMPILED) if PARTS == 3 else zero
        total = _add_product(total, a[1], b[1], COMPILED)
        return tl.fma(_add_product(total, a[0], b[0], COMPILED), factor, bias + zero)


@triton.jit
def _times_parts(push, table, PARTS: tl.constexpr, COMPILED: tl.constexpr):
    """Parts of the push times a table of all slots."""
    total = tl.zeros((push[0].shape[0], table.shape[1]), tl.float32)
    if PARTS == 3:
        total = _add_product(total, push[2], table, COMPILED)
    if PARTS > 1:
        total = _add_product(total, push[1], table, COMPILED)
    return _add_product(total, push[0], table, COMPILED)


@triton.jit
def _joined(product, PARTS: tl.constexpr, SLOTS: tl.constexpr, BK: tl.constexpr):
    """The sum over slots: (..., SLOTS BK) to (..., BK)."""
    return product if PARTS == 1 else tl.sum(product.reshape(product.shape[0], SLOTS, BK), 1)


@triton.jit
def _pack_weight_kernel(
    weight, packed, inverses, r, d, size, CUT: tl.constexpr, PARTS: tl.constexpr, BLOCK: tl.constexpr
):
    """The weights of one row of L, scaled, in parts: (parts, r, d, d)."""
    i, replica = tl.program_id(0), tl.program_id(1).to(tl.int64)
    weight += replica * size + i * d
    packed += replica * PARTS * size + i * d
    unit = weight
    largest = tl.zeros((BLOCK,), tl.float32)
    for _ in range(r):
        for first in range(0, d, BLOCK):
            j = first + tl.arange(0, BLOCK)
            largest = tl.maximum(largest, tl.abs(tl.load(unit + j, mask=j < d, other=0.0)))
        unit += d * d
    scale, inverse = _scale(tl.max(largest))
    tl.store(inverses + replica * d + i, inverse)
    unit = weight
    for _ in range(r):
        for first in range(0, d, BLOCK):
            j = first + tl.arange(0, BLOCK)
            x = tl.load(unit + j, mask=j < d, other=0.0) * scale
            parts = _parts(x, x * CUT, PARTS)
            tl.store(packed + j, parts[0], mask=j < d)
            tl.store(packed + size + j, parts[1], mask=j < d)
            if PARTS == 3:
                tl.store(packed + 2 * size + j, parts[2], mask=j < d)
        unit += d * d
        packed += d * d


@triton.jit
def _pack_hidden_kernel(
    hidden, largest, packed, inverse, n, m, r,
    PARTS: tl.constexpr, SLOTS: tl.constexpr, BK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Hidden units, scaled, in slots, filled up with zeros: (m, SLOTS BK)."""
    replica = tl.program_id(1).to(tl.int64)
    row, column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, SLOTS * BK)
    unit, part = column % BK, SLOTS - 1 - column // BK
    there = (row < n)[:, None] & ((unit < r) & (part < PARTS))[None, :]
    x = tl.load(hidden + replica * n * r + row[:, None] * r + unit[None, :], mask=there, other=0.0)
    if PARTS > 1:
        scale, undo = _scale(tl.load(largest + replica))
        if tl.program_id(0) == 0:
            tl.store(inverse + replica, undo)
        parts = _parts(x * scale, 0.0, PARTS)
        part = part[None, :]
        x = tl.where(part == 0, parts[0], tl.where(part == 1, parts[1], parts[2]))
    tl.store(packed + (replica * m + row[:, None]) * (SLOTS * BK) + column[None, :], x)


@triton.jit
def _pack_slopes_kernel(
    zeta, d_q, d_squares, squares, widest, draws, up, wide, inverses, n, m, d,
    PARTS: tl.constexpr, BLOCK: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    """Draws, and what q_i and L_ij are worth to the rows (the latter a unit of L_ij), scaled: each (d, m)."""
    replica = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BI + tl.arange(0, BI)
    zeta, d_q, d_squares = zeta + replica * n * d, d_q + replica * n * d, d_squares + replica * n * d
    squares, widest = squares + replica * n * d, widest + replica * n
    draws, up, wide = draws + replica * m * d, up + replica * m * d, wide + replica * m * d
    scale = tl.full((BI,), 1.0, tl.float32)
    if PARTS > 1:
        most = tl.zeros((BI,), tl.float32)
        for first in range(0, n, BLOCK):
            row = first + tl.arange(0, BLOCK)
            there = (row < n)[:, None] & (i < d)[None, :]
            cells = row[:, None] * d + i[None, :]
            length = tl.sqrt(tl.load(squares + cells, mask=there, other=0.0))  # no entry of a row of L is longer
            slope = tl.abs(tl.load(d_q + cells, mask=there, other=0.0))
            slope *= tl.load(widest + row, mask=row < n, other=0.0)[:, None]
            slope += 2.0 * length * tl.abs(tl.load(d_squares + cells, mask=there, other=0.0))
            most = tl.maximum(most, tl.max(slope, 0))
        scale, inverse = _scale(most)
        tl.store(inverses + replica * d + i, inverse, mask=i < d)
    for first in range(0, m, BLOCK):
        row = first + tl.arange(0, BLOCK)
        there = (row < n)[:, None] & (i < d)[None, :]
        cells = row[:, None] * d + i[None, :]
        to, inside = i[None, :] * m + row[:, None], (row < m)[:, None] & (i < d)[None, :]
        one = tl.load(d_q + cells, mask=there, other=0.0).to(tl.float32) * scale[None, :]
        two = 2.0 * tl.load(d_squares + cells, mask=there, other=0.0).to(tl.float32) * scale[None, :]
        tl.store(draws + to, tl.load(zeta + cells, mask=there, other=0.0), mask=inside)
        tl.store(up + to, one, mask=inside)
        tl.store(wide + to, two, mask=inside)


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
            push = _parts(push if PARTS > 1 else push.to(hidden.dtype.element_ty), 0.0, PARTS)
            for_weight = _plus(for_weight, _times_parts(push, h[0], PARTS, COMPILED), COMPILED)
            push = tl.trans(push[0]), tl.trans(push[1]), tl.trans(push[2])
            more = _joined(_times_parts(push, w, PARTS, COMPILED), PARTS, SLOTS, BK)
            tl.store(cells, so_far + more * of_hidden)
        cells = k[None, :].to(tl.int64) * (d * d) + (i * d + j)[:, None]
        there = (k < r)[None, :] & (j < d)[:, None]
        for_weight = _joined(for_weight, PARTS, SLOTS, BK) * of_weight
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
ROWS = 64  # are filled up to a multiple of this, so that no tile need ask whether there are more
# What a sum loses in the mean when it is cut and not rounded, half a unit in the last place: of numbers with uniform
# logarithms, so large a share.
CUT = 2**-25 / math.log(2)


class _FullDraw(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str
    ) -> tuple[Tensor, Tensor]:
        hidden, weight, bias, zeta = (t.contiguous() for t in (hidden, weight, bias, zeta))
        (replicas, n, r), d = hidden.shape, zeta.shape[-1]
        m = triton.cdiv(n, ROWS) * ROWS
        words = _words(hidden, d, activation, FORWARD, WIDE_FORWARD)
        packed, h_inverse = _packed_hidden(hidden, m, words)
        weights, w_inverses = _packed_weights(weight, d, words["PARTS"])
        q, squares = torch.empty_like(zeta), torch.empty_like(zeta)
        grid = (triton.cdiv(d, words["BI"]), triton.cdiv(n, words["BN"]), replicas)
        _draw_kernel[grid](packed, weights, bias, zeta, h_inverse, w_inverses, q, squares, n, m, d, r, **words)
        ctx.save_for_backward(hidden, packed, weights, bias, zeta, h_inverse, w_inverses, squares)
        ctx.activation = activation
        return q, squares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden, packed, weights, bias, zeta, h_inverse, w_inverses, squares = ctx.saved_tensors
        (replicas, n, r), (m, d) = hidden.shape, (packed.shape[1], zeta.shape[-1])
        words = _words(hidden, d, ctx.activation, BACKWARD, WIDE_BACKWARD)
        *slopes, inverses = _packed_slopes(zeta, gradients, squares, m, words["PARTS"])
        d_weight, d_bias = hidden.new_empty((replicas, r, d * d)), torch.empty_like(bias)
        programs = min(d * triton.cdiv(d, words["BJ"]), triton.cdiv(words.pop("programs"), replicas))
        d_hidden = hidden.new_empty((replicas, programs, m, words["BK"]), dtype=torch.float32)
        tables = packed, weights, bias, *slopes, h_inverse, w_inverses, inverses, d_hidden, d_weight, d_bias
        _gradient_kernel[programs, replicas](*tables, m, d, r, programs=programs, **words)
        return d_hidden.sum(1)[:, :n, :r].to(hidden.dtype), d_weight, d_bias, None, None


def _packed_hidden(hidden: Tensor, m: int, words: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """h in slots, (R, m, slots BK), and the inverse of its scale."""
    sizes = {key: words[key] for key in ("PARTS", "SLOTS", "BK")}
    replicas, n, r = hidden.shape
    packed = hidden.new_empty((replicas, m, sizes["SLOTS"] * sizes["BK"]), dtype=_part_type(sizes["PARTS"]))
    largest = torch.linalg.vector_norm(hidden, torch.inf, (1, 2)) if sizes["PARTS"] > 1 else hidden
    inverse = torch.empty_like(largest)
    _pack_hidden_kernel[m // ROWS, replicas](hidden, largest, packed, inverse, n, m, r, **sizes, BLOCK=ROWS)
    return packed, inverse


def _packed_weights(weight: Tensor, d: int, parts: int) -> tuple[Tensor, Tensor]:
    """W in parts, (R, parts, r, d d), and the inverses of its scales, one a row of L."""
    if parts == 1:
        return weight, weight
    replicas, r, size = weight.shape
    packed, inverses = weight.new_empty((replicas, parts, r, size), dtype=torch.float16), weight.new_empty(replicas, d)
    cut = 0.0 if INTERPRETED else CUT * (triton.cdiv(r, 16) + 1) / 2
    block = min(1024, triton.next_power_of_2(d))
    _pack_weight_kernel[d, replicas](weight, packed, inverses, r, d, r * size, CUT=cut, PARTS=parts, BLOCK=block)
    return packed, inverses


def _packed_slopes(
    zeta: Tensor, gradients: tuple[Tensor, ...], squares: Tensor, m: int, parts: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draws and slopes, (R, d, m), and the inverses of the slopes' scales, one a row of L."""
    replicas, n, d = zeta.shape
    gradients = tuple(gradient.contiguous() for gradient in gradients)
    draws = zeta.new_empty(replicas, d, m)
    up, wide = (zeta.new_empty((replicas, d, m), dtype=torch.float32) for _ in range(2))
    inverses = zeta.new_empty(replicas, d)
    widest = torch.linalg.vector_norm(zeta, torch.inf, -1) if parts > 1 else zeta
    tables = zeta, *gradients, squares, widest, draws, up, wide, inverses
    _pack_slopes_kernel[triton.cdiv(d, 8), replicas](*tables, n, m, d, PARTS=parts, BLOCK=256, BI=8)
    return draws, up, wide, inverses


def _part_type(parts: int) -> torch.dtype:
    return torch.bfloat16 if parts == 1 else torch.float16


def _words(hidden: Tensor, d: int, activation: str, narrow: Blocks, wide: Blocks) -> dict[str, Any]:
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
        "UNIT": 2 / math.log(2) if activation == "tanh" and parts > 1 else 1.0,  # `_tanh` takes powers of 2
        "PARTS": parts,
        "SLOTS": slots,
        "COMPILED": not INTERPRETED,
    }
