"""What predictors of the user's learn from."""

import numpy as np
import pytest

from sklar.predictor.lesson import Lesson, taught_rows
from sklar.table.schema import Schema, read_training_table
from sklar.target import encode_classes, encode_numbers


def lesson_of(encoded, n=40):
    X = np.random.default_rng(0).standard_normal((n, 5))
    schema = Schema.of(read_training_table(X, np.arange(n), None, "test"), {})
    return Lesson.of(schema, schema.training_inputs(X), encoded)


def test_targets_of_every_kind():
    y = np.arange(40) % 3
    classes = lesson_of(encode_classes(np.array(list("abc"))[y], None, None))
    assert (classes.n_models, classes.n_classes) == (1, 3)
    np.testing.assert_array_equal(classes.target(np.arange(40), 0), y)
    labels = lesson_of(encode_classes(np.column_stack([y > 0, y > 1]).astype(int), None, None))
    assert (labels.n_models, labels.n_classes) == (2, 1)
    np.testing.assert_array_equal(labels.target(np.arange(40), 1), y > 1)
    values = lesson_of(encode_numbers(y * 1.0, "squared", np.arange(40.0)))
    assert values.target(np.arange(40), 0) == pytest.approx((y - y.mean()) / y.std())
    np.testing.assert_array_equal(values.weights(np.array([3, 5]))["sample_weight"], [3, 5])


def test_no_class_is_lacking():
    y = np.zeros(40, dtype=int)
    y[7] = 1
    lesson = lesson_of(encode_classes(y, None, None))
    assert list(lesson.with_all_classes(np.arange(40) != 7, 0)) == [i for i in range(40) if i != 7] + [7]
    assert len(lesson.with_all_classes(np.arange(40) < 10, 0)) == 10


def test_every_row_is_taught_as_often_and_of_very_many_some_once(monkeypatch):
    lesson, rng = lesson_of(encode_numbers(np.arange(40.0), "squared", None)), np.random.default_rng(0)
    assert set(np.bincount(taught_rows(np.arange(40), lesson, 60_000, rng))) == {16}
    assert set(np.bincount(taught_rows(np.arange(40), lesson, 200, rng))) == {5}
    assert set(np.bincount(taught_rows(np.arange(40), lesson, 1, rng))) == {2}
    monkeypatch.setattr("sklar.predictor.lesson.MOST_ENTRIES", 50)
    some = taught_rows(np.arange(40), lesson, 60_000, rng)
    assert len(set(some)) == len(some) == 10
