"""LIME and SHAP over boosted trees: they find what a transparent function uses."""

import numpy as np
import pytest

from sklar.datasets import make_synthetic
from sklar.paper.baselines import REGISTRY

PARAMS = {
    "lime": {"n_perturbations": 200},
    "shap": {"n_permutations": 2, "n_background": 20},
}


@pytest.fixture(params=["lime", "shap"])
def baseline(request):
    pytest.importorskip(request.param, reason="the extra [baselines] is not installed")
    X = np.random.default_rng(0).standard_normal((1000, 6))
    return REGISTRY[request.param](n_trees=60, random_state=0, **PARAMS[request.param]).fit(
        X, 3 * X[:, 1] - 2 * X[:, 4]
    )


def test_finds_the_terms_of_a_sum(baseline):
    X = np.array([[0.1, 2.0, -0.1, 0.2, -2.0, 0.1], [0.3, -2.0, 0.1, 0.0, 2.0, 0.2]])
    assert (np.flatnonzero(baseline.select(X, k=2)[0]) == [1, 4]).all()
    assert (baseline.select(X) == baseline.select(X, k=2)).all()  # by its own rule: more than the row's mean
    assert (baseline.scores(X) >= 0).all()


def test_the_trees_see_all_features(baseline):
    X = np.random.default_rng(1).standard_normal((200, 6))
    assert baseline.score(X, 3 * X[:, 1] - 2 * X[:, 4]) > 0.9


def test_what_is_explained_is_right_where_many_columns_are_noise():
    """Syn2 with 100 features: P(class) is known, and its best guess is right for 84% of the rows."""
    X, y, _ = make_synthetic("syn2", 5000, 100, random_state=0)
    unseen, target, _ = make_synthetic("syn2", 5000, 100, random_state=1)
    pytest.importorskip("lime", reason="the extra [baselines] is not installed")
    assert REGISTRY["lime"](random_state=0).fit(X, y).score(unseen, target) > 0.78
