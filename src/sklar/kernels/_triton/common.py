"""What several kernels share: an exponential that keeps float32's precision, a matrix product, and sizes."""

from __future__ import annotations

import triton
import triton.language as tl

PROGRAMS = 1056  # where their number is free: eight for each multiprocessor of a large GPU


@triton.jit
def precise_exp(x):
    """e^x through 2^x, the product with log2(e) in two parts: the hardware's own loses digits as |x| grows."""
    x = tl.maximum(x, -150.0)  # is 0 already; minus infinity would leave no rest
    whole = tl.floor(x * 1.4426950408889634 + 0.5)
    rest = tl.fma(x, 1.4426950216293335, -whole) + x * 1.9259629911266175e-8
    return tl.exp2(rest) * tl.exp2(whole)


@triton.jit
def product(a, b, PRECISION: tl.constexpr):
    if PRECISION == "interpreted":  # the interpreter has no bfloat16 product
        return tl.dot(a.to(tl.float32), b.to(tl.float32))
    return tl.dot(a, b, input_precision=PRECISION)


INTERPRETED = not isinstance(product, triton.runtime.JITFunction)  # by TRITON_INTERPRET=1, without a GPU
