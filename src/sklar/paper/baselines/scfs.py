"""Correlation-based feature selection (Hall, ICML 2000): features close to the target and far from each other.

The merit of a subset of m features is m r_ft / sqrt(m + m (m - 1) r_ff), with r_ft their mean correlation with the
target and r_ff the mean among themselves; a best-first forward search looks for the best subset.
"""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from sklar.paper.baselines.base import Baseline
from sklar.params import Count


class CorrelationSelection(Baseline):
    """Global selection by merit. It does not predict.

    Correlations are absolute Pearson correlations; with a class, the mean over the labels of the correlation with
    "is this label", weighted by how common the label is.

    Takes the parameters of `Baseline` too; the method has no randomness.

    Parameters
    ----------
    patience : int, default 5
        Subsets expanded without a better one before the search stops (Hall's number).

    Attributes
    ----------
    subset_ : the features of the best subset found, in order of their columns
    merit_ : its merit

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import CorrelationSelection
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> CorrelationSelection().fit(X, X[:, 0] + X[:, 3]).select(X)[0]
    array([ True, False, False,  True])
    """

    patience: Count = 5

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        among = np.abs(correlations(rows, rows))  # (d, d)
        self.with_target_: np.ndarray = self._correlation_with(target, rows)
        self.subset_, self.merit_ = best_first(self.with_target_, among, self.patience)

    def _correlation_with(self, target: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """How close each feature is to the target: (d,)."""
        if self.task_ == "regression":
            return np.abs(correlations(rows, target[:, None]))[:, 0]
        labels, share = np.unique(target, return_counts=True)
        is_label = (target[:, None] == labels).astype(np.float64)
        return np.abs(correlations(rows, is_label)) @ (share / len(target))

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        scores = self.with_target_.copy()
        scores[list(self.subset_)] += 1  # the subset first, then by correlation with the target
        return scores

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores >= 1


def merit(subset: frozenset[int], with_target: np.ndarray, among: np.ndarray) -> float:
    """m r_ft / sqrt(m + m (m - 1) r_ff): the sum to the target over the root of the sum of all entries among.

    Examples
    --------
    >>> among = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> round(merit(frozenset({0, 1}), np.array([0.6, 0.6]), among), 4)  # 1.2 / sqrt(3)
    0.6928
    """
    members = sorted(subset)
    inside = among[np.ix_(members, members)]
    off_diagonal = float(inside.sum() - np.trace(inside))
    return float(with_target[members].sum() / np.sqrt(len(members) + off_diagonal))


def best_first(with_target: np.ndarray, among: np.ndarray, patience: int) -> tuple[tuple[int, ...], float]:
    """The best subset met when always expanding the best unexpanded one by each absent feature."""
    d = len(with_target)
    best, best_merit, waited = frozenset[int](), -np.inf, 0
    tie = count()
    queue = [(0.0, next(tie), best)]
    seen = {best}
    while queue and waited < patience:
        _, _, subset = heapq.heappop(queue)
        waited += 1
        for feature in range(d):
            grown = subset | {feature}
            if grown in seen:
                continue
            seen.add(grown)
            value = merit(grown, with_target, among)
            heapq.heappush(queue, (-value, next(tie), grown))
            if value > best_merit + 1e-12:
                best, best_merit, waited = grown, value, 0
    return tuple(sorted(best)), best_merit


def correlations(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Pearson correlations of columns, 0 where a column is constant: (n, a), (n, b) -> (a, b)."""
    a, b = (table - table.mean(axis=0) for table in (left, right))
    sizes = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    return np.divide(a.T @ b, sizes, out=np.zeros(sizes.shape), where=sizes > 1e-12)
