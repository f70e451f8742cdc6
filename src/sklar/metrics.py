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


def concordance(time: ArrayLike, event: ArrayLike, risk: ArrayLike) -> float:
    """Harrell's C: of the pairs whose order is known, the share in which the higher risk has the earlier event.

    The order of a pair is known if the earlier time is an event; equal risks count half. 0.5 is chance.

    Examples
    --------
    >>> concordance([1, 2, 3], [True, True, False], [3.0, 1.0, 2.0])
    0.6666666666666666
    """
    times, seen, risks = np.asarray(time, dtype=float), np.asarray(event, dtype=bool), np.asarray(risk, dtype=float)
    agreed = known = 0.0
    for i in np.flatnonzero(seen):
        others = risks[times > times[i]]
        known += len(others)
        agreed += (others < risks[i]).sum() + 0.5 * (others == risks[i]).sum()
    return float(agreed / known) if known else 0.5


def _pair(relevant: ArrayLike, selected: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    truth, chosen = np.asarray(relevant).astype(bool), np.asarray(selected).astype(bool)
    if truth.ndim != 2 or truth.shape != chosen.shape:
        raise ValueError(
            f"relevant and selected must be two tables of one shape (n, d); got {truth.shape} and {chosen.shape}"
        )
    if len(truth) == 0:
        raise ValueError("relevant and selected have no rows")
    return truth, chosen
