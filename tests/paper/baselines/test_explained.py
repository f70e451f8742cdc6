"""LIME and SHAP over our predictor: they find what a transparent function uses."""

import numpy as np
import pytest

from sklar.paper.baselines import REGISTRY

PARAMS = {
    "lime": {"n_perturbations": 200},
    "shap": {"n_permutations": 2, "n_background": 20},
}


@pytest.fixture(params=["lime", "shap"])
def baseline(request):
    pytest.importorskip(request.param, reason="the extra [baselines] is not installed")
    X = np.random.default_rng(0).standard_normal((1000, 6))
    params = {"iterations": 300, "batch_size": 200, "predictor_hidden": 40, "random_state": 0}
    return REGISTRY[request.param](**params, **PARAMS[request.param]).fit(X, 3 * X[:, 1] - 2 * X[:, 4])


def test_finds_the_terms_of_a_sum(baseline):
    X = np.array([[0.1, 2.0, -0.1, 0.2, -2.0, 0.1], [0.3, -2.0, 0.1, 0.0, 2.0, 0.2]])
    assert (np.flatnonzero(baseline.select(X, k=2)[0]) == [1, 4]).all()
    assert (baseline.select(X) == baseline.select(X, k=2)).all()  # by its own rule: more than the row's mean
    assert (baseline.scores(X) >= 0).all()


def test_predictor_sees_all_features(baseline):
    X = np.random.default_rng(1).standard_normal((200, 6))
    assert baseline.score(X, 3 * X[:, 1] - 2 * X[:, 4]) > 0.9


def test_the_background_is_of_training_rows_and_fixed_by_the_seed():
    X = np.random.default_rng(0).standard_normal((60, 3))
    params = {"iterations": 2, "batch_size": 20, "predictor_hidden": 4}
    first, again, other = (
        REGISTRY["gradient-shap"](**params, n_background=7, random_state=seed).fit(X, X[:, 0]) for seed in (0, 0, 1)
    )
    rows = {tuple(row) for row in first.scaling_.apply(X)}
    assert len(first.background_) == 7
    assert {tuple(row) for row in first.background_} <= rows
    np.testing.assert_array_equal(first.background_, again.background_)
    assert not np.array_equal(first.background_, other.background_)
    all_rows = REGISTRY["gradient-shap"](**params, n_background=100, random_state=0).fit(X, X[:, 0])
    assert len(all_rows.background_) == 60
