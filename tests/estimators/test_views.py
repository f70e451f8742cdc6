"""Effects and rules through the estimators."""

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.effects import effects
from sklar.rules import rules
from tests.helpers import quick, toy_rows, toy_target


def test_they_are_those_of_the_fitted_model(fitted):
    X, _ = toy_rows()
    rows = fitted.fitted_.read(X)
    np.testing.assert_array_equal(fitted.effects(X), effects(fitted.fitted_, rows).values)
    assert fitted.rules(X) == rules(fitted.fitted_, rows)


def test_a_frame_gives_a_frame_and_a_label_its_class():
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = quick(sklar.CopulaRankerClassifier, k=2).fit(frame, np.where(value > 0, "yes", "no"))
    yes, no = (model.effects(frame, label) for label in ("yes", "no"))
    assert list(yes.columns) == list("abcde")
    np.testing.assert_allclose(yes, -no, atol=1e-12)
    assert ((model.effects(frame, k=1) != 0).sum(axis=1) <= 1).all()
    with pytest.raises(ValueError, match=r"one of the model's classes \(no, yes\); got 'maybe'"):
        model.effects(frame, "maybe")


def test_values_have_no_label():
    X, value = toy_rows(60)
    cls = sklar.CopulaSelectorRegressor
    with pytest.raises(ValueError, match="has no classes"):
        quick(cls).fit(X, toy_target(cls, value)).effects(X, 1)
