"""Noise against SciPy, forward and backward. False alarms: see tests/helpers.py."""

import numpy as np
import pytest
import torch
from scipy import special, stats
from torch.autograd import gradcheck

from sklar.model import copula
from sklar.model.covariance import BlockDiagonal, BlockLayout, FullRank, Independent, LowRank
from tests.helpers import assert_plausible, seeded

DRAWS = 30_000
TOLERANCE = {torch.float32: 3e-6, torch.float64: 1e-13}
REACH = {torch.float32: 12.0, torch.float64: 36.0}  # where noise is clamped


def grid(dtype, reach):
    return torch.linspace(-reach, reach, 2001, dtype=torch.float64).to(dtype)


def logistic_oracle(s):
    return special.log_ndtr(s) - special.log_ndtr(-s)


def log_density(s):
    return -0.5 * s**2 - 0.5 * np.log(2 * np.pi)


# function, its value, its derivative: all from SciPy in float64
ORACLES = {
    "uniform": (copula.uniform, special.ndtr, lambda s: np.exp(log_density(s))),
    "log_uniform": (
        copula.log_uniform,
        special.log_ndtr,
        lambda s: np.exp(log_density(s) - special.log_ndtr(s)),
    ),
    "logistic": (
        copula.logistic,
        logistic_oracle,
        lambda s: np.exp(log_density(s) - special.log_ndtr(s)) + np.exp(log_density(s) - special.log_ndtr(-s)),
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ORACLES)
def test_value_and_gradient_are_scipys_to_ten_deviations(name, dtype):
    function, value, derivative = ORACLES[name]
    s = grid(dtype, 10.0).requires_grad_()
    result = function(s)
    result.sum().backward()
    exact = s.detach().double().numpy()
    rtol = TOLERANCE[dtype] * (50 if dtype == torch.float32 else 10)  # exp(-s^2 / 2) multiplies the error of s^2 by 50
    atol = np.finfo(np.float32).tiny if dtype == torch.float32 else 1e-300
    near_zero = TOLERANCE[dtype] if name == "logistic" else atol
    np.testing.assert_allclose(result.detach().numpy(), value(exact), rtol=rtol, atol=near_zero)
    np.testing.assert_allclose(s.grad.numpy(), derivative(exact), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["log_uniform", "logistic"])
def test_beyond_the_reach_it_stays_finite_monotone_and_at_its_bound(name, dtype):
    function, value, _ = ORACLES[name]
    reach = REACH[dtype]
    s = torch.tensor([-1e30, -100.0, -reach, reach, 100.0, 1e30], dtype=dtype, requires_grad=True)
    result = function(s)
    result.sum().backward()
    assert torch.isfinite(result).all()
    assert torch.isfinite(s.grad).all()
    assert (result.diff() >= 0).all()
    np.testing.assert_allclose(
        result.detach().numpy()[[0, -1]], value(np.array([-reach, reach])), rtol=1e-4, atol=1e-37
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_uniform_is_a_probability_everywhere(dtype):
    u = copula.uniform(torch.tensor([-1e30, -50.0, 0.0, 50.0, 1e30], dtype=dtype))
    assert u.tolist() == [0.0, pytest.approx(0.0, abs=1e-300), 0.5, 1.0, 1.0]


def test_logistic_is_odd_and_where_float32_would_round_u_to_one_it_goes_on():
    s = grid(torch.float32, 11.0)
    assert torch.equal(copula.logistic(-s), -copula.logistic(s))
    assert copula.uniform(torch.tensor(6.0)) == 1
    assert copula.logistic(torch.tensor(6.0)).item() == pytest.approx(logistic_oracle(6.0), rel=1e-5)


@pytest.mark.parametrize("name", ORACLES)
def test_gradcheck(name):
    s = torch.linspace(-6, 6, 24, dtype=torch.float64, requires_grad=True)  # not 0, where log_uniform changes branch
    assert gradcheck(ORACLES[name][0], (s,))


def test_log_uniform_is_smooth_where_its_branches_meet():
    s = torch.tensor([-1e-9, 0.0, 1e-9], dtype=torch.float64, requires_grad=True)
    copula.log_uniform(s).sum().backward()
    np.testing.assert_allclose(s.grad.numpy(), np.sqrt(2 / np.pi), rtol=1e-8)


def covariances():
    def normal(*shape):
        return torch.randn(*shape, generator=seeded(), dtype=torch.float64)

    layout = BlockLayout([[0, 2], [1, 3]])
    return {
        "low-rank": LowRank(3 * normal(4, 2), normal(4).abs()),
        "full": FullRank(normal(4, 4)),
        "block": BlockDiagonal(normal(8), layout),
        "independent": Independent(10 * normal(4).abs()),
    }


@pytest.mark.parametrize("name", covariances())
def test_marginals_are_exact_for_every_covariance(name):
    s = copula.standard_draw(covariances()[name], (DRAWS,), seeded(1))
    u, log_u, g = (f(s).numpy() for f in (copula.uniform, copula.log_uniform, copula.logistic))
    assert_plausible(
        [
            stats.kstest(values[:, i], law).pvalue
            for values, law in ((u, "uniform"), (-log_u, "expon"), (g, "logistic"))
            for i in range(4)
        ]
    )


def test_the_draw_is_divided_by_its_own_deviation_of_every_row():
    loadings = torch.tensor([[[1.0]], [[1e3]]], dtype=torch.float64)  # two rows, one feature
    covariance = LowRank(loadings, torch.full((2, 1), 0.1, dtype=torch.float64))
    ratio = covariance.draw((2,), seeded()) / copula.standard_draw(covariance, (2,), seeded())
    torch.testing.assert_close(ratio, covariance.deviation())
