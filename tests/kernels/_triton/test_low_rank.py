"""The fused low-rank mask against plain torch; see `tests.kernels.fused`."""

import pytest
import torch

from tests.kernels.fused import DTYPES, assert_as_good_as_torch, draw, results

pytest.importorskip("triton", reason='needs Triton: pip install "sklar[triton-test]"')


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("temperature", [0.3, 1.0])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("shape", "p"), [((20, 1), 1), ((2, 5, 19), 5), ((8, 7), 8), ((3, 5), 33), ((130,), 2)])
def test_low_rank_mask(shape, p, activation, temperature, dtype):
    rows, d = shape[:-1], shape[-1]
    head = draw(*rows, p + 1, d, seed=1, dtype=dtype).detach()
    # away from the kinks of the activations, whose sides rounding chooses, and from sigmas so small that it shows
    head = torch.where(head < 0, -1, 1) * head.abs().clamp_min(0.125)
    head[..., p, :] = head[..., p, :].abs()
    arguments = [
        draw(*shape, seed=0, dtype=dtype),
        head.flatten(-2).requires_grad_(),
        draw(*rows, p, seed=3, dtype=dtype, learns=False),
        draw(*shape, seed=4, dtype=dtype, learns=False),
        temperature,
        activation,
    ]
    exact, fused = (
        results("low_rank_mask", arguments, kind, which)
        for kind, which in ((torch.float64, "reference"), (dtype, "triton"))
    )
    # A gate whose sum is 0 but for rounding may fall on either side; the others are the same gates.
    assert (exact[0] != fused[0]).double().mean() <= (0.0 if dtype is torch.float32 else 0.02)
    assert set(fused[0].unique().tolist()) <= {0.0, 1.0}
    assert_as_good_as_torch("low_rank_mask", arguments, dtype)


def test_low_rank_mask_at_the_floor_of_sigma():
    """A sigma at the floor has no gradient, nor a relu below 0; of a tanh below 0 the size counts."""
    raw = torch.tensor([-2.0, -0.5, -5e-4, 0.0, 5e-4, 2e-3, 0.5], dtype=torch.float64)
    loadings, zeros = torch.full_like(raw, 0.25), torch.zeros_like(raw)
    for activation in ("tanh", "relu"):
        head = torch.cat([loadings, raw]).requires_grad_()
        arguments = [zeros.clone().requires_grad_(), head, zeros[:1] + 0.5, zeros + 0.25, 1.0, activation]
        assert_as_good_as_torch("low_rank_mask", arguments, torch.float32)
        of_sigma = results("low_rank_mask", arguments, torch.float32, "triton")[2][7:]
        shut = [True, True, True, True, True, False, False] if activation == "tanh" else [False] * 2 + [True] * 3
        assert (of_sigma == 0).tolist()[: len(shut)] == shut


def test_independent_gates():
    arguments = [draw(7, 200, seed=0, dtype=torch.float32), None, None]
    arguments += [draw(7, 200, seed=1, dtype=torch.float32, learns=False), 0.5]
    assert_as_good_as_torch("low_rank_mask", arguments, torch.float32)


def test_logistic_noise_in_the_tails():
    """Gates whose noise is 0 to 13 deviations out: the fused noise is finite and as exact as torch's."""
    eps = torch.linspace(-13, 13, 1001, dtype=torch.float64)
    zeros = torch.zeros_like(eps)
    arguments = [zeros.clone().requires_grad_(), torch.cat([zeros, zeros + 1]), zeros[:1], eps, 20.0]
    assert_as_good_as_torch("low_rank_mask", arguments, torch.float32)
