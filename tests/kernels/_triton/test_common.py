"""What several kernels share, each function by itself against float64."""

import pytest
import torch

triton = pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')

import triton.language as tl  # noqa: E402

from sklar.kernels._triton.common import INTERPRETED, precise_exp, tanh  # noqa: E402
from tests.kernels.fused import DEVICE  # noqa: E402


@triton.jit
def _functions(x, exponentials, tangents, n: tl.constexpr, COMPILED: tl.constexpr):
    place = tl.arange(0, n)
    value = tl.load(x + place)
    tl.store(exponentials + place, precise_exp(value))
    tl.store(tangents + place, tanh(value, COMPILED))


def test_exponentials_and_tangents_keep_the_precision_of_float32():
    x = torch.linspace(-40, 40, 256, device=DEVICE)
    exponentials, tangents = torch.empty_like(x), torch.empty_like(x)
    _functions[(1,)](x, exponentials, tangents, 256, not INTERPRETED)
    torch.testing.assert_close(exponentials.double(), x.double().exp(), rtol=1e-6, atol=0)
    torch.testing.assert_close(tangents.double(), x.double().tanh(), rtol=2e-6, atol=1e-7)
