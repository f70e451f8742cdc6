"""Deterministic answers, row by row, in bounded memory; and the law of the draws.

False alarms: see tests/helpers.py.
"""

import sys

import numpy as np
import pytest
import torch
from scipy import stats
from torch.utils._python_dispatch import TorchDispatchMode

import sklar
from sklar.model import row_blocks
from tests.helpers import COVARIANCES, PEAK, assert_plausible, four, quick, run_python, toy_rows, toy_target

MASKS = ("select", "transform")


def answers(model, X):
    """Every deterministic answer: exact ones, and numbers."""
    exact = {name: getattr(model, name)(X) for name in MASKS}
    if hasattr(model, "k"):
        exact["rank"] = model.rank(X)
    numbers = {"selection_proba": model.selection_proba(X)}
    if hasattr(model, "predict_proba"):
        exact["predict"] = model.predict(X)
        numbers["predict_proba"] = model.predict_proba(X)
    else:
        numbers["predict"] = model.predict(X)
    return exact, numbers


def assert_rows_equal(one, other, rows):
    """`one` answered about rows of what `other` answered about."""
    for name, values in one[0].items():
        np.testing.assert_array_equal(values, other[0][name][rows], err_msg=name)
    for name, values in one[1].items():
        np.testing.assert_allclose(values, other[1][name][rows], rtol=0, atol=1e-12, err_msg=name)


@pytest.fixture(params=COVARIANCES)
def model(request, cls):
    X, value = toy_rows()
    return quick(cls, covariance=request.param).fit(X, toy_target(cls, value))


def test_answers_are_deterministic(model):
    X, _ = toy_rows(seed=5)
    assert_rows_equal(answers(model, X), answers(model, X), slice(None))


def test_a_rows_answer_does_not_depend_on_the_other_rows(model, monkeypatch):
    X, _ = toy_rows(40, seed=6)
    whole = answers(model, X)
    for i in (0, 21, 39):
        assert_rows_equal(answers(model, X[i : i + 1]), whole, slice(i, i + 1))
    order = np.random.default_rng(0).permutation(40)
    assert_rows_equal(answers(model, X[order]), whole, order)
    assert_rows_equal(answers(model, X[7:29]), whole, slice(7, 29))
    assert_rows_equal(answers(model, np.repeat(X[3:4], 50, axis=0)), whole, [3] * 50)
    monkeypatch.setattr(row_blocks, "BLOCK_ENTRIES", 160)  # ten rows at a time, at most
    assert_rows_equal(answers(model, X), whole, slice(None))


def test_select_is_where_a_selectors_probability_exceeds_one_half(model):
    X, _ = toy_rows(seed=7)
    if "Selector" in type(model).__name__:
        np.testing.assert_array_equal(model.select(X), model.selection_proba(X) > 0.5)
    else:
        assert (model.select(X).sum(axis=1) == 2).all()


# The draws.


def test_sample_masks_follow_the_selection_probabilities(model):
    """Selectors: the exact binomial law. Rankers: 256 draws of their own against 2,000, by Fisher's exact test."""
    X, n = toy_rows(3, seed=8)[0], 2_000
    drawn = model.sample_masks(X, n, random_state=0)
    assert drawn.shape == (n, 3, 5)
    assert drawn.dtype == bool
    counts, expected = drawn.sum(axis=0).ravel(), model.selection_proba(X).ravel()
    if "Selector" in type(model).__name__:
        assert_plausible([stats.binomtest(int(c), n, p).pvalue for c, p in zip(counts, expected, strict=True)])
        return
    assert (drawn.sum(axis=-1) == 2).all()
    np.testing.assert_allclose(model.selection_proba(X).sum(axis=1), 2)
    tables = [[[c, n - c], [round(256 * p), 256 - round(256 * p)]] for c, p in zip(counts, expected, strict=True)]
    assert_plausible([stats.fisher_exact(table).pvalue for table in tables])


def test_sample_masks_of_different_rows_are_independent():
    X, value = toy_rows()
    model = quick(sklar.CopulaSelectorRegressor).fit(X, value)
    drawn = model.sample_masks(np.repeat(X[:1], 2, axis=0), 4_000, random_state=1)
    both = [np.bincount(2 * drawn[:, 0, i] + drawn[:, 1, i], minlength=4).reshape(2, 2) for i in range(5)]
    assert_plausible([stats.fisher_exact(table).pvalue for table in both])


def test_sample_masks_are_fixed_by_their_random_state(model):
    X, _ = toy_rows(20, seed=9)
    first, second, other = (model.sample_masks(X, 3, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert model.sample_masks(X).shape == (1, 20, 5)


def test_gates_of_a_row_are_drawn_with_the_correlation_that_is_reported():
    """Pairs of gates against the orthants of the bivariate normal, with R from `correlation` of that row."""
    from tests.model.test_binary_mask import joint_shares

    X, value = toy_rows(300)
    words = {"covariance": "low-rank", "n_factors": 2, "max_epochs": 5, "random_state": 1}
    model = quick(sklar.CopulaSelectorRegressor, **words).fit(X, value)
    row, n = X[:1], 6_000
    correlation, scores = model.correlation(row), stats.logistic.ppf(model.selection_proba(row)[0])
    drawn = model.sample_masks(row, n, random_state=2)[:, 0]
    p_values = []
    for i in range(5):
        for j in range(i):
            counts = np.bincount(2 * drawn[:, i] + drawn[:, j], minlength=4)
            shares = joint_shares(scores[[i, j]], correlation[i, j])
            p_values += [stats.binomtest(int(c), n, p).pvalue for c, p in zip(counts, shares, strict=True)]
    assert_plausible(p_values)


def test_correlation_is_the_mean_over_rows_and_a_correlation(model):
    X, _ = toy_rows(8, seed=10)
    each = np.stack([model.correlation(X[i : i + 1]) for i in range(8)])
    mean = model.correlation(X)
    np.testing.assert_allclose(mean, each.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(np.diag(mean), 1, atol=1e-12)
    assert np.linalg.eigvalsh(mean).min() > -1e-12
    if model.covariance == "independent":
        np.testing.assert_allclose(mean, np.eye(5), atol=1e-12)


# Memory.


class LargestTensor(TorchDispatchMode):
    """Remembers the most entries that any operation's result had."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and not func.is_view:
            self.entries = max(self.entries, result.numel())
        return result


def every_answer():
    for cls in four():
        for answer in ("select", "selection_proba", "transform", "predict", "correlation", "sample_masks"):
            yield cls, answer
        if "Ranker" in cls.__name__:
            yield cls, "rank"


@pytest.mark.parametrize(("cls", "answer"), list(every_answer()))
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_no_answer_makes_a_tensor_beyond_the_bound(cls, covariance, answer, monkeypatch):
    X, value = toy_rows(400, 10)
    model = quick(cls, covariance=covariance, max_epochs=1).fit(X, toy_target(cls, value))
    monkeypatch.setattr(row_blocks, "BLOCK_ENTRIES", 2**11)
    with LargestTensor() as largest:
        getattr(model, answer)(X)
    assert 0 < largest.entries <= 2**11


def peak_growth(n, answers, width=12):
    """MiB that the peak grows by while a model answers about n x 100 float32 rows, beyond rows and answers."""
    code = f"""{PEAK}
import numpy as np
from tests.helpers import quick
import sklar
rng = np.random.default_rng(0)
X = rng.standard_normal((500, 100))
model = quick(sklar.CopulaRankerClassifier, k=5, choice_hidden={width}, n_factors=8).fit(X, X[:, 0] > 0)
model.select(X), model.transform(X)
rows = rng.standard_normal(({n}, 100), dtype=np.float32)
before = peak()
for name in {answers!r}:
    getattr(model, name)(rows)
print(peak() - before, peak())
"""
    return map(float, run_python(code).split())


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")


@linux
def test_three_hundred_thousand_rows_need_little_more_than_their_answer():
    growth, _ = peak_growth(300_000, ["select", "transform"])  # the widest answer: 115 MiB, and its mask
    assert growth < 350


@linux
@pytest.mark.slow
def test_a_million_rows_of_a_hundred_features_fit_into_two_gib():
    _, peak = peak_growth(1_000_000, ["select", "predict", "transform", "rank"], 100)
    assert peak < 2048


# Odd tables.


def test_one_feature(cls):
    X, value = toy_rows(80, 1)
    words = {} if "Selector" in cls.__name__ else {"k": 1}
    for covariance in COVARIANCES:
        model = quick(cls, covariance=covariance, **words).fit(X, toy_target(cls, value))
        assert model.select(X).shape == (80, 1)
        assert model.predict(X).shape == (80,)
        np.testing.assert_allclose(model.correlation(X), [[1.0]])


def test_constant_and_duplicate_columns_work(cls):
    X, value = toy_rows()
    X = np.hstack([X, X[:, :2], np.full((120, 1), 7.0), np.zeros((120, 1)), np.full((120, 1), 1e30)])
    for covariance in COVARIANCES:
        model = quick(cls, covariance=covariance).fit(X, toy_target(cls, value))
        assert np.isfinite(model.selection_proba(X)).all()
        assert np.isfinite([record["loss"] for record in model.history_]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_values_of_any_size_work_and_do_not_matter(cls, scale, dtype):
    X, value = toy_rows()
    y = toy_target(cls, value)
    plain, scaled = quick(cls).fit(X, y), quick(cls).fit((X * scale).astype(dtype), y)
    if dtype is np.float64:
        np.testing.assert_array_equal(scaled.select(X * scale), plain.select(X))
    assert np.isfinite(scaled.selection_proba((X * scale).astype(dtype))).all()


def test_rows_far_outside_what_was_seen_get_an_answer(fitted):
    X = np.array([[1e30, -1e30, 0, 1e308, -1e308]])
    assert np.isfinite(fitted.selection_proba(X)).all()
    assert fitted.select(X).shape == (1, 5)
    fitted.predict(X)


@pytest.mark.parametrize("n", [2, 3, 49, 50, 51, 65, 129])
def test_any_number_of_rows_from_two(cls, n):
    X, value = toy_rows(n)
    y = toy_target(cls, value)
    if "Classifier" in cls.__name__:
        y[:2] = 0, 1
    model = quick(cls).fit(X, y)
    assert np.isfinite([record["loss"] for record in model.history_]).all()


def test_four_is_all_there_are():
    assert len(four()) == 4


def test_all_columns_by_one_deviation():
    X = np.random.default_rng(0).standard_normal((80, 3)) * [1.0, 0.01, 3.0]
    words = {"penalty": 0.01, "max_epochs": 1, "random_state": 0}
    spreads = [
        sklar.CopulaSelectorRegressor(scaling=how, **words).fit(X, X[:, 0]).fitted_.schema.encoding.scaling.spread
        for how in ("column", "global")
    ]
    assert len(set(spreads[0])) == 3
    assert len(set(spreads[1])) == 1
