"""What bad input gets in Python: a ValueError or TypeError that names the parameter or column, and nothing lost.

The bad constructor values are made from the table that validates them.
"""

from numbers import Integral

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import sklar
from sklar.params import Interval, StrOptions
from tests.helpers import four, quick, toy_rows, toy_target

# Constructor words.


def bad_values(constraints):
    """Values outside all of a parameter's declared constraints."""
    yield object()
    if list in constraints or dict in constraints:  # columns: their own tests are in test_gating.py
        yield from (1.5, "a word nobody knows")
        return
    yield []
    if "random_state" in constraints:
        yield from (-1, "seed", 0.5)
        return
    if "verbose" in constraints:
        yield from (-1, "loud")
        return
    yield "a word nobody knows"
    if None not in constraints:
        yield None
    for rule in constraints:
        if isinstance(rule, Interval):
            yield from (float("nan"), float("inf"), -float("inf"))
            if rule.left is not None:
                yield rule.left - 1
                if rule.closed in ("neither", "right"):
                    yield rule.left
            if rule.right is not None:
                yield rule.right + 1
                if rule.closed in ("neither", "left"):
                    yield rule.right
            if rule.type is Integral:
                yield rule.left + 0.5
        elif isinstance(rule, StrOptions) and len(constraints) == 1:
            yield 1


def bad_words():
    for name in ("CopulaSelectorRegressor", "CopulaRankerRegressor", "CopulaSelectorClassifier"):
        cls = getattr(sklar, name)
        for word, constraints in cls._parameter_constraints.items():
            for value in bad_values(constraints):
                yield pytest.param(cls, word, value, id=f"{name[6:]}-{word}-{str(value)[:12]}")


@pytest.mark.parametrize(("cls", "word", "value"), list(bad_words()))
def test_a_bad_word_is_named(cls, word, value):
    X, target = toy_rows(10)
    with pytest.raises((ValueError, TypeError), match=word):
        quick(cls, **{word: value}).fit(X, toy_target(cls, target))


def test_the_declared_table_is_the_constructors(cls):
    assert set(cls._parameter_constraints) == set(cls().get_params())


def test_defaults_are_valid(cls):
    assert cls()._validate_params() is None  # it raises where a default is not


@pytest.mark.parametrize("value", [-1.0, float("nan"), "cheap", None])
def test_a_negative_nan_or_unknown_penalty(value):
    X, target = toy_rows(10)
    with pytest.raises(ValueError, match="'penalty' parameter"):
        quick(sklar.CopulaSelectorRegressor, penalty=value).fit(X, target)


@pytest.mark.parametrize("name", ["CopulaRankerClassifier", "CopulaRankerRegressor"])
def test_k_above_the_number_of_features(name):
    X, value = toy_rows(10)
    cls = getattr(sklar, name)
    with pytest.raises(ValueError, match="k must be at most the number of features; got k=6 for 5 features"):
        quick(cls, k=6).fit(X, toy_target(cls, value))


def test_an_unknown_constructor_word():
    for cls in four():
        with pytest.raises(TypeError, match="penality"):
            cls(penality=1)


def test_cuda_where_there_is_none(cls, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    X, value = toy_rows(10)
    with pytest.raises(ValueError, match="device='cuda'"):
        quick(cls, device="cuda").fit(X, toy_target(cls, value))


# Tables and targets.


def with_value(value):
    X = toy_rows(10)[0]
    X[4, 2] = value
    return X


BAD_TABLES = {
    "infinity": (with_value(np.inf), r"column 'x2' contains infinity"),
    "minus infinity": (with_value(-np.inf), r"column 'x2' contains infinity"),
    "too large to square": (with_value(1e200), "column 'x2' has values too large to square"),
    "one row": (toy_rows(1)[0], r"1 sample\(s\)"),
    "no rows": (np.zeros((0, 3)), r"0 sample\(s\)"),
    "no columns": (np.zeros((10, 0)), r"0 feature\(s\)"),
    "one axis": (np.zeros(10), "Expected 2D array"),
    "three axes": (np.zeros((10, 2, 2)), "dim 3"),
    "columns of nothing": (np.full((10, 2), np.nan), "every column is forbidden, or without any value"),
    "None": (None, "Expected 2D array|NoneType"),
    "complex": (np.ones((10, 2)) * 1j, "column .x0.: Complex data not supported; give real and imaginary parts"),
}


# What a model that was fitted on five columns of numbers cannot answer.
BAD_ROWS = {
    "text": (np.full((10, 5), "a"), "column 'x0' held numbers in fit, and holds text here: 'a'"),
    **{case: BAD_TABLES[case] for case in ("infinity", "no rows", "one axis")},
}


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.filterwarnings("ignore:no row has a value in column")
def test_bad_tables_at_fit(cls, case):
    X, says = BAD_TABLES[case]
    y = np.arange(10 if X is None else len(X)) % 2
    with pytest.raises((ValueError, TypeError), match=says):
        quick(cls).fit(X, y)


def test_a_frames_own_column_name_is_given(cls):
    frame = pd.DataFrame(with_value(np.inf), columns=["a", "b", "age", "d", "e"])
    with pytest.raises(ValueError, match="column 'age' contains infinity"):
        quick(cls).fit(frame, np.arange(10) % 2)


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([0, 1, 0], "inconsistent numbers of samples"),
        (None, "requires y"),
        (np.zeros((10, 2, 2)), r"1d array|dim 3"),
        ([[0, 1], [0, np.nan]] * 5, "y contains NaN"),
        ([np.nan, *[0, 1, 0] * 3], "y contains NaN"),
        ([np.inf, *[0, 1, 0] * 3], "y contains infinity"),
    ],
)
def test_bad_targets(cls, y, says):
    with pytest.raises(ValueError, match=says):
        quick(cls).fit(toy_rows(10)[0], y)


def test_one_class():
    for cls in (sklar.CopulaSelectorClassifier, sklar.CopulaRankerClassifier):
        with pytest.raises(ValueError, match="at least 2 classes; got 1 class"):
            quick(cls).fit(toy_rows(10)[0], ["yes"] * 10)


def test_numbers_as_classes():
    for cls in (sklar.CopulaSelectorClassifier, sklar.CopulaRankerClassifier):
        with pytest.raises(ValueError, match="Unknown label type"):
            quick(cls).fit(*toy_rows(10))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_target_too_large_to_square():
    X, _ = toy_rows(10)
    with pytest.raises(ValueError, match="y has values too large"):
        quick(sklar.CopulaSelectorRegressor).fit(X, np.linspace(-1e200, 1e200, 10))


# Answers.

ANSWERS = ("select", "selection_proba", "sample_masks", "transform", "predict", "correlation")


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_unfitted_model(cls, answer):
    with pytest.raises(NotFittedError, match=cls.__name__):
        getattr(cls(), answer)(toy_rows(10)[0])


def test_an_unfitted_ranker_does_not_rank():
    with pytest.raises(NotFittedError):
        sklar.CopulaRankerClassifier().rank(toy_rows(10)[0])


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_tables_at_every_answer(fitted, answer, case):
    X, says = BAD_ROWS[case]
    with pytest.raises(ValueError, match=says):
        getattr(fitted, answer)(X)


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_wrong_number_of_columns(fitted, answer):
    with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5"):
        getattr(fitted, answer)(toy_rows(10, 4)[0])


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("columns", [["b", "a", "c", "d", "e"], ["a", "b", "c", "d", "z"], ["a", "b", "c", "d"]])
def test_mismatched_columns(cls, answer, columns):
    X, value = toy_rows(60)
    model = quick(cls, max_epochs=1).fit(pd.DataFrame(X, columns=list("abcde")), toy_target(cls, value))
    with pytest.raises(ValueError, match="feature names"):
        getattr(model, answer)(pd.DataFrame(X[:, : len(columns)], columns=columns))


def test_a_failed_fit_leaves_a_fitted_model_able_to_answer(cls):
    X, value = toy_rows(60)
    model = quick(cls).fit(X, toy_target(cls, value))
    before = model.select(X)
    with pytest.raises(ValueError, match="contains infinity"):
        model.fit(with_value(np.inf), np.arange(10) % 2)
    np.testing.assert_array_equal(model.select(X), before)


def test_keeping_all_rows_aside_is_refused():
    with pytest.raises(ValueError, match="validation_fraction"):
        quick(sklar.CopulaSelectorRegressor, validation_fraction=0.999).fit(*toy_rows(60))


def test_a_word_set_after_fit_waits_for_the_next_fit():
    X, value = toy_rows(60)
    model = quick(sklar.CopulaRankerRegressor, k=2).fit(X, value).set_params(k=4)
    assert model.rank(X).shape[1] == model.select(X).sum(axis=1)[0] == 2


@pytest.mark.parametrize("n_draws", [-1, 1.5, "many"])
def test_a_bad_number_of_draws_is_named(fitted, n_draws):
    with pytest.raises((ValueError, TypeError), match="n_draws"):
        fitted.sample_masks(toy_rows(3)[0], n_draws)
