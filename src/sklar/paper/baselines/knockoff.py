"""Model-X knockoffs (Candes, Fan, Janson, Lv, 2018): a copy of each feature that cannot matter, as a control.

Gaussian second-order knockoffs have the features' means and covariances, swap for swap; a feature counts only
where its lasso coefficient beats its copy's, and the knockoff+ threshold keeps the false discovery rate at q.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.covariance import LedoitWolf

from sklar.paper.baselines.base import Baseline
from sklar.paper.baselines.lasso import coefficient_sizes, fit_l1
from sklar.params import Interval, at_least
from sklar.training.engine.runtime import spawn_seeds


class Knockoff(Baseline):
    """Global selection with a bound on the false discovery rate. It does not predict.

    Takes the parameters of `Baseline` too.

    Parameters
    ----------
    q : float, default 0.2
        The false discovery rate to stay under.
    gaps : "sdp" or "equicorrelated"
        How far a copy is from its feature: each as far as can be (found coordinate by coordinate), or all alike.
    offset : 1 or 0
        1 is knockoff+, which keeps the rate at q; 0 is the older, more liberal knockoff. Knockoff+ at q selects
        at least 1 / q features or none.
    n_folds : int, default 5
        Folds of the cross-validation that sets the lasso's strength.

    Attributes
    ----------
    statistics_ : W (d,), the size of a feature's coefficient less its copy's
    threshold_ : features with W at or above it are selected

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import Knockoff
    >>> X = np.random.default_rng(0).standard_normal((300, 20))
    >>> y = X[:, :8].sum(axis=1) + np.random.default_rng(1).standard_normal(300)
    >>> Knockoff(random_state=0).fit(X, y).select(X)[0, :8].all()
    np.True_
    """

    q: Annotated[float, Interval(Real, 0, 1, closed="neither")] = 0.2
    gaps: Literal["sdp", "equicorrelated"] = "sdp"
    offset: Annotated[int, Interval(Integral, 0, 1, closed="both")] = 1
    n_folds: Annotated[int, at_least(2)] = 5

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        copy_seed, fold_seed = spawn_seeds(self.random_state, 2)
        correlation = _correlation(rows)
        gaps = sdp_gaps(correlation) if self.gaps == "sdp" else equicorrelated_gaps(correlation)
        copies = gaussian_knockoffs(rows, correlation, gaps, np.random.default_rng(copy_seed))
        d = rows.shape[1]
        # Features and copies in random order: a solver that breaks ties by position must not favour either.
        order = np.random.default_rng(fold_seed).permutation(2 * d)
        both = np.concatenate([rows, copies], axis=1)[:, order]
        model = fit_l1(both, target, self.task_, self.n_folds, fold_seed, bool(self.verbose))
        sizes = np.empty(2 * d)
        sizes[order] = coefficient_sizes(model)
        self.statistics_ = sizes[:d] - sizes[d:]
        self.threshold_ = knockoff_threshold(self.statistics_, self.q, self.offset)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self.statistics_

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores >= self.threshold_


def gaussian_knockoffs(
    rows: np.ndarray, correlation: np.ndarray, gaps: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Copies drawn given the rows: mean x - D S^-1 x, covariance 2 D - D S^-1 D, for D = diag(gaps): (n, d).

    `rows` have mean 0 and covariance S (`correlation`); then (x, copy) has covariance [[S, S - D], [S - D, S]].
    """
    pulled = np.linalg.solve(correlation, np.diag(gaps))  # S^-1 D, (d, d)
    covariance = 2 * np.diag(gaps) - gaps[:, None] * pulled
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0))  # root root^T is the covariance, also where it is singular
    return rows - rows @ pulled + rng.standard_normal(rows.shape) @ root.T


def equicorrelated_gaps(correlation: np.ndarray) -> np.ndarray:
    """The same gap for all: min(1, 2 * the smallest eigenvalue): (d,).

    Examples
    --------
    >>> equicorrelated_gaps(np.array([[1, 0.8], [0.8, 1]])).round(3)
    array([0.4, 0.4])
    """
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    return np.full(len(correlation), min(1.0, max(0.0, 2 * smallest)))


def sdp_gaps(correlation: np.ndarray, n_margins: int = 40) -> np.ndarray:
    """Maximise the sum of the gaps s subject to 0 <= s <= 1 and 2 S - diag(s) positive, a coordinate at a time.

    With M = (2 S - diag(s))^-1, coordinate j may grow by 1 / M_jj before the matrix becomes singular (Schur
    complement). Stopping a margin m short of that is the coordinate's maximum of sum(s) + m log det(M^-1), a
    barrier that falls away as m does (as in Askari, Rebjock, d'Aspremont, El Ghaoui, 2020).

    Examples
    --------
    >>> correlation = np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]])
    >>> sdp_gaps(correlation).sum().round(2), equicorrelated_gaps(correlation).sum().round(2)
    (np.float64(1.8), np.float64(1.2))
    """
    d = len(correlation)
    gaps = np.zeros(d)
    for sweep in range(2 * n_margins):  # two sweeps a margin
        margin = 0.8 ** (sweep // 2)
        inverse = np.linalg.inv(2 * correlation - np.diag(gaps))
        for j in range(d):
            step = float(np.clip(gaps[j] + 1 / inverse[j, j] - margin, 0.0, 1.0)) - gaps[j]
            gaps[j] += step
            column = inverse[:, j].copy()  # Sherman-Morrison for subtracting `step` at (j, j)
            inverse += np.outer(column, column) * (step / (1 - step * column[j]))
    smallest = float(np.linalg.eigvalsh(2 * correlation - np.diag(gaps))[0])
    return np.clip(gaps + min(0.0, smallest), 0.0, 1.0)


def knockoff_threshold(statistics: np.ndarray, q: float, offset: int = 1) -> float:
    """The smallest t > 0 with (offset + #{W <= -t}) / #{W >= t} <= q; infinity where there is none.

    Examples
    --------
    >>> knockoff_threshold(np.array([5.0, 4.0, 3.0, 2.0, 1.5, -1.0, 0.5]), q=0.2)
    1.5
    """
    for t in np.sort(np.abs(statistics[statistics != 0])):
        if (offset + np.sum(statistics <= -t)) / max(1, np.sum(statistics >= t)) <= q:
            return float(t)
    return float("inf")


def _correlation(rows: np.ndarray) -> np.ndarray:
    """The rows' correlation, shrunk to be invertible; constant columns count as independent: (d, d)."""
    covariance: Any = LedoitWolf().fit(rows).covariance_
    spread = np.sqrt(np.diag(covariance))
    spread = np.where(spread > 1e-12, spread, 1.0)
    correlation = covariance / np.outer(spread, spread)
    np.fill_diagonal(correlation, 1.0)
    return correlation
