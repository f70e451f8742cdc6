"""What classifiers and regressors predict, and how their scores are taken."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score

import sklar
from sklar.metrics import concordance
from tests.helpers import quick, toy_rows


def test_scikit_learn_knows_which_is_which(cls):
    assert is_classifier(cls()) == ("Classifier" in cls.__name__)
    assert is_regressor(cls()) == ("Regressor" in cls.__name__)
    assert hasattr(cls, "predict_proba") == ("Classifier" in cls.__name__)


def test_scores_are_of_the_task():
    X, value = toy_rows(100)
    model = quick(sklar.CopulaSelectorClassifier).fit(X, value > 0)
    assert model.score(X, value > 0) == accuracy_score(value > 0, model.predict(X))
    model = quick(sklar.CopulaSelectorRegressor).fit(X, value)
    assert model.score(X, value) == pytest.approx(r2_score(value, model.predict(X)))
    counts = np.round(np.exp(value / 2))
    model = quick(sklar.CopulaSelectorRegressor, loss="poisson").fit(X, counts)
    assert model.score(X, counts) == pytest.approx(d2_tweedie_score(counts, model.predict(X), power=1))
    times = np.empty(100, dtype=[("seen", bool), ("days", float)])
    times["seen"], times["days"] = np.arange(100) % 3 > 0, np.exp(-value)
    model = quick(sklar.CopulaSelectorRegressor, loss="cox").fit(X, times)
    assert model.score(X, times) == concordance(times["days"], times["seen"], model.predict(X))
