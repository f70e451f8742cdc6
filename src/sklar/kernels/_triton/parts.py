"""Products of float32 on tensor cores, which multiply numbers of 16 bits.

A float32, scaled by a power of 2 into the range of float16, is the sum of two of these, its parts, but for its last
bit; all products of parts together are as exact as float32's own. The parts of a number lie in slots: a table of r
units has `SLOTS` blocks of `BK` columns, the largest parts in the last block. A product of two such tables over their
columns meets equal slots alone, so that it is taken once more with the slots of one of them exchanged. Tensor cores cut
what they add where float32 would round: few products, those of small parts first, are added on them, and many by
float32's own addition.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def scale_of(largest):
    """The power of 2 that lifts `largest` to 2^14 or more, below float16's limit of 2^16, and its inverse."""
    exponent = tl.minimum(tl.maximum((largest.to(tl.int32, bitcast=True) >> 23) - 127 - 14, -60), 60)
    return ((127 - exponent) << 23).to(tl.float32, bitcast=True), ((127 + exponent) << 23).to(tl.float32, bitcast=True)


@triton.jit
def parts_of(x, more, PARTS: tl.constexpr):
    """Float16's whose sum is x + more, two of them but for the last bit; x itself where one is enough."""
    if PARTS == 1:
        return x, x, x
    else:
        first = x.to(tl.float16)
        rest = (x - first.to(tl.float32)) + more
        second = rest.to(tl.float16)
        return first, second, (rest - second.to(tl.float32)).to(tl.float16)


@triton.jit
def add_product(total, a, b, COMPILED: tl.constexpr):
    if COMPILED:
        return tl.dot(a, b, acc=total)
    return total + tl.dot(a.to(tl.float32), b.to(tl.float32))  # the interpreter has no bfloat16 product


@triton.jit
def plus(x, y, COMPILED: tl.constexpr):
    """x + y. The compiler would make the plus part of a product before it, whose sums are cut."""
    if COMPILED:
        return tl.inline_asm_elementwise("add.rn.f32 $0, $1, $2;", "=f,f,f", [x, y], tl.float32, is_pure=True, pack=1)
    return x + y


@triton.jit
def times_parts(push, table, PARTS: tl.constexpr, COMPILED: tl.constexpr):
    """Parts of the push times a table of all slots."""
    total = tl.zeros((push[0].shape[0], table.shape[1]), tl.float32)
    if PARTS == 3:
        total = add_product(total, push[2], table, COMPILED)
    if PARTS > 1:
        total = add_product(total, push[1], table, COMPILED)
    return add_product(total, push[0], table, COMPILED)


@triton.jit
def joined(product, PARTS: tl.constexpr, SLOTS: tl.constexpr, BK: tl.constexpr):
    """The sum over slots: (..., SLOTS BK) to (..., BK)."""
    return product if PARTS == 1 else tl.sum(product.reshape(product.shape[0], SLOTS, BK), 1)
