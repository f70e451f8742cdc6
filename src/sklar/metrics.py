"""How well a selection matches the truth, in percent; rows count equally."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def true_positive_rate(relevant: ArrayLike, selected: ArrayLike) -> float:
    """Mean over rows of the share of relevant features that were selected, in percent.

    A row without relevant features scores 0, as a row without selected ones does.

    Examples
    --------
    >>> true_positive_rate([[1, 1, 0]], [[1, 0, 1]])
    50.0
    """
    truth, chosen = _pair(relevant, selected)
    hits = (truth & chosen).sum(axis=1)
    return float(100 * np.mean(hits / np.maximum(truth.sum(axis=1), 1)))


def false_discovery_rate(relevant: ArrayLike, selected: ArrayLike) -> float:
    """Mean over rows of the share of selected features that are not relevant, in percent.

    A row with an empty selection scores 0: it discovers nothing false.

    Examples
    --------
    >>> false_discovery_rate([[1, 1, 0, 0]], [[1, 0, 1, 0]])
    50.0
    """
    truth, chosen = _pair(relevant, selected)
    false = (~truth & chosen).sum(axis=1)
    return float(100 * np.mean(false / np.maximum(chosen.sum(axis=1), 1)))


def _pair(relevant: ArrayLike, selected: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    truth, chosen = np.asarray(relevant).astype(bool), np.asarray(selected).astype(bool)
    if truth.ndim != 2 or truth.shape != chosen.shape:
        raise ValueError(
            f"relevant and selected must be two tables of one shape (n, d); got {truth.shape} and {chosen.shape}"
        )
    if len(truth) == 0:
        raise ValueError("relevant and selected have no rows")
    return truth, chosen
