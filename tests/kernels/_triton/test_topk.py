"""The fused top-k recursion against plain torch; see `tests.kernels.fused`."""

import pytest
import torch

from sklar import kernels
from tests.kernels.fused import DEVICE, DTYPES, assert_as_good_as_torch, draw

pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "d", "k", "temperature"), [(1, 1, 1, 1.0), (5, 7, 7, 1.0), (6, 33, 3, 0.3), (2, 130, 2, 3.0)]
)
def test_relaxed_topk(n, d, k, temperature, dtype):
    keys = draw(n, d, seed=0, dtype=dtype)
    assert_as_good_as_torch("relaxed_topk", [keys, k, temperature, temperature**0.5], dtype)


def test_relaxed_topk_at_the_furthest_keys():
    """Keys of 1e7 beside keys of 0: finite, and the k largest."""
    keys = torch.tensor([[-7.5e7, 0.0, -1e-3, -7.5e7, -10.0]], device=DEVICE, requires_grad=True)
    with kernels.using("triton"):
        relaxed = kernels.relaxed_topk(keys, 3, 1e-2, 1.0)
    relaxed.square().sum().backward()
    assert torch.isfinite(keys.grad).all()
    torch.testing.assert_close(relaxed.sum().item(), 3.0, rtol=1e-4, atol=0)
