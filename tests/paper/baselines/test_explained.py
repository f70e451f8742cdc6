"""LIME and SHAP over our predictor: they find what a transparent function uses, and Shapley values add up."""

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


def test_shapley_values_add_up():
    """The efficiency axiom: the values sum to the answer less the mean answer over the background."""
    pytest.importorskip("shap", reason="the extra [baselines] is not installed")
    X = np.random.default_rng(0).standard_normal((300, 4))
    params = {"iterations": 200, "batch_size": 100, "predictor_hidden": 20, "n_permutations": 2, "random_state": 0}
    baseline = REGISTRY["shap"](**params).fit(X, X[:, 0] * X[:, 1])
    row = baseline.scaling_.apply(X[:1])
    values = baseline._explain(baseline._explainer(0), row[0], 0)
    answer = baseline._black_box(row)[0, 0] - baseline._black_box(baseline.background_)[:, 0].mean()
    assert values.sum() == pytest.approx(answer, abs=1e-9)
