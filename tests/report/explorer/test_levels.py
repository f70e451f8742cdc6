"""The page's model at every price: what the estimator says there."""

import numpy as np
import pytest

import sklar
from sklar.report.explorer.facts import collect
from sklar.report.explorer.levels import MOST_LEVELS, asked_at
from tests.helpers import quick, toy_rows
from tests.report.explorer.test_facts import chosen, states


def test_masks_and_numbers_are_those_of_select_at_each_price(priced):
    model, X, value = priced
    told = collect(model.fitted_, X, value, max_rows=40, audit=None)
    assert len(told["levels"]) == MOST_LEVELS
    rows = [int(label) for label in told["rows"]["label"]]
    shown = [column["feature"] for column in told["columns"]]
    for level, (penalty, _) in zip(told["levels"], asked_at(model.fitted_), strict=True):
        masks = np.asarray(model.select(X, penalty=penalty))
        assert level["value"] == pytest.approx(penalty, rel=1e-3)
        assert level["sizes"]["mean"] == pytest.approx(masks.sum(axis=1).mean())
        np.testing.assert_array_equal((states(told, level) & 1) > 0, masks[rows][:, shown])
        np.testing.assert_allclose(level["prediction"], model.predict(X, penalty=penalty)[rows], rtol=1e-3)
        assert sum(rule["share"] for rule in level["rules"]) == pytest.approx(1)
    assert chosen(told)["value"] == pytest.approx(model.penalty_, rel=1e-3)


def test_a_given_penalty_is_one_level_and_forced_features_leave_fewer_counts():
    X, value = toy_rows(60)
    given = quick(sklar.CopulaSelectorRegressor, penalty=0.1).fit(X, value).fitted_
    assert [price for price, _ in asked_at(given)] == [0.1]
    ranker = quick(sklar.CopulaRankerRegressor, k=4, forced=[0, 1]).fit(X, value).fitted_
    assert [k for k, _ in asked_at(ranker)] == [2, 3, 4]
