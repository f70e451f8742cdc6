"""Correlation-based selection: a small case worked by hand (the merit of Hall, ICML 2000)."""

import itertools

import numpy as np
import pytest

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.scfs import best_first, correlations, merit

# Three features: the first two tell the target much but each other too; the third tells less, but news.
WITH_TARGET = np.array([0.8, 0.75, 0.5])
AMONG = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]])


def test_worked_by_hand():
    # {1}: .8.  {1, 2}: 1.55 / sqrt(2 + 2 * .9) = 1.55 / 1.9494 = .7951.  {1, 3}: 1.3 / sqrt(2 + 2 * .1) = .8765.
    # {1, 2, 3}: 2.05 / sqrt(3 + 2 * (.9 + .1 + .1)) = 2.05 / 2.2804 = .8990.  {2, 3}: 1.25 / 1.4832 = .8427.
    by_hand = {(0,): 0.8, (0, 1): 0.7951, (0, 2): 0.8765, (1, 2): 0.8427, (0, 1, 2): 0.8990}
    for subset, value in by_hand.items():
        assert merit(frozenset(subset), WITH_TARGET, AMONG) == pytest.approx(value, abs=5e-5)
    assert best_first(WITH_TARGET, AMONG, patience=5)[0] == (0, 1, 2)
    # A perfect copy adds nothing: {1, copy} has merit 1.6 / sqrt(4) = .8, no better than {1} alone.
    copied = np.ones((2, 2))
    assert best_first(np.array([0.8, 0.8]), copied, patience=5) == ((0,), pytest.approx(0.8))


@pytest.mark.parametrize("seed", range(5))
def test_search_finds_what_looking_at_all_subsets_finds(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 5)) @ rng.standard_normal((5, 5))
    y = X[:, 0] + X[:, 1] + rng.standard_normal(60)
    with_target, among = np.abs(correlations(X, y[:, None]))[:, 0], np.abs(correlations(X, X))
    subsets = [frozenset(s) for m in range(1, 6) for s in itertools.combinations(range(5), m)]
    best = max(merit(s, with_target, among) for s in subsets)
    assert best_first(with_target, among, patience=5)[1] == pytest.approx(best)


def test_correlations_match_numpy_and_survive_constants():
    X = np.random.default_rng(0).standard_normal((30, 3))
    np.testing.assert_allclose(correlations(X, X), np.corrcoef(X.T), atol=1e-12)
    X[:, 1] = 4.0
    assert (correlations(X, X)[1] == 0).all()


def test_a_class_counts_through_its_labels():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = rng.standard_normal((600, 4))
    X[:, 2] += 3 * (y == 1)
    assert REGISTRY["scfs"]().fit(X, y).select(X)[0].tolist() == [False, False, True, False]
