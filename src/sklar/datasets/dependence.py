"""Data in which features stand for each other, or act only together: what a copula of gates is for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

SWITCH = 6  # the feature whose sign chooses the branch, counted from 1
SMALLEST_WIDTH = 12
CAUSE, PARTNER, PART_SWITCH = 1, 6, 9  # of make_redundant_in_part, counted from 0


def make_redundant(
    n_samples: int = 10_000,
    n_features: int = 12,
    copy_correlation: float = 0.97,
    n_copies: int = 1,
    switch: bool = True,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """A feature with near-copies: x1, and the last `n_copies` columns, which repeat it at `copy_correlation`.

    The log-odds are 3 x1 where x1 counts: for every row, or with `switch` for the rows with x6 < 0, the others
    having 2 (x3^2 + x4^2 - 2). One of x1 and its copies is enough for a row that needs them.

    Parameters
    ----------
    n_samples, n_features : size; at least 12 features, besides which copies are among the last
    copy_correlation : correlation of x1 and each copy, in (0, 1)
    n_copies : how many copies
    switch : whether x1 counts only where x6 < 0
    random_state : seed or generator

    Returns
    -------
    X : float (n, d)
    y : int (n,), 0 or 1
    relevant : bool (n, d); x1 stands for its group, the copies are never marked
    group : the columns (from 0) of x1 and its copies

    Examples
    --------
    >>> X, y, relevant, group = make_redundant(1000, random_state=0)
    >>> group, bool(np.corrcoef(X[:, 0], X[:, 11])[0, 1] > 0.95)
    ([0, 11], True)
    """
    _require_correlation(copy_correlation)
    if n_copies < 1:
        raise ValueError(f"n_copies must be at least 1; got {n_copies}")
    rng = np.random.default_rng(random_state)
    X = _rows(rng, n_samples, n_features, SMALLEST_WIDTH + n_copies - 1)
    group = [0, *range(n_features - n_copies, n_features)]
    for copy in group[1:]:
        X[:, copy] = _repeated(X[:, 0], X[:, copy], copy_correlation)
    squares = 2 * (X[:, 2] ** 2 + X[:, 3] ** 2 - 2)
    y, relevant = _label(rng, X, ((3 * X[:, 0], [0]), (squares, [2, 3])), switch)
    return X, y, relevant, group


def make_redundant_in_part(
    n_samples: int = 10_000,
    n_features: int = 12,
    copy_correlation: float = 0.97,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Substitutes for some rows, both needed for others: x7 repeats x2 where x10 < 0, and is free of it elsewhere.

    The log-odds are 3 x2 where x10 < 0, and 2 x2 + 2 x7 elsewhere: of the rows with x10 < 0 x2 is enough.

    Parameters
    ----------
    n_samples, n_features : size; at least 12 features
    copy_correlation : correlation of x2 and x7 where x10 < 0, in (0, 1)
    random_state : seed or generator

    Returns
    -------
    X, y, relevant, group : as in `make_redundant`; x7 is marked where x10 >= 0 alone

    Examples
    --------
    >>> X, y, relevant, group = make_redundant_in_part(1000, random_state=0)
    >>> copies = X[:, 9] < 0
    >>> group, bool((relevant[:, 6] == ~copies).all()), bool(np.corrcoef(X[copies][:, group].T)[0, 1] > 0.95)
    ([1, 6], True, True)
    """
    _require_correlation(copy_correlation)
    rng = np.random.default_rng(random_state)
    X = _rows(rng, n_samples, n_features, SMALLEST_WIDTH)
    copies = X[:, PART_SWITCH] < 0
    X[copies, PARTNER] = _repeated(X[copies, CAUSE], X[copies, PARTNER], copy_correlation)
    log_odds = np.where(copies, 3 * X[:, CAUSE], 2 * X[:, CAUSE] + 2 * X[:, PARTNER])
    y = (rng.random(len(X)) < expit(log_odds)).astype(np.int64)
    relevant = np.zeros(X.shape, dtype=bool)
    relevant[:, [CAUSE, PART_SWITCH]] = True
    relevant[:, PARTNER] = ~copies
    return X, y, relevant, [CAUSE, PARTNER]


def make_redundant_values(
    n_samples: int = 10_000,
    n_features: int = 12,
    weights: Sequence[float] = (3.0, 1.5, 0.8, 0.5),
    n_copies: Sequence[int] = (2, 2, 0, 0),
    copy_correlation: float = 0.97,
    noise: float = 0.5,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[list[int]]]:
    """Causes of different worth, the strongest with near-copies: y is the sum of weights times x1, x2, ..., and noise.

    A ranking of as many features as there are weights should have one of each group, the largest weight first; a copy
    beside its cause is a place wasted.

    Parameters
    ----------
    n_samples, n_features : size; columns that are neither causes nor copies are irrelevant
    weights : of x1, x2, ...
    n_copies : of each of them; copies are the last columns, in the same order
    copy_correlation : correlation of each copy with its cause, in (0, 1)
    noise : standard deviation of what no feature explains
    random_state : seed or generator

    Returns
    -------
    X : float (n, d)
    y : float (n,)
    worth : float (d,), the weight of each column's cause; 0 for irrelevant columns
    groups : the columns (from 0) of each cause and its copies

    Examples
    --------
    >>> X, y, worth, groups = make_redundant_values(1000, random_state=0)
    >>> groups, worth[[0, 8, 9, 4]].tolist()
    ([[0, 8, 9], [1, 10, 11], [2], [3]], [3.0, 3.0, 3.0, 0.0])
    """
    _require_correlation(copy_correlation)
    if len(n_copies) != len(weights) or min(n_copies, default=0) < 0:
        raise ValueError(f"n_copies must be one number from 0 for each of {len(weights)} weights; got {n_copies}")
    rng = np.random.default_rng(random_state)
    X = _rows(rng, n_samples, n_features, len(weights) + sum(n_copies))
    copies = iter(range(n_features - sum(n_copies), n_features))
    groups = [[cause, *(next(copies) for _ in range(count))] for cause, count in enumerate(n_copies)]
    worth = np.zeros(n_features)
    for group, weight in zip(groups, weights, strict=True):
        worth[group] = weight
        for copy in group[1:]:
            X[:, copy] = _repeated(X[:, group[0]], X[:, copy], copy_correlation)
    y = X[:, : len(weights)] @ np.asarray(weights, dtype=float) + noise * rng.standard_normal(n_samples)
    return X, y, worth, groups


def make_interaction(
    n_samples: int = 10_000,
    n_features: int = 12,
    order: int = 2,
    switch: bool = True,
    random_state: int | np.random.Generator | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Features that act only together: the log-odds are 3 x1 x2 (order 2) or 4 x1 x2 x3 (order 3).

    With `switch` that holds where x6 < 0; elsewhere the log-odds are 2 x4 + x5, which act one by one.

    Parameters
    ----------
    n_samples, n_features : size; at least 12 features
    order : 2 or 3, how many act together
    switch : whether they count only where x6 < 0
    random_state : seed or generator

    Returns
    -------
    X, y, relevant : as in `make_synthetic`
    group : the columns (from 0) that act together

    Examples
    --------
    >>> X, y, relevant, group = make_interaction(1000, order=3, random_state=0)
    >>> group, sorted(set(relevant.sum(axis=1).tolist()))
    ([0, 1, 2], [3, 4])
    """
    if order not in (2, 3):
        raise ValueError(f"order must be 2 or 3; got {order}")
    rng = np.random.default_rng(random_state)
    X = _rows(rng, n_samples, n_features, SMALLEST_WIDTH)
    group = list(range(order))
    together = (order + 1) * X[:, group].prod(axis=1)
    y, relevant = _label(rng, X, ((together, group), (2 * X[:, 3] + X[:, 4], [3, 4])), switch)
    return X, y, relevant, group


def _require_correlation(copy_correlation: float) -> None:
    if not 0 < copy_correlation < 1:
        raise ValueError(f"copy_correlation must be in (0, 1); got {copy_correlation}")


def _repeated(values: np.ndarray, own: np.ndarray, correlation: float) -> np.ndarray:
    """Standard normal values again at a correlation, the rest from others of their `own`."""
    return correlation * values + np.sqrt(1 - correlation**2) * own


def _rows(rng: np.random.Generator, n_samples: int, n_features: int, least: int) -> np.ndarray:
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}")
    if n_features < least:
        raise ValueError(f"n_features must be at least {least}; got {n_features}")
    return rng.standard_normal((n_samples, n_features))


def _label(
    rng: np.random.Generator,
    X: np.ndarray,
    branches: tuple[tuple[np.ndarray, list[int]], tuple[np.ndarray, list[int]]],
    switch: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and relevant features: the first branch where it counts, the second elsewhere."""
    (first, first_features), (second, second_features) = branches
    counts = X[:, SWITCH - 1] < 0 if switch else np.ones(len(X), dtype=bool)
    y = (rng.random(len(X)) < expit(np.where(counts, first, second))).astype(np.int64)
    relevant = np.zeros(X.shape, dtype=bool)
    for rows, features in ((counts, first_features), (~counts, second_features)):
        relevant[:, features] |= rows[:, np.newaxis]
    relevant[:, SWITCH - 1] = switch
    return y, relevant
