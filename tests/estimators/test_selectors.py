"""Selectors: as many features as each row needs."""

import numpy as np
import pytest

import sklar
from tests.helpers import quick, toy_rows, toy_target

SELECTORS = [sklar.CopulaSelectorClassifier, sklar.CopulaSelectorRegressor]


@pytest.mark.parametrize("selector", SELECTORS)
def test_min_features_must_fit_the_table_and_are_given(selector):
    X, value = toy_rows(60, 3)
    y = toy_target(selector, value)
    with pytest.raises(ValueError, match="min_features must be at most the number of features; got 4 for 3"):
        quick(selector, min_features=4).fit(X, y)
    assert (quick(selector, min_features=2, penalty=10.0).fit(X, y).select(X).sum(axis=1) >= 2).all()


@pytest.mark.parametrize("selector", SELECTORS)
def test_probabilities_above_one_half_are_selected(selector):
    X, value = toy_rows(60)
    model = quick(selector).fit(X, toy_target(selector, value))
    np.testing.assert_array_equal(model.select(X), model.selection_proba(X) > 0.5)


def test_a_price_can_keep_a_feature_out():
    X, value = toy_rows(300)
    model = quick(sklar.CopulaSelectorRegressor, max_epochs=60, costs={0: 1e3}, penalty=0.05).fit(X, value)
    assert not model.select(X)[:, 0].any()
