"""LSPIN and LLSPIN on the linear data of the authors' first demo: each group keeps its own three terms."""

import numpy as np
import pytest

from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY


def two_groups(n=600, seed=0):
    """Source: Demo1 of jcyang34/lspin. Around 1, y = -2 x1 + x2 - x3 / 2; around -1, y = -x3 / 2 + x4 - 2 x5."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.5
    X = np.where(first, 1, -1)[:, None] + 0.5 * rng.standard_normal((n, 5))
    terms = np.where(first[:, None], [-2, 1, -0.5, 0, 0], [0, 0, -0.5, 1, -2])
    return X, (X * terms).sum(axis=1), terms != 0


@pytest.mark.parametrize("name", ["llspin", pytest.param("lspin", marks=pytest.mark.slow)])
def test_each_group_keeps_its_terms(name):
    X, y, _ = two_groups()
    unseen, target, relevant = two_groups(seed=1)
    params = {"iterations": 1500, "batch_size": 200, "learning_rate": 5e-3, "selector_hidden": 30, "scale": False}
    fitted = REGISTRY[name](penalty=0.3, random_state=0, **params).fit(X, y)
    masks = fitted.select(unseen, k=3)
    assert fitted.score(unseen, target) > 0.9
    assert true_positive_rate(relevant, masks) > 75  # two large terms of three, and often the small one
    assert false_discovery_rate(relevant, masks) < 25


def test_llspin_is_linear_in_what_it_shows():
    X, y, _ = two_groups(200)
    params = {"iterations": 50, "batch_size": 100, "selector_hidden": 8, "scale": False}
    fitted = REGISTRY["llspin"](random_state=0, **params).fit(X, y)
    assert fitted.model_.predictor.weight.shape == (1, 5, 1)
