"""Columns that hold the same value in every row: nothing can be learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklar.table.sparse import by_columns, dense

FIRST_ROWS = 1_000  # that most columns already vary in, so that few are read to the end
BLOCK_ENTRIES = 2**21  # of the table, made dense at a time


def constant_columns(rows: Any, columns: Sequence[int]) -> list[int]:
    """Those of the columns that have one value, or none at all, in all rows; missing is a value. `rows` (n, d) or CSR.

    Examples
    --------
    >>> constant_columns(np.array([[1, 2, np.nan], [1, 3, np.nan], [1, 2, np.nan]]), [0, 1, 2])
    [0, 2]
    """
    first = rows[:FIRST_ROWS]
    found = _constant(by_columns(first), list(columns))
    return _constant(by_columns(rows), found) if found and first.shape[0] < rows.shape[0] else found


def _constant(table: Any, columns: list[int]) -> list[int]:
    size, found = max(1, BLOCK_ENTRIES // max(1, table.shape[0])), []
    for start in range(0, len(columns), size):
        part = np.array(columns[start : start + size])
        values = dense(table, part)
        same = (values == values[:1]) | (np.isnan(values) & np.isnan(values[:1]))
        found += part[same.all(axis=0)].tolist()
    return found
