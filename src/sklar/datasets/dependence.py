"""Data in which features stand for each other, or act only together: what a copula of gates is for."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

SWITCH = 6  # the feature whose sign chooses the branch, counted from 1
SMALLEST_WIDTH = 12


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
    if not 0 < copy_correlation < 1:
        raise ValueError(f"copy_correlation must be in (0, 1); got {copy_correlation}")
    if n_copies < 1:
        raise ValueError(f"n_copies must be at least 1; got {n_copies}")
    rng = np.random.default_rng(random_state)
    X = _rows(rng, n_samples, n_features, SMALLEST_WIDTH + n_copies - 1)
    group = [0, *range(n_features - n_copies, n_features)]
    for copy in group[1:]:
        X[:, copy] = copy_correlation * X[:, 0] + np.sqrt(1 - copy_correlation**2) * X[:, copy]
    squares = 2 * (X[:, 2] ** 2 + X[:, 3] ** 2 - 2)
    y, relevant = _label(rng, X, ((3 * X[:, 0], [0]), (squares, [2, 3])), switch)
    return X, y, relevant, group


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
