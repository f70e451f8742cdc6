"""SHAP: its values add up, and the package's use of the global generator leaves no trace."""

import numpy as np
import pytest

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.shap import numpy_seed


def test_shapley_values_add_up():
    """The efficiency axiom: the values sum to the answer less the mean answer over the background."""
    pytest.importorskip("shap", reason="the extra [baselines] is not installed")
    X = np.random.default_rng(0).standard_normal((300, 4))
    baseline = REGISTRY["shap"](n_permutations=2, random_state=0).fit(X, X[:, 0] * X[:, 1])
    row = baseline.scaling_.apply(X[:1])
    values = baseline._explain(baseline._explainer(0), row[0], 0)
    answer = baseline._black_box(row)[0, 0] - baseline._black_box(baseline.background_)[:, 0].mean()
    assert values.sum() == pytest.approx(answer, abs=1e-9)


def test_the_global_generator_is_seeded_inside_and_put_back(global_seeds_untouched):
    draws = []
    for _ in range(2):
        with numpy_seed(3):
            draws.append(np.random.random(4))  # noqa: NPY002
    np.testing.assert_array_equal(*draws)


def test_it_is_put_back_after_an_error_too(global_seeds_untouched):
    def fail():
        with numpy_seed(3):
            np.random.random()  # noqa: NPY002
            raise KeyError

    with pytest.raises(KeyError):
        fail()
