"""How far two selections agree, and which features count as one when that is asked.

Two fits may choose different ones of several features that say the same, such as a degree and its number of years. A
person loses nothing by that: features that stand for each other count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sklar.fitted import FittedModel
from sklar.interchange import apart


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


def stand_ins(models: Iterable[FittedModel]) -> list[list[int]]:
    """Groups of columns that stand for each other, as rows of any of the models' fits bore out; none is in two.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> schema = SimpleNamespace(names=("a", "b", "c", "d"))
    >>> first = SimpleNamespace(schema=schema, interchangeable=lambda: [["a", "b", "d"]])
    >>> second = SimpleNamespace(schema=schema, interchangeable=lambda: [["b", "c"]])
    >>> stand_ins([first, second])
    [[0, 1, 3]]
    """
    models = list(models)
    place = {name: j for j, name in enumerate(models[0].schema.names)}
    groups = apart(group for model in models for group in model.interchangeable())
    return [[place[name] for name in group] for group in groups]
