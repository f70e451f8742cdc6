"""Stochastic gates: the gate's law, and the support of a linear and an XOR problem (Yamada et al., ICML 2020)."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_moons

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.stg import clamped_gates
from tests.helpers import FALSE_ALARM, seeded

QUICK = {
    "iterations": 600,
    "batch_size": 250,
    "predictor_hidden": 50,
    "gate_learning_rate": 5e-3,
    "random_state": 0,
}


def test_chance_of_an_open_gate_is_the_penalty():
    """P(gate > 0) = Phi((mu + 1/2) / sigma), the paper's penalty. False alarm 1e-6, by Hoeffding."""
    centre, sigma, n = torch.tensor(-0.3), 0.5, 100_000
    gates = clamped_gates(centre, sigma * torch.randn(n, generator=seeded()))
    expected = torch.special.ndtr((centre + 0.5) / sigma)
    assert abs((gates > 0).float().mean() - expected) < np.sqrt(np.log(2 / FALSE_ALARM) / (2 * n))
    assert gates.min() == 0
    assert gates.max() == 1


def test_linear_support():
    """Source: the paper's sparse linear regression, whose support is recovered."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 15))
    y = 2 * X[:, 1] - 2 * X[:, 4] + 1.5 * X[:, 9] + 0.5 * rng.standard_normal(1000)
    baseline = REGISTRY["stg"](penalty=0.5, **QUICK).fit(X, y)
    assert set(np.flatnonzero(baseline.select(X)[0])) == {1, 4, 9}
    assert set(np.flatnonzero(baseline.select(X, k=3)[0])) == {1, 4, 9}
    assert baseline.score(X, y) > 0.9


def test_xor_support():
    """Source: the paper's XOR problem: neither feature alone tells anything."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10))
    y = (X[:, 2] > 0) ^ (X[:, 6] > 0)
    baseline = REGISTRY["stg"](penalty=0.3, **QUICK).fit(X, y)
    assert set(np.flatnonzero(baseline.select(X)[0])) == {2, 6}
    assert baseline.score(X, y) > 0.9


def test_a_higher_price_opens_fewer_gates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8))
    y = X @ np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0, 0, 0])
    cheap, dear = (REGISTRY["stg"](penalty=p, **QUICK).fit(X, y).select(X)[0].sum() for p in (0.001, 3.0))
    assert dear < cheap


@pytest.mark.parametrize("sigma", [0.0, -1.0])
def test_sigma_must_be_positive(sigma):
    with pytest.raises(ValueError, match="sigma"):
        REGISTRY["stg"](sigma=sigma).fit(np.eye(4), [0, 1, 0, 1])


def test_two_moons_among_noise_as_in_the_authors_notebook():
    """Source: python/examples/Classification-example.ipynb of runopti/stg, whose gates end at 1, 1 and eighteen 0."""
    X, y = make_moons(1000, noise=0.1, random_state=0)
    X = np.column_stack([X, np.random.default_rng(0).standard_normal((1000, 18))])
    params = {"iterations": 800, "batch_size": 240, "learning_rate": 1e-2, "predictor_hidden": 40}
    fitted = REGISTRY["stg"](penalty=0.5, random_state=0, **params).fit(X[:240], y[:240])
    assert np.flatnonzero(fitted.select(X[:1])[0]).tolist() == [0, 1]
    assert fitted.score(X[240:], y[240:]) > 0.97
