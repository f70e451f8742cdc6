"""What several kernels share: functions that keep float32's precision, a matrix product, and sizes."""

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


# `tanh_of_powers` in one piece
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
def special(x, ASM: tl.constexpr):
    return tl.inline_asm_elementwise(ASM, "=f,f", [x], tl.float32, is_pure=True, pack=1)


@triton.jit
def tanh_of_powers(x, COMPILED: tl.constexpr):
    """tanh(x log(2) / 2), by a polynomial of x^2 near 0, where 1 - 2 / (2^x + 1) would cancel."""
    if COMPILED:
        return special(x, FUSED_TANH)
    u = x * x
    near = ((-2.9517538485777902e-05 * u + 0.0006650026507975855) * u - 0.013875748441704553) * u + 0.3465735902799726
    far = (1.0 - 2.0 / (tl.exp2(tl.abs(x)) + 1.0)) * tl.where(x < 0.0, -1.0, 1.0)
    return tl.where(u < 1.02, near * x, far)


@triton.jit
def tanh(x, COMPILED: tl.constexpr):
    return tanh_of_powers(x * 2.8853900817779268, COMPILED)  # 2 / log(2)


@triton.jit
def product(a, b, PRECISION: tl.constexpr):
    if PRECISION == "interpreted":  # the interpreter has no bfloat16 product
        return tl.dot(a.to(tl.float32), b.to(tl.float32))
    return tl.dot(a, b, input_precision=PRECISION)


INTERPRETED = not isinstance(product, triton.runtime.JITFunction)  # by TRITON_INTERPRET=1, without a GPU
