"""A float32 as float16's whose sum it is."""

import pytest
import torch

triton = pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')

import triton.language as tl  # noqa: E402

from sklar.kernels._triton.parts import parts_of, scale_of  # noqa: E402
from tests.helpers import seeded  # noqa: E402
from tests.kernels.fused import DEVICE  # noqa: E402


@triton.jit
def _take_apart(x, largest, out, n: tl.constexpr):
    place = tl.arange(0, n)
    scale, inverse = scale_of(tl.load(largest))
    first, second, _third = parts_of(tl.load(x + place) * scale, 0.0, 2)
    tl.store(out + place, (first.to(tl.float32) + second.to(tl.float32)) * inverse)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e6])
def test_two_parts_are_the_number_but_for_its_last_bits(size):
    x = (size * torch.randn(64, generator=seeded())).to(DEVICE)
    out = torch.empty_like(x)
    _take_apart[(1,)](x, x.abs().max().reshape(1), out, 64)
    torch.testing.assert_close(out, x, rtol=2**-21, atol=size * 2**-24)
