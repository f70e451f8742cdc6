"""Syn1-6 against formulas written out a second time. False alarms: see tests/helpers.py."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from tests.helpers import assert_plausible

N = 20_000


def product(x):
    return x[1] * x[2]


def squares(x, *features):
    return sum(x[i] ** 2 for i in features) - 4


def sine_of_the_paper(x):
    return -10 * np.sin(2 * x[7]) + 2 * abs(x[8]) + x[9] + np.exp(-x[10])


def sine_of_invase(x):
    return -10 * np.sin(0.2 * x[7]) + abs(x[8]) + x[9] + np.exp(-x[10]) - 2.4


def gamma_and_relevant(name, variant, x):
    """One row, features counted from 1: the text of DESIGN section 2 and of the paper, case by case."""
    sine = sine_of_the_paper if variant == "paper" else sine_of_invase
    four, low = (3, 4, 5, 6), x[11] < 0
    if name == "syn1":
        return product(x), {1, 2}
    if name == "syn2":
        return (squares(x, 1, 2, 3), {1, 2, 3}) if variant == "paper" else (squares(x, *four), set(four))
    if name == "syn3":
        return sine(x), {7, 8, 9, 10}
    if name == "syn4":
        return (product(x), {1, 2, 11}) if low else (squares(x, *four), {*four, 11})
    if name == "syn5":
        return (product(x), {1, 2, 11}) if low else (sine(x), {7, 8, 9, 10, 11})
    return (squares(x, *four), {*four, 11}) if low else (sine(x), {7, 8, 9, 10, 11})


@pytest.mark.parametrize("variant", ["paper", "invase"])
@pytest.mark.parametrize("name", SYNTHETIC_NAMES)
def test_relevant_features_and_label_law(name, variant):
    X, y, relevant = make_synthetic(name, N, variant=variant, random_state=0)
    truth = [gamma_and_relevant(name, variant, [None, *row]) for row in X]
    assert [set((np.flatnonzero(row) + 1).tolist()) for row in relevant] == [features for _, features in truth]
    p = expit(-np.array([gamma for gamma, _ in truth]))  # P(y = 1) = 1 / (1 + exp(gamma))
    groups = np.array_split(np.argsort(p), 10)  # a z-test in each tenth of the probabilities
    z = [(y[rows] - p[rows]).sum() / np.sqrt((p[rows] * (1 - p[rows])).sum()) for rows in groups]
    assert_plausible(2 * stats.norm.sf(np.abs(z)))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("d", [11, 30])
def test_columns_are_standard_normal_with_the_stated_correlation(correlation, d):
    X, _, _ = make_synthetic("syn1", N, d, correlation, random_state=1)
    assert X.shape == (N, d)
    assert_plausible([stats.kstest(X[:, j], "norm").pvalue for j in range(d)])
    expected = correlation ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    sample = np.corrcoef(X.T)
    upper = np.triu_indices(d, 1)
    z = (np.arctanh(sample[upper]) - np.arctanh(expected[upper])) * np.sqrt(N - 3)  # Fisher's transformation
    assert_plausible(2 * stats.norm.sf(np.abs(z)))


def test_extra_features_are_never_relevant():
    _, _, relevant = make_synthetic("syn6", 200, 40, random_state=0)
    assert not relevant[:, 11:].any()


def test_types_seeds_and_global_state(global_seeds_untouched):
    X, y, relevant = make_synthetic("Syn4", 50, random_state=3)
    assert (X.dtype, y.dtype, relevant.dtype) == (float, np.int64, bool)
    again = make_synthetic("syn4", 50, random_state=3)
    other = make_synthetic("syn4", 50, random_state=4)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    assert not np.array_equal(X, other[0])
    first, second = (make_synthetic("syn4", 50, random_state=rng)[0] for rng in [np.random.default_rng(0)] * 2)
    assert not np.array_equal(first, second)  # a generator moves on


@pytest.mark.parametrize(
    "words",
    [
        {"name": "syn7"},
        {"name": None},
        {"variant": "other"},
        {"n_samples": 0},
        {"n_features": 10},
        {"correlation": 1.0},
        {"correlation": -0.1},
        {"correlation": float("nan")},
    ],
)
def test_bad_words_are_named(words):
    with pytest.raises(ValueError, match=next(iter(words))):
        make_synthetic(**{"name": "syn1", "n_samples": 5, **words})
