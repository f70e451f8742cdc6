"""Knockoffs: the copies' covariance, the gaps, the threshold, and FDR at q (Candes, Fan, Janson, Lv, 2018)."""

import numpy as np
import pytest

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.knockoff import (
    equicorrelated_gaps,
    gaussian_knockoffs,
    knockoff_threshold,
    sdp_gaps,
)


def toeplitz(d: int, rho: float) -> np.ndarray:
    return rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


@pytest.mark.parametrize("make_gaps", [equicorrelated_gaps, sdp_gaps])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_gaps_are_feasible(make_gaps, rho):
    correlation = toeplitz(8, rho)
    gaps = make_gaps(correlation)
    assert ((gaps >= 0) & (gaps <= 1)).all()
    assert np.linalg.eigvalsh(2 * correlation - np.diag(gaps))[0] > -1e-9
    if rho == 0:
        np.testing.assert_allclose(gaps, 1, atol=1e-4)


def test_sdp_gaps_are_the_best_there_are():
    """For a pair, (2 - s1)(2 - s2) >= 4 rho^2 bounds s1 + s2 by 4 - 4 rho; a third feature is free."""
    correlation = np.eye(3)
    correlation[0, 1] = correlation[1, 0] = 0.8
    assert sdp_gaps(correlation).sum() == pytest.approx(4 - 4 * 0.8 + 1, abs=5e-3)
    longer = toeplitz(12, 0.7)
    assert sdp_gaps(longer).sum() >= equicorrelated_gaps(longer).sum() - 1e-6


def test_copies_have_the_covariance_of_a_swap():
    """Cov(x, copy) = S - D and Cov(copy) = S. False alarm below 1e-6: seven standard errors or more."""
    correlation = toeplitz(4, 0.6)
    gaps = sdp_gaps(correlation)
    rng = np.random.default_rng(0)
    n = 100_000
    rows = rng.standard_normal((n, 4)) @ np.linalg.cholesky(correlation).T
    copies = gaussian_knockoffs(rows, correlation, gaps, rng)
    error = 10 * np.sqrt(2 / n)
    assert np.abs(rows.T @ copies / n - (correlation - np.diag(gaps))).max() < error
    assert np.abs(copies.T @ copies / n - correlation).max() < error


def test_threshold_by_hand():
    W = np.array([6.0, 5.0, 4.0, 3.0, 2.0, -1.0, -2.5, 0.0])
    # At t = 3: nothing at or below -3, four at or above: (1 + 0) / 4 = .25; at t = 2: (1 + 1) / 5 = .4.
    assert knockoff_threshold(W, q=0.25) == 3
    assert knockoff_threshold(W, q=0.4) == 2
    assert knockoff_threshold(W, q=0.2, offset=0) == 2  # (0 + 1) / 5
    assert knockoff_threshold(W, q=0.05) == np.inf
    assert knockoff_threshold(np.zeros(3), q=0.5) == np.inf


def test_select_is_scores_at_or_above_the_threshold():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 15))
    y = X[:, :7].sum(axis=1) + rng.standard_normal(300)
    baseline = REGISTRY["knockoff"](random_state=0).fit(X, y)
    np.testing.assert_array_equal(baseline.select(X)[0], baseline.statistics_ >= baseline.threshold_)
    assert baseline.select(X)[0, :7].all()


@pytest.mark.parametrize("gaps", ["sdp", "equicorrelated"])
def test_fdr_stays_at_q(gaps):
    """Source: the theorem of Candes et al. 2018 that knockoff+ has FDR <= q. 50 linear models, q = .2.

    The mean share may exceed q by three of its standard errors: were the rate exactly q, a false alarm in 740
    fresh seeds; the theorem says at most q. The power must be high too, or selecting nothing would pass.
    """
    n, d, true = 200, 20, 8
    shares, powers = [], []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, d)) @ np.linalg.cholesky(toeplitz(d, 0.5)).T
        support = rng.permutation(d)[:true]
        y = X[:, support] @ rng.choice([-1.0, 1.0], true) + rng.standard_normal(n)
        chosen = REGISTRY["knockoff"](q=0.2, gaps=gaps, n_folds=3, random_state=seed).fit(X, y).select(X[:1])[0]
        hits = chosen[support].sum()
        shares.append((chosen.sum() - hits) / max(1, chosen.sum()))
        powers.append(hits / true)
    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / np.sqrt(50)
    assert np.mean(powers) > 0.9
