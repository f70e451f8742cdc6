"""The fitted model: what the estimators forward to, asked directly."""

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.fitted import FittedModel
from tests.helpers import quick, toy_rows, toy_target


def test_it_says_what_the_estimator_says(fitted):
    X, _ = toy_rows()
    model: FittedModel = fitted.fitted_
    rows = model.read(X)
    np.testing.assert_array_equal(model.masks(rows), fitted.select(X))
    np.testing.assert_array_equal(model.predictions(rows), fitted.predict(X))
    np.testing.assert_array_equal(model.selection_proba(rows), fitted.selection_proba(X))
    np.testing.assert_array_equal(model.correlation(rows), fitted.correlation(X))
    assert (model.name, model.penalty, model.n_models) == (type(fitted).__name__, fitted.penalty_, fitted.n_models_)
    assert (model.k is None) == ("Selector" in model.name)


def test_scores_decide_the_mask_and_columns_not_read_have_none():
    X, value = toy_rows()
    model = quick(sklar.CopulaSelectorRegressor, forbidden=[1]).fit(X, value).fitted_
    rows = model.read(X)
    scores = model.scores(rows)
    assert (scores[:, 1] == -np.inf).all()
    np.testing.assert_array_equal(scores > 0, model.masks(rows))


def test_columns_of_a_group_share_their_score_and_their_correlation():
    X, value = toy_rows()
    model = quick(sklar.CopulaSelectorRegressor, groups=[[0, 3]]).fit(X, value).fitted_
    scores = model.scores(model.read(X))
    np.testing.assert_array_equal(scores[:, 0], scores[:, 3])
    assert model.correlation(model.read(X))[0, 3] == pytest.approx(1)
    assert model.schema.first_columns.tolist() == [0, 1, 2, 4]


def test_joint_training_has_no_correlation_without_rows():
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor, objective="joint").fit(X, value).fitted_
    with pytest.raises(ValueError, match="pass X"):
        model.correlation()


def test_a_device_can_be_changed_and_nothing_else(fitted):
    model = fitted.fitted_
    assert model.on(model.device) is model
    moved = model.on("cpu")
    assert moved.device == "cpu"
    assert moved.network is model.network


class StopError(Exception):
    """Raised in the middle of a fit."""


@pytest.mark.parametrize("error", [StopError, KeyboardInterrupt])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(cls, error, monkeypatch):
    X, value = toy_rows(60)
    model = quick(cls).fit(pd.DataFrame(X, columns=list("abcde")), toy_target(cls, value))
    before = dict(vars(model))

    def stop(*args, **kwargs):
        raise error

    monkeypatch.setattr(FittedModel, "__init__", stop)
    with pytest.raises(error):
        model.fit(np.c_[X, X], toy_target(cls, 1e6 * value + 5))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_names_of_an_earlier_fit_do_not_stay(cls):
    X, value = toy_rows(60)
    model = quick(cls, max_epochs=1).fit(pd.DataFrame(X, columns=list("abcde")), toy_target(cls, value))
    assert model.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(model.fit(X, toy_target(cls, value)), "feature_names_in_")
