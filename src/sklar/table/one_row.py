"""One row in a user's hands, as columns or an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def columns_of_one(names: Sequence[str], row: dict[str, Any], method: str) -> dict[str, np.ndarray]:
    """A dict of values, or of columns of one value each, as columns with these names; it may hold others, in any order.

    Errors name the `method` that was called.

    Examples
    --------
    >>> columns_of_one(["a"], {"b": 1, "a": 2.5}, "explain")
    {'a': array([2.5], dtype=object)}
    """
    lacking = [name for name in names if name not in row]
    if lacking:
        raise ValueError(f"the row has no {lacking[0]!r}; give None where a value is missing")
    columns = {}
    for name in names:
        value = row[name]
        column = value if isinstance(value, (np.ndarray, list, tuple)) else [value]
        if len(column) != 1:
            raise ValueError(f"{method} takes one row; column {name!r} has {len(column)}")
        columns[name] = np.fromiter(column, dtype=object, count=1)
    return columns


def as_array(row: Any) -> np.ndarray:
    """Values side by side; numbers beside text stay numbers.

    Examples
    --------
    >>> as_array([1, "a"])
    array([1, 'a'], dtype=object)
    """
    values = np.asarray(row)
    return np.array(row, dtype=object) if values.dtype.kind in "US" else values
