"""How far two selections agree, and which features count as one when that is asked.

Two fits may choose different ones of several features that say the same, such as a degree and its number of years. A
person loses nothing by that: features that stand for each other count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from sklar.fitted import FittedModel

EXCLUDING = 0.5  # gates correlated below minus this exclude each other
RECODED = 0.5  # share of variance that two columns explain of each other, in the mean of both directions
MOST_ROWS = 5_000  # that columns are compared on, evenly spread


def jaccard(first: ArrayLike, second: ArrayLike, groups: Sequence[Sequence[int]] = ()) -> float:
    """Mean over rows of |intersection| / |union| of two selections, in percent; two empty ones agree.

    Columns of a group count as one, which is selected where any of them is.

    Examples
    --------
    >>> jaccard([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]])
    75.0
    >>> jaccard([[1, 0, 1]], [[0, 1, 1]]), jaccard([[1, 0, 1]], [[0, 1, 1]], groups=[[0, 1]])
    (33.33333333333333, 100.0)
    """
    a, b = (_as_one(np.asarray(masks).astype(bool), groups) for masks in (first, second))
    both, either = (a & b).sum(axis=1), (a | b).sum(axis=1)
    return float(100 * np.mean(np.where(either > 0, both / np.maximum(either, 1), 1.0)))


def _as_one(masks: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Masks (n, d) with each group's columns joined in its first."""
    joined = masks.copy()
    for group in groups:
        joined[:, list(group)[1:]] = False
        joined[:, group[0]] = masks[:, list(group)].any(axis=1)
    return joined


def stand_ins(models: Iterable[FittedModel], rows: Any) -> list[list[int]]:
    """Groups of columns that stand for each other: gates of a model that exclude each other, or columns that recode.

    Links are of pairs, and groups are their chains; rows are those that were read.
    """
    models = list(models)
    first = models[0].schema
    place = {name: j for j, name in enumerate(first.names)}
    linked = recoded(models[0], rows)
    for model in models:
        for group in model.interchangeable(EXCLUDING, rows[:MOST_ROWS]):
            members = [place[name] for name in group]
            linked[np.ix_(members, members)] = True
    count, group = connected_components(linked, directed=False)
    groups = [np.flatnonzero(group == g).tolist() for g in range(count)]
    return [members for members in groups if len(members) > 1]


def recoded(fitted: FittedModel, rows: Any) -> np.ndarray:
    """Whether two columns that the model reads explain each other: bool (d, d).

    R^2 of the one's inputs from the other's is tr(C_ba C_aa^+ C_ab) / tr(C_bb), with C their covariance.
    """
    schema = fitted.schema
    some = np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], MOST_ROWS)).round().astype(int)
    inputs = schema.inputs(rows[some])
    of_input = fitted.network.architecture.gate_of_input or range(inputs.shape[1])
    covariance = np.atleast_2d(np.cov(inputs, rowvar=False))
    places = [np.flatnonzero(np.array(of_input) == gate) for gate in range(int(max(of_input)) + 1)]
    explained = np.zeros((len(places), len(places)))
    for a, own in enumerate(places):
        inverse = np.linalg.pinv(covariance[np.ix_(own, own)])
        for b, other in enumerate(places):
            across = covariance[np.ix_(other, own)]
            total = np.trace(covariance[np.ix_(other, other)])
            explained[a, b] = np.trace(across @ inverse @ across.T) / total if total > 0 else 0.0
    gates = schema.gates
    result = np.zeros((schema.n_columns, schema.n_columns), dtype=bool)
    result[np.ix_(schema.columns, schema.columns)] = ((explained + explained.T) / 2 > RECODED)[np.ix_(gates, gates)]
    return result
