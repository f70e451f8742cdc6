"""What predictors say of flips at thresholds, fused: moved masks and first layers are made in registers and used there.

A program has some moves (`training.honest.copula_flips`). It puts their latents at the thresholds, finds which gates
are then open, sums these gates' weights in tiles, and evaluates the small rest of the network for every state of the
gates that are flipped. Nothing of the size of moves times features is stored.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import INTERPRETED, product


@triton.jit
def _step(x, w1, row, gate, of_row, unit, d, h: tl.constexpr):
    """x_i W_i + W'_i: what opening a gate adds to the first pre-activation."""
    inside = of_row[:, None] & (unit < h)[None, :]
    value = tl.load(x + row * d + gate, mask=of_row, other=0.0)
    of_value = tl.load(w1 + gate[:, None] * h + unit[None, :], mask=inside, other=0.0)
    of_mask = tl.load(w1 + (d + gate)[:, None] * h + unit[None, :], mask=inside, other=0.0)
    return value[:, None] * of_value + of_mask


@triton.jit
def _answer(
    hidden, w2, b2, w3, b3, out, row, slot, of_row, unit, output, slots,
    h: tl.constexpr, o: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """From the first pre-activation to the outputs, stored at one of the row's slots."""
    square = (unit < h)[:, None] & (unit < h)[None, :]
    second = tl.load(w2 + unit[:, None] * h + unit[None, :], mask=square, other=0.0)
    active = product(tl.maximum(hidden, 0.0), second, PRECISION)
    active = tl.maximum(active + tl.load(b2 + unit, mask=unit < h, other=0.0)[None, :], 0.0)
    last = tl.load(
        w3 + unit[:, None] * o + output[None, :], mask=(unit < h)[:, None] & (output < o)[None, :], other=0.0
    )
    answer = product(active, last, PRECISION) + tl.load(b3 + output, mask=output < o, other=0.0)[None, :]
    where = out + (row * slots + slot)[:, None] * o + output[None, :]
    tl.store(where, answer, mask=of_row[:, None] & (output < o)[None, :])


@triton.jit
def _flips_kernel(
    distance, correlation, x, index, w1, b1, w2, b2, w3, b3, out, n, d, count, singles,
    h: tl.constexpr, o: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BL: tl.constexpr, BH: tl.constexpr, BO: tl.constexpr,
):  # fmt: skip
    """BM moves of one replica. The first `singles` programs move one latent of a row each, the others two."""
    replica = tl.program_id(1).to(tl.int64)
    slots = 2 * count + 4
    distance, x, index = distance + replica * n * d, x + replica * n * d, index + replica * n * count
    correlation, out = correlation + replica * d * d, out + replica * n * slots * o
    w1, b1, w2, b2 = w1 + replica * 2 * d * h, b1 + replica * h, w2 + replica * h * h, b2 + replica * h
    w3, b3 = w3 + replica * h * o, b3 + replica * o
    unit, output = tl.arange(0, BH), tl.arange(0, BO)
    of_pair = tl.program_id(0) >= singles
    moves = tl.where(of_pair, 1, count)  # of a row
    move = (tl.program_id(0) - tl.where(of_pair, singles, 0)) * BM + tl.arange(0, BM)
    row, k = move // moves, move % moves
    of_row = row < n
    i = tl.load(index + row * count + k, mask=of_row, other=0).to(tl.int32)
    way_i = tl.load(distance + row * d + i, mask=of_row, other=0.0)
    j, way_j = i, tl.zeros_like(way_i)
    if of_pair:  # [[1, r], [r, 1]]^-1 [step_i, step_j]
        j = tl.load(index + row * count + 1, mask=of_row, other=0).to(tl.int32)
        step_i, step_j = way_i, tl.load(distance + row * d + j, mask=of_row, other=0.0)
        r = tl.load(correlation + i * d + j, mask=of_row, other=0.0)
        rest = tl.maximum(1.0 - r * r, 1e-6)
        way_i, way_j = (step_i - r * step_j) / rest, (step_j - r * step_i) / rest
    hidden = tl.zeros((BM, BH), tl.float32) + tl.load(b1 + unit, mask=unit < h, other=0.0)[None, :]
    for start in range(0, d, BL):
        gate = start + tl.arange(0, BL)
        inside = of_row[:, None] & (gate < d)[None, :]
        moved = way_i[:, None] * tl.load(correlation + i[:, None] * d + gate[None, :], mask=inside, other=0.0)
        if of_pair:
            moved += way_j[:, None] * tl.load(correlation + j[:, None] * d + gate[None, :], mask=inside, other=0.0)
        apart = tl.load(distance + row[:, None] * d + gate[None, :], mask=inside, other=0.0)
        opened = (moved > apart) & (gate[None, :] != i[:, None]) & (gate[None, :] != j[:, None]) & inside
        # all values, so that none waits to be told whether it is open
        value = tl.load(x + row[:, None] * d + gate[None, :], mask=inside, other=0.0)
        of_weight = (gate < d)[:, None] & (unit < h)[None, :]
        of_value = tl.load(w1 + gate[:, None] * h + unit[None, :], mask=of_weight, other=0.0)
        of_mask = tl.load(w1 + (d + gate)[:, None] * h + unit[None, :], mask=of_weight, other=0.0)
        hidden += product(tl.where(opened, value, 0.0), of_value, PRECISION)
        hidden += product(tl.where(opened, 0.5, -0.5), of_mask, PRECISION)
    k = tl.where(of_pair, count, k)
    for state in range(4):  # shut, i open, j open, both open
        if of_pair | (state < 2):
            now = hidden + _step(x, w1, row, i, of_row & (state % 2 == 1), unit, d, h)
            now += _step(x, w1, row, j, of_row & (state >= 2), unit, d, h)
            slot = tl.where(state == 0, k, count + k + state)
            _answer(now, w2, b2, w3, b3, out, row, slot, of_row, unit, output, slots, h, o, PRECISION)


BLOCKS = {"BM": 32, "BL": 64, "num_warps": 4, "num_stages": 1}  # the quickest on an H200, with 784 gates


def flips_at_thresholds(
    distance: Tensor, correlation: Tensor, x: Tensor, index: Tensor, layers: list[tuple[Tensor, Tensor]]
) -> Tensor:
    """Outputs for K flips and a pair flip of every row: (R, n, 2 K + 4, out).

    First K + 1 with the gates shut (each of K alone, then the first two together), then K with the gate open, then
    three with the first, the second and both gates of the pair open.

    distance, x : (R, n, d), correlation : (R, d, d), index : (R, n, K)
    layers : weights and biases of three layers, (R, in, out) and (R, 1, out), the first of inputs [x * z, z - 1/2]
    """
    (replicas, n, d), count = distance.shape, index.shape[-1]
    hidden, outputs = layers[1][0].shape[-1], layers[2][0].shape[-1]
    out = x.new_empty(replicas, n, 2 * count + 4, outputs)
    tiles: dict[str, Any] = {
        "PRECISION": "interpreted" if INTERPRETED else "tf32x3",
        "BH": max(16, triton.next_power_of_2(hidden)),
        "BO": max(16, triton.next_power_of_2(outputs)),
        **BLOCKS,
    }
    singles = triton.cdiv(n * count, tiles["BM"])
    grid = (singles + triton.cdiv(n, tiles["BM"]), replicas)
    tensors = [distance, correlation, x, index, *(t for layer in layers for t in layer)]
    tensors = [t.contiguous() for t in tensors]
    _flips_kernel[grid](*tensors, out, n, d, count, singles, hidden, outputs, **tiles)
    return out
