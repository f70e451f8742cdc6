"""The fused full-rank draw against plain torch; see `tests.kernels.fused`."""

import pytest
import torch

from sklar import kernels
from tests.kernels.fused import DEVICE, DTYPES, assert_as_good_as_torch, draw

pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("replicas", "n", "d", "r"), [(1, 1, 1, 1), (2, 70, 5, 17), (1, 3, 35, 2), (1, 600, 4, 16)])
def test_full_draw(replicas, n, d, r, activation, dtype):
    assert_as_good_as_torch("full_draw", full_draw_arguments(replicas, n, d, r, activation, dtype), dtype)


@pytest.mark.parametrize(("scale_of_h", "scale_of_w"), [(1e6, 1e-7), (1e-8, 1e3), (1.0, 1e-4)])
def test_full_draw_at_any_scale(scale_of_h, scale_of_w):
    """float32 is cut into float16's, whose range is small."""
    hidden, weight, bias, zeta, activation = full_draw_arguments(1, 30, 9, 12, "tanh", torch.float32)
    scaled = [
        (hidden * scale_of_h).float().double().detach().requires_grad_(),
        (weight * scale_of_w).float().double().detach().requires_grad_(),
        (bias * scale_of_h * scale_of_w).float().double().detach().requires_grad_(),
    ]
    assert_as_good_as_torch("full_draw", [*scaled, zeta, activation], torch.float32)


def test_full_draw_of_many_units():
    """In float32 more than 16 units have other tiles; of more than 128 the reference takes care."""
    assert_as_good_as_torch("full_draw", full_draw_arguments(1, 40, 6, 100, "tanh", torch.float32), torch.float32)
    for units, which in ((128, "triton"), (129, "reference")):
        *tensors, activation = full_draw_arguments(1, 2, 3, units, "relu", torch.float32)
        with kernels.using("triton"):
            kernels.full_draw(*(tensor.float().to(DEVICE) for tensor in tensors), activation)
        assert kernels.which_ran("full_draw") == which


def full_draw_arguments(replicas, n, d, r, activation, dtype):
    return [
        draw(replicas, n, r, seed=0, dtype=dtype),
        draw(replicas, r, d * d, seed=1, dtype=dtype),
        draw(replicas, 1, d * d, seed=2, dtype=dtype),
        draw(replicas, n, d, seed=3, dtype=dtype, learns=False),
        activation,
    ]
