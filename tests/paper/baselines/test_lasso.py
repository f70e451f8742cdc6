"""The lasso: a sparse linear support, and its known blindness to Syn1."""

import numpy as np
import pytest

from sklar.datasets import make_synthetic
from sklar.metrics import true_positive_rate
from sklar.paper.baselines import REGISTRY


@pytest.mark.parametrize("classes", [False, True])
def test_recovers_a_linear_support(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 20))
    value = 2 * X[:, 3] - 2 * X[:, 7] + X[:, 11] + 0.5 * rng.standard_normal(1000)
    baseline = REGISTRY["lasso"](random_state=0).fit(X, value > 0 if classes else value)
    assert set(np.flatnonzero(baseline.select(X, k=3)[0])) == {3, 7, 11}
    assert baseline.select(X)[0, [3, 7, 11]].all()
    assert baseline.score(X, value > 0 if classes else value) > 0.9


def test_ranks_what_it_left_out():
    """A coefficient of 0 scores at most 0, and the nearer the feature is to entering the higher."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 6))
    y = (2 * X[:, 5] + 0.3 * rng.standard_normal(400) > 0).astype(int)
    baseline = REGISTRY["lasso"](random_state=0).fit(X, y)
    scores, kept = baseline.scores(X)[0], baseline.select(X)[0]
    np.testing.assert_array_equal(kept, np.abs(baseline.linear_.coef_[0]) > 0)
    assert (scores[~kept] <= 0).all()
    assert len(np.unique(scores)) == 6


def test_sees_nothing_in_a_product():
    """Source: the LASSO row of Table 1 of the INVASE paper, Syn1: TPR 19. A product has no linear trace.

    Two features of eleven by chance hold a true one with mean share 2/11; both true ones with chance 1/55.
    """
    X, y, relevant = make_synthetic("syn1", n_samples=2000, random_state=0)
    masks = REGISTRY["lasso"](k=2, random_state=0).fit(X, y).select(X)
    assert true_positive_rate(relevant, masks) <= 50
