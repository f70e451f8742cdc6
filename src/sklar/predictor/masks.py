"""Masks to learn from that say nothing about their row, but are such as will be asked about."""

from __future__ import annotations

import numpy as np

# Of the rows: shown by another row's mask, by such a mask with features taken away, and by a random one.
DEALT, THINNED = 0.5, 0.25
LEAST_WHOLE = 0.01  # shown whole: so that no column is hidden in all rows


def teaching_masks(masks: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Masks for n rows, made of those selected for any rows (m, d): bool (n, d).

    Half are dealt as they are. What hides a feature (`effects`), asks at another price or for a smaller k sees fewer or
    other features: a quarter has features taken away, and a quarter is random.

    Examples
    --------
    >>> teaching_masks(np.eye(3, dtype=bool), 1000, np.random.default_rng(0)).shape
    (1000, 3)
    """
    kind = rng.random(n_rows)
    dealt = masks[rng.integers(len(masks), size=n_rows)]
    thinned = np.flatnonzero((kind >= DEALT) & (kind < DEALT + THINNED))
    rate = rng.random((len(thinned), 1))
    dealt[thinned] &= rng.random((len(thinned), masks.shape[1])) < rate
    others = np.flatnonzero(kind >= DEALT + THINNED)
    dealt[others] = random_masks(few_or_many(len(others), masks.shape[1], rng), masks.shape[1], rng)
    dealt[rng.permutation(n_rows)[: max(1, round(LEAST_WHOLE * n_rows))]] = True
    return dealt


def dealt_to_others(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The masks (n, d) of rows, every one in the place of another row."""
    order = rng.permutation(len(masks))
    dealt = np.empty_like(masks)
    dealt[order] = masks[np.roll(order, 1)]
    return dealt


def random_masks(sizes: np.ndarray, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Masks of these sizes (n,), all sets of a size equally probable: bool (n, d).

    Examples
    --------
    >>> random_masks(np.array([0, 2, 3]), 3, np.random.default_rng(0)).sum(axis=1)
    array([0, 2, 3])
    """
    order = rng.random((len(sizes), n_features), dtype=np.float32).argsort(axis=1)
    masks = np.empty(order.shape, dtype=bool)
    np.put_along_axis(masks, order, np.arange(n_features) < sizes[:, None], axis=1)
    return masks


def few_or_many(n_rows: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """How many features to show: log-uniform from 1 to d, so that few are well represented: int (n,).

    Examples
    --------
    >>> sizes = few_or_many(10_000, 100, np.random.default_rng(0))
    >>> sizes.min(), sizes.max(), bool(abs(np.mean(sizes <= 9) - 0.5) < 0.02)
    (np.int64(1), np.int64(100), True)
    """
    return np.exp(rng.random(n_rows) * np.log(n_features + 1)).astype(np.int64)
