"""Boosted trees of one's own, cross-fitted."""

import numpy as np
import pytest

from sklar.predictor import boosting
from sklar.predictor.boosting import Judged, boosted_trees, cross_fitted_trees
from sklar.target import encode_classes, encode_numbers
from tests.predictor.test_lesson import lesson_of


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch):
    monkeypatch.setattr(boosting, "ROUNDS_AT_ONCE", 5)
    monkeypatch.setattr(boosting, "MOST_ROUNDS", 20)


def judged(n, d=5):
    return Judged(np.arange(n), np.ones((n, d), dtype=bool))


def fitted(encoded, n, folds=None):
    folds = np.arange(n) % 3 if folds is None else folds
    masks = np.ones((n, 5), dtype=bool)
    return cross_fitted_trees(lesson_of(encoded, n), masks, judged(n), folds, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("kind", "loss"), [("classes", "log_loss"), ("values", "squared_error"), ("counts", "poisson")]
)
def test_the_loss_is_that_of_the_target(kind, loss):
    assert boosted_trees(kind, 0).loss == loss
    assert boosted_trees(kind, 0).early_stopping is False


def test_a_row_is_judged_by_trees_that_did_not_learn_from_it():
    """Noise as the target: out of fold nothing can be predicted, and boosting stops at once; in the sample much."""
    noise = np.random.default_rng(1).standard_normal(300)
    found = fitted(encode_numbers(noise, "squared", None), 300)
    assert np.corrcoef(found.outputs[:, 0], noise)[0, 1] < 0.3  # 5 standard errors of 0
    lesson = lesson_of(encode_numbers(noise, "squared", None), 300)
    inside = found.predictor.models[0].predict(lesson.values)
    assert np.corrcoef(inside, noise)[0, 1] > 0.4
    assert len(found.predictor.models[0].trees.root) <= 3 * 5


def test_a_trial_is_of_one_fold_that_its_trees_did_not_learn_from():
    noise = np.random.default_rng(1).standard_normal(300)
    lesson, masks = lesson_of(encode_numbers(noise, "squared", None), 300), np.ones((300, 5), dtype=bool)
    folds = np.arange(300) % 3
    mine, outputs = boosting.tried_trees(lesson, masks, judged(300), folds, np.random.default_rng(0))
    np.testing.assert_array_equal(mine, np.flatnonzero(folds == 0))
    assert outputs.shape == (100, 1)
    assert np.corrcoef(outputs[:, 0], noise[mine])[0, 1] < 0.5  # 5 standard errors of 0


def test_trees_of_a_fold_have_one_thread(monkeypatch):
    from threadpoolctl import threadpool_info

    threads = []

    class Watched(boosting.HistGradientBoostingRegressor):
        def fit(self, *given, **words):
            threads.extend(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "openmp")
            return super().fit(*given, **words)

    monkeypatch.setattr(boosting, "HistGradientBoostingRegressor", Watched)
    monkeypatch.setattr(boosting, "as_trees", lambda model, x: None)
    with pytest.raises(AssertionError):  # this class is none that trees are read from
        fitted(encode_numbers(np.arange(300.0), "squared", None), 300)
    assert threads
    assert set(threads) == {1}


def test_outputs_stand_in_the_order_of_the_judged_rows():
    X = np.random.default_rng(0).standard_normal((300, 5))  # those of the lesson
    found = fitted(encode_classes(np.digitize(X[:, 0], [-0.5, 0.5]), None, None), 300, np.arange(300) // 150)
    assert found.outputs.shape == (300, 3)
    assert (found.outputs.argmax(axis=1) == np.digitize(X[:, 0], [-0.5, 0.5])).mean() > 0.8


def test_labels_and_counts():
    X = np.random.default_rng(0).standard_normal((300, 5))
    labels = fitted(encode_classes(np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int), None, None), 300)
    assert ((labels.outputs > 0) == (X[:, :2] > 0)).mean() > 0.85
    rate = np.exp(X[:, 0])
    counts = fitted(encode_numbers(np.round(3 * rate), "poisson", None), 300)
    assert np.corrcoef(counts.outputs[:, 0], X[:, 0])[0, 1] > 0.85


def test_boosting_goes_on_while_it_helps():
    X = np.random.default_rng(0).standard_normal((300, 5))
    found = fitted(encode_numbers(X[:, 0], "squared", None), 300)
    assert len(found.predictor.models[0].trees.root) > 3 * 5
