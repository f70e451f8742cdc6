"""LIME: the weights of a row are those of its own surroundings."""

import numpy as np
import pytest

from sklar.paper.baselines import REGISTRY

pytest.importorskip("lime", reason="the extra [baselines] is not installed")


@pytest.fixture(scope="module")
def lime():
    """Of a predictor that reads x2 and x3 alone, with opposite signs."""
    X = np.random.default_rng(0).standard_normal((300, 4))
    return REGISTRY["lime"](n_perturbations=100, random_state=0).fit(X, 3 * X[:, 1] - 3 * X[:, 2])


def test_weights_have_the_signs_of_the_function(lime):
    explainer = lime._explainer(0)
    weights = lime._explain(explainer, np.array([0.0, 1.5, 1.5, 0.0]), 0)
    assert weights.shape == (4,)
    assert weights[1] > 0 > weights[2]
    assert np.abs(weights[[0, 3]]).max() < min(weights[1], -weights[2])


def test_a_row_is_explained_alike_whatever_rows_come_before_it(lime):
    X = np.random.default_rng(1).standard_normal((3, 4))
    np.testing.assert_array_equal(lime.scores(X)[2:], lime.scores(X[2:]))
