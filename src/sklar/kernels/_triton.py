"""The three costly steps fused, in Triton: what `reference` makes in chunks is made here in registers.

Kernels compute in float32 whatever the tensors' type; products of bfloat16 operands are taken by the matrix units.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from sklar.kernels.reference import LARGEST_GRADIENT

PROGRAMS = 1056  # where their number is free: eight for each multiprocessor of a large GPU
BUFFER_ENTRIES = 2**24  # of the programs' own buffers together, at most
WIDEST_ROW = 16384  # of the top-k recursion: a row must fit into one program's registers


# Elementary functions that keep float32's precision.


@triton.jit
def _exp(x):
    """e^x through 2^x, the product with log2(e) in two parts: the hardware's own loses digits as |x| grows."""
    x = tl.maximum(x, -150.0)  # is 0 already; minus infinity would leave no rest
    whole = tl.floor(x * 1.4426950408889634 + 0.5)
    rest = tl.fma(x, 1.4426950216293335, -whole) + x * 1.9259629911266175e-8
    return tl.exp2(rest) * tl.exp2(whole)


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
def _log1p(x):
    """log(1 + x): the rounding of 1 + x divides out."""
    u = 1.0 + x
    at_one = u == 1.0
    return tl.where(at_one, x, tl.log(u) * (x / tl.where(at_one, 1.0, u - 1.0)))


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
    decay = _exp(-a * a)
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
    slope = 0.7978845608028654 * (_exp(-a * a) / (2.0 - tail) + 1.0 / scaled)
    return tl.where(s < 0.0, -g, g), tl.where(tl.abs(s) > 12.0, 0.0, slope)


# The low-rank draw: scores -> noise -> logistic -> mask in one pass.


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
    t = _exp(-tl.abs((g + alpha) / temperature))
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


# The full-rank draw: tiles of L = act(h W + b), used where they are made.


@triton.jit
def _product(a, b, PRECISION: tl.constexpr):
    if PRECISION == "interpreted":  # the interpreter has no bfloat16 product
        return tl.dot(a.to(tl.float32), b.to(tl.float32))
    return tl.dot(a, b, input_precision=PRECISION)


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
    before = _product(h, w, PRECISION) + b[None, :]
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
        of_weight += _product(tl.trans(h), push.to(w.dtype), PRECISION)
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
            total += _product(push.to(w.dtype), tl.trans(w), PRECISION)
    mine = d_hidden + ((replica * chunks + tl.program_id(0)) * n + row[:, None]) * BR + tl.arange(0, BR)[None, :]
    tl.store(mine, total, mask=(row < n)[:, None])


def full_draw(hidden: Tensor, weight: Tensor, bias: Tensor, zeta: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """See `reference.full_draw`; zeta gets no gradient."""
    return _FullDraw.apply(hidden, weight, bias, zeta, activation)


INTERPRETED = not isinstance(_draw_kernel, triton.runtime.JITFunction)
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


# The top-k recursion: one row a program.


@triton.jit
def _log_softmax(v, temperature):
    x = v / temperature
    x -= tl.max(x, 0)
    return x - tl.log(tl.sum(_exp(x), 0))


@triton.jit
def _log_complement(log_p, p, column):
    """log(1 - p), and where the largest p stands; see `reference.log_complement`."""
    is_top = column == tl.argmax(log_p, 0)
    others = tl.where(is_top, -float("inf"), log_p)
    most = tl.max(others, 0)
    most = tl.where(most == -float("inf"), 0.0, most)
    of_top = most + tl.log(tl.maximum(tl.sum(_exp(others - most), 0), 1e-30))  # 0 only where there are no others
    return tl.where(is_top, of_top, _log1p(-tl.where(is_top, 0.0, p))), of_top, is_top


@triton.jit
def _topk_kernel(keys, out, d, k, temperature, step, BD: tl.constexpr):
    column = tl.arange(0, BD)
    place = tl.program_id(0).to(tl.int64) * d + column
    v = tl.load(keys + place, mask=column < d, other=-float("inf")).to(tl.float32)
    total = tl.zeros((BD,), tl.float32)
    for _ in range(k):
        log_p = _log_softmax(v, temperature)
        p = _exp(log_p)
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
            complement = _log_complement(log_p, _exp(log_p), column)[0]
            v += step * complement
        tl.debug_barrier()
        g = tl.load(push + place, mask=inside, other=0.0).to(tl.float32)
        later = tl.zeros((BD,), tl.float32)
        for back in range(k):
            s = k - 1 - back
            log_p = tl.load(buffer + s * d + column, mask=inside, other=-float("inf"))
            p = _exp(log_p)
            of_step = p * g
            if back > 0:
                complement, of_top, is_top = _log_complement(log_p, p, column)
                through = step * later
                top = tl.sum(tl.where(is_top, through, 0.0), 0)
                share = _exp(log_p - of_top) * top - through * p / tl.where(is_top, 1.0, 1.0 - p)
                of_step += tl.where(is_top | (column >= d), 0.0, share)
            later += (of_step - p * tl.sum(of_step, 0)) / temperature
            if s > 0:
                later = tl.minimum(tl.maximum(later, -LARGEST), LARGEST)
        tl.store(out + place, later.to(out.dtype.element_ty), mask=inside)
        tl.debug_barrier()


def relaxed_topk(keys: Tensor, k: int, temperature: float, step: float) -> Tensor:
    """See `reference.relaxed_topk`; rows of at most WIDEST_ROW features."""
    return _RelaxedTopK.apply(keys, k, temperature, step)


class _RelaxedTopK(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, keys: Tensor, k: int, temperature: float, step: float) -> Tensor:
        keys = keys.contiguous()
        ctx.save_for_backward(keys)
        ctx.words = (k, temperature, step)
        out = torch.empty_like(keys)
        d = keys.shape[-1]
        if keys.numel():
            _topk_kernel[(keys.numel() // d,)](keys, out, d, k, temperature, step, **_row_words(d))
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (keys,) = ctx.saved_tensors
        k, temperature, step = ctx.words
        d = keys.shape[-1]
        n = keys.numel() // d
        out = torch.empty_like(keys)
        if n:
            programs = max(1, min(PROGRAMS, n, BUFFER_ENTRIES // (k * d)))
            buffer = keys.new_empty((programs, k, d), dtype=torch.float32)
            words = {**_row_words(d), "LARGEST": LARGEST_GRADIENT}
            push = gradients[0].contiguous()
            _topk_gradient_kernel[(programs,)](keys, push, out, buffer, n, d, k, temperature, step, programs, **words)
        return out, None, None, None


def _row_words(d: int) -> dict[str, int]:
    """A row of d features in one program."""
    padded = triton.next_power_of_2(d)
    return {"BD": padded, "num_warps": 4 if padded <= 2048 else 8 if padded <= 4096 else 16}
