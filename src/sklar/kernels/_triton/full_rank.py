"""The full-rank draw: tiles of L = act(h W + b), used where they are made."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels._triton.common import INTERPRETED, PROGRAMS, product


@triton.jit
def _tanh(x):
    """A polynomial of x^2 near 0, where 1 - 2 / (e^2x + 1) would cancel."""
    u = x * x
    near = -0.006104948464781046 * u + 0.021003641188144684
    near = near * u - 0.05385249853134155
    near = near * u + 0.13332782685756683
    near = near * u - 0.333333283662796
    near = x + x * (u * near)
    t = tl.exp(-2.0 * tl.abs(x))
    far = 1.0 - 2.0 * t / (1.0 + t)
    return tl.where(u < 0.39, near, tl.where(x < 0.0, -far, far))


@triton.jit
def _weights(weight, bias, i, j, d, r, BR: tl.constexpr):
    """The weights and biases that entries L[i, j] are made of: (BR, BJ), (BJ,)."""
    unit = tl.arange(0, BR)
    cells = unit[:, None].to(tl.int64) * (d * d) + (i * d + j)[None, :]
    w = tl.load(weight + cells, mask=(unit < r)[:, None] & (j < d)[None, :], other=0.0)
    return w, tl.load(bias + i * d + j, mask=j < d, other=0.0).to(tl.float32)


@triton.jit
def _entries(h, w, b, TANH: tl.constexpr, FAST: tl.constexpr, PRECISION: tl.constexpr):
    """Entries of L for some rows: act(h W + b)."""
    before = product(h, w, PRECISION) + b[None, :]
    if not TANH:
        return tl.maximum(before, 0.0)
    if FAST:  # right to 2^-11, more than bfloat16 can hold
        return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [before], tl.float32, is_pure=True, pack=1)
    return _tanh(before)


@triton.jit
def _hidden(hidden, row, n, r, BR: tl.constexpr):
    unit = tl.arange(0, BR)
    return tl.load(hidden + row[:, None] * r + unit[None, :], mask=(row < n)[:, None] & (unit < r)[None, :], other=0.0)


@triton.jit
def _rows(table, row, j, n, d):
    return tl.load(table + row[:, None] * d + j[None, :], mask=(row < n)[:, None] & (j < d)[None, :], other=0.0).to(
        tl.float32
    )


@triton.jit
def _push(entry, z, d_q, d_squares, row, i, n, d, TANH: tl.constexpr):
    """The gradient of h W + b: (dq zeta + 2 L dsquares) times the activation's slope, which L itself tells."""
    up = tl.load(d_q + row * d + i, mask=row < n, other=0.0).to(tl.float32)
    wide = 2.0 * tl.load(d_squares + row * d + i, mask=row < n, other=0.0).to(tl.float32)
    push = up[:, None] * z + entry * wide[:, None]
    return push * (1.0 - entry * entry) if TANH else tl.where(entry > 0.0, push, 0.0)


@triton.jit
def _draw_kernel(
    hidden, weight, bias, zeta, q, squares, n, d, r, TANH: tl.constexpr, FAST: tl.constexpr, PRECISION: tl.constexpr,
    BN: tl.constexpr, BJ: tl.constexpr, BR: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    """BN rows, BI rows of L: the draws zeta of these rows stay in the cache from one row of L to the next."""
    row = tl.program_id(1) * BN + tl.arange(0, BN)
    replica = tl.program_id(2).to(tl.int64)
    hidden, zeta = hidden + replica * n * r, zeta + replica * n * d
    q, squares = q + replica * n * d, squares + replica * n * d
    weight, bias = weight + replica * r * d * d, bias + replica * d * d
    h = _hidden(hidden, row, n, r, BR)
    for step in range(BI):
        i = tl.program_id(0) * BI + step
        if i < d:
            total = tl.zeros((BN, BJ), tl.float32)  # summed over j once, at the end: a sum needs all threads
            length = tl.zeros((BN, BJ), tl.float32)
            for first in range(0, d, BJ):
                j = first + tl.arange(0, BJ)
                w, b = _weights(weight, bias, i, j, d, r, BR)
                entry = _entries(h, w, b, TANH, FAST, PRECISION)
                total += entry * _rows(zeta, row, j, n, d)
                length += entry * entry
            tl.store(q + row * d + i, tl.sum(total, 1).to(q.dtype.element_ty), mask=row < n)
            tl.store(squares + row * d + i, tl.sum(length, 1).to(squares.dtype.element_ty), mask=row < n)


@triton.jit
def _weight_gradient_kernel(
    hidden, weight, bias, zeta, d_q, d_squares, d_weight, d_bias, n, d, r,
    TANH: tl.constexpr, FAST: tl.constexpr, PRECISION: tl.constexpr,
    BN: tl.constexpr, BJ: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """A tile of W, all rows through it."""
    replica = tl.program_id(2).to(tl.int64)
    hidden, zeta = hidden + replica * n * r, zeta + replica * n * d
    d_q, d_squares = d_q + replica * n * d, d_squares + replica * n * d
    weight, bias = weight + replica * r * d * d, bias + replica * d * d
    d_weight, d_bias = d_weight + replica * r * d * d, d_bias + replica * d * d
    i = tl.program_id(1)
    j = tl.program_id(0) * BJ + tl.arange(0, BJ)
    w, b = _weights(weight, bias, i, j, d, r, BR)
    of_weight = tl.zeros((BR, BJ), tl.float32)
    of_bias = tl.zeros((BN, BJ), tl.float32)
    for first in range(0, n, BN):
        row = first + tl.arange(0, BN)
        h = _hidden(hidden, row, n, r, BR)
        entry = _entries(h, w, b, TANH, FAST, PRECISION)
        push = _push(entry, _rows(zeta, row, j, n, d), d_q, d_squares, row, i, n, d, TANH)
        of_bias += push
        of_weight += product(tl.trans(h), push.to(w.dtype), PRECISION)
    unit = tl.arange(0, BR)
    cells = unit[:, None].to(tl.int64) * (d * d) + (i * d + j)[None, :]
    inside = (unit < r)[:, None] & (j < d)[None, :]
    tl.store(d_weight + cells, of_weight.to(d_weight.dtype.element_ty), mask=inside)
    tl.store(d_bias + i * d + j, tl.sum(of_bias, 0).to(d_bias.dtype.element_ty), mask=j < d)


@triton.jit
def _hidden_gradient_kernel(
    hidden, weight, bias, zeta, d_q, d_squares, d_hidden, n, d, r, chunks,
    TANH: tl.constexpr, FAST: tl.constexpr, PRECISION: tl.constexpr,
    BN: tl.constexpr, BJ: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """BN rows, every `chunks`-th row of L; summed over these afterwards, so that a run can be repeated to the bit."""
    row = tl.program_id(1) * BN + tl.arange(0, BN)
    replica = tl.program_id(2).to(tl.int64)
    hidden, zeta = hidden + replica * n * r, zeta + replica * n * d
    d_q, d_squares = d_q + replica * n * d, d_squares + replica * n * d
    weight, bias = weight + replica * r * d * d, bias + replica * d * d
    h = _hidden(hidden, row, n, r, BR)
    total = tl.zeros((BN, BR), tl.float32)
    for i in range(tl.program_id(0), d, chunks):
        for first in range(0, d, BJ):
            j = first + tl.arange(0, BJ)
            w, b = _weights(weight, bias, i, j, d, r, BR)
            entry = _entries(h, w, b, TANH, FAST, PRECISION)
            push = _push(entry, _rows(zeta, row, j, n, d), d_q, d_squares, row, i, n, d, TANH)
            total += product(push.to(w.dtype), tl.trans(w), PRECISION)
    mine = d_hidden + ((replica * chunks + tl.program_id(0)) * n + row[:, None]) * BR + tl.arange(0, BR)[None, :]
    tl.store(mine, total, mask=(row < n)[:, None])


def full_draw(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """See `reference.full_draw`; zeta gets no gradient."""
    return _FullDraw.apply(hidden, weight, bias, zeta, activation)


# Rows and columns of a tile, warps, and how float32 operands are multiplied: the quickest on an H200 at the shape of
# MNIST (see benchmarks/README.md) whose error stays below twice plain torch's. Three TF32 products (tf32x3) are quicker
# than float32's own (ieee) but not exact enough for the squares of the forward pass.
Blocks = dict[str, Any]
FORWARD: dict[torch.dtype, Blocks] = {
    torch.float32: {"BN": 64, "BJ": 32, "BI": 4, "num_warps": 8, "PRECISION": "ieee"},
    torch.bfloat16: {"BN": 64, "BJ": 32, "BI": 4, "num_warps": 4, "PRECISION": "ieee"},
}
OF_WEIGHT: dict[torch.dtype, Blocks] = {
    torch.float32: {"BN": 64, "BJ": 64, "num_warps": 4, "PRECISION": "tf32x3"},
    torch.bfloat16: {"BN": 64, "BJ": 32, "num_warps": 4, "PRECISION": "ieee"},
}
OF_HIDDEN: dict[torch.dtype, Blocks] = {
    torch.float32: {"BN": 64, "BJ": 16, "num_warps": 4, "PRECISION": "tf32x3"},
    torch.bfloat16: {"BN": 32, "BJ": 32, "num_warps": 2, "PRECISION": "ieee"},
}


class _FullDraw(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str
    ) -> tuple[Tensor, Tensor]:
        tensors = [t.contiguous() for t in (hidden, weight, bias, zeta)]
        ctx.save_for_backward(*tensors)
        ctx.activation = activation
        q, squares = torch.empty_like(tensors[3]), torch.empty_like(tensors[3])
        (replicas, n, r), d = hidden.shape, zeta.shape[-1]
        words = _draw_words(hidden, activation, FORWARD)
        grid = (triton.cdiv(d, words["BI"]), triton.cdiv(n, words["BN"]), replicas)
        _draw_kernel[grid](*tensors, q, squares, n, d, r, **words)
        return q, squares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden, weight, bias, zeta = ctx.saved_tensors
        (replicas, n, r), d = hidden.shape, zeta.shape[-1]
        tensors = (hidden, weight, bias, zeta, *(g.contiguous() for g in gradients))
        d_weight, d_bias = torch.empty_like(weight), torch.empty_like(bias)
        words = _draw_words(hidden, ctx.activation, OF_WEIGHT)
        grid = (triton.cdiv(d, words["BJ"]), d, replicas)
        _weight_gradient_kernel[grid](*tensors, d_weight, d_bias, n, d, r, **words)
        words = _draw_words(hidden, ctx.activation, OF_HIDDEN)
        blocks = triton.cdiv(n, words["BN"])
        chunks = min(d, triton.cdiv(PROGRAMS, blocks * replicas))
        parts = hidden.new_empty((replicas, chunks, n, words["BR"]), dtype=torch.float32)
        _hidden_gradient_kernel[(chunks, blocks, replicas)](*tensors, parts, n, d, r, chunks, **words)
        return parts.sum(1)[..., :r].to(hidden.dtype), d_weight, d_bias, None, None


def _draw_words(hidden: Tensor, activation: str, blocks: dict[torch.dtype, Blocks]) -> dict[str, Any]:
    """The constants of a kernel; wider hidden layers leave fewer registers for a tile."""
    words = blocks[hidden.dtype]
    units = max(16, triton.next_power_of_2(hidden.shape[-1]))
    return {
        **words,
        "BJ": max(16, min(words["BJ"], 4096 // units)),
        "BR": units,
        "TANH": activation == "tanh",
        "FAST": hidden.dtype == torch.bfloat16 and not INTERPRETED,
        "PRECISION": "interpreted" if INTERPRETED else words["PRECISION"],
    }
