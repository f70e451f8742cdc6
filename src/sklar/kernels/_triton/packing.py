"""What the full-rank draw reads, packed for it: scaled, in parts, and in the order in which it is read."""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import INTERPRETED
from sklar.kernels._triton.parts import parts_of, scale_of

ROWS = 64  # are filled up to a multiple of this, so that no tile need ask whether there are more
# What a sum loses in the mean when it is cut and not rounded, half a unit in the last place: of numbers with uniform
# logarithms, so large a share.
CUT = 2**-25 / math.log(2)


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
    scale, inverse = scale_of(tl.max(largest))
    tl.store(inverses + replica * d + i, inverse)
    unit = weight
    for _ in range(r):
        for first in range(0, d, BLOCK):
            j = first + tl.arange(0, BLOCK)
            x = tl.load(unit + j, mask=j < d, other=0.0) * scale
            parts = parts_of(x, x * CUT, PARTS)
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
        scale, undo = scale_of(tl.load(largest + replica))
        if tl.program_id(0) == 0:
            tl.store(inverse + replica, undo)
        parts = parts_of(x * scale, 0.0, PARTS)
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
        scale, inverse = scale_of(most)
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


def pack_hidden(hidden: Tensor, m: int, tiles: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """h in slots, (R, m, slots BK), and the inverse of its scale."""
    sizes = {key: tiles[key] for key in ("PARTS", "SLOTS", "BK")}
    replicas, n, r = hidden.shape
    packed = hidden.new_empty((replicas, m, sizes["SLOTS"] * sizes["BK"]), dtype=_part_type(sizes["PARTS"]))
    largest = torch.linalg.vector_norm(hidden, torch.inf, (1, 2)) if sizes["PARTS"] > 1 else hidden
    inverse = torch.empty_like(largest)
    _pack_hidden_kernel[m // ROWS, replicas](hidden, largest, packed, inverse, n, m, r, **sizes, BLOCK=ROWS)
    return packed, inverse


def pack_weights(weight: Tensor, d: int, parts: int) -> tuple[Tensor, Tensor]:
    """W in parts, (R, parts, r, d d), and the inverses of its scales, one a row of L."""
    if parts == 1:
        return weight, weight
    replicas, r, size = weight.shape
    packed, inverses = weight.new_empty((replicas, parts, r, size), dtype=torch.float16), weight.new_empty(replicas, d)
    cut = 0.0 if INTERPRETED else CUT * (triton.cdiv(r, 16) + 1) / 2
    block = min(1024, triton.next_power_of_2(d))
    _pack_weight_kernel[d, replicas](weight, packed, inverses, r, d, r * size, CUT=cut, PARTS=parts, BLOCK=block)
    return packed, inverses


def pack_slopes(
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
