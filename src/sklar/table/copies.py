"""Columns that say exactly the same: copies, and recodings, where each column is a function of the other.

No mask can tell them apart by what they predict, and gates that train side by side keep both, each as the other's
backup. One of them is enough to train on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from sklar.table.sparse import by_columns, dense

# Rows that must differ from a column's most frequent value: two columns that have fewer may agree by chance.
LEAST_ROWS = 10
# Rows, evenly spread, on which columns must agree before all their rows are compared; of very wide tables the fewer.
MOST_ROWS, FEWEST_ROWS = 5_000, 200
BLOCK_ENTRIES = 2**21  # of the table, made dense at a time


def exact_copies(rows: Any, columns: Iterable[int]) -> list[list[int]]:
    """Groups of columns that are functions of each other, both ways, in every row; missing is a value of its own.

    Of columns most of whose values are unique any two are functions of each other, so there the order of the rows must
    be the same, or the reverse. `rows` are (n, d) or CSR.

    Examples
    --------
    >>> x = np.arange(40.0)
    >>> exact_copies(np.stack([x, x % 4, -(x**3), 3 - x % 4, x % 5], axis=1), range(5))
    [[0, 2], [1, 3]]
    """
    n, listed = rows.shape[0], list(columns)
    if n <= LEAST_ROWS:
        return []
    most = max(FEWEST_ROWS, min(MOST_ROWS, BLOCK_ENTRIES // max(1, len(listed))))
    some = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))
    groups = _alike(by_columns(rows[some]), listed)
    if len(some) < n and groups:
        table = by_columns(rows)
        groups = [whole for group in groups for whole in _alike(table, group)]
    return sorted(groups)


def _alike(table: Any, columns: list[int]) -> list[list[int]]:
    """The columns whose values are the same but for their names."""
    found = defaultdict(list)
    size = max(1, BLOCK_ENTRIES // table.shape[0])
    for start in range(0, len(columns), size):
        part = columns[start : start + size]
        for column, values in zip(part, dense(table, np.array(part)).T, strict=True):
            key = _without_names(values)
            if key is not None:
                found[key].append(column)
    return [group for group in found.values() if len(group) > 1]


def _without_names(values: np.ndarray) -> Hashable | None:
    """What is left of a column when its values are renamed; None of one that hardly varies."""
    unique, first, code, count = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
    if len(values) - count.max() < LEAST_ROWS:
        return None
    if len(unique) <= len(values) / 2:
        order = np.argsort(np.argsort(first))  # each value is named by when it first came
    else:
        falls = code[0] > code[np.argmax(code != code[0])]  # made to rise from the first row to the first that differs
        order = np.arange(len(unique))[:: -1 if falls else 1]
    return len(unique), order[code].tobytes()
