"""SUWR: what is hidden cannot change what is shown; stopping; the switch of two features."""

import numpy as np
import pytest
import torch

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.suwr import stop_chances
from tests.helpers import seeded


def switched(n=3000, seed=0):
    """x2 says which of x0 and x1 is the class; x3 and x4 are noise."""
    X = np.random.default_rng(seed).standard_normal((n, 5))
    return X, (np.where(X[:, 2] > 0, X[:, 0], X[:, 1]) > 0).astype(int)


def fit_switched(iterations):
    X, y = switched()
    params = {"k": 4, "exploration": iterations // 5, "batch_size": 300, "hidden": 40, "learning_rate": 5e-3}
    return REGISTRY["suwr"](penalty=0.2, iterations=iterations, random_state=0, **params).fit(X, y)


def test_no_leakage():
    """Source: the paper's theorem. Rows that agree in what one of them shows are shown alike, whatever they hide."""
    X, _ = switched(300, seed=1)
    fitted = fit_switched(60)
    masks = fitted.select(X)
    other = np.where(masks, X, np.random.default_rng(2).standard_normal(X.shape))
    np.testing.assert_array_equal(fitted.select(other), masks)


@pytest.mark.slow
def test_finds_the_switch_and_what_it_calls_for():
    X, y = switched(1000, seed=1)
    fitted = fit_switched(1500)
    masks = fitted.select(X)
    assert fitted.score(X, y) > 0.85
    assert masks[:, :3].mean() > 2 * masks[:, 3:].mean()
    assert masks.sum(axis=1).mean() < 4


def test_stop_chances_sum_to_one():
    logits = torch.randn(6, 4, generator=seeded())
    chances = stop_chances(logits)
    torch.testing.assert_close(chances.sum(0), torch.ones(4))
    torch.testing.assert_close(chances[0], torch.sigmoid(logits[0]))
    torch.testing.assert_close(chances[1], torch.sigmoid(logits[1]) * torch.sigmoid(-logits[0]))
