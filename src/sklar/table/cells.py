"""Cells of any kind of table (numpy, pandas, polars, pyarrow, sparse, named columns), for answers that people read."""

from __future__ import annotations

from typing import Any

import numpy as np


def dense(table: Any) -> np.ndarray:
    """Any kind of table that an estimator answers with, as an array."""
    if hasattr(table, "itercolumns"):  # pyarrow
        return np.column_stack([column.to_numpy() for column in table.itercolumns()])
    if hasattr(table, "toarray"):  # sparse
        return table.toarray()
    return np.asarray(table)


def column_values(table: Any, j: int) -> Any:
    """Column j of any kind of table, to be read by row."""
    if hasattr(table, "iloc"):
        return table.iloc[:, j].to_numpy()
    if hasattr(table, "itercolumns"):  # pyarrow
        return table.column(j).to_pylist()
    if hasattr(table, "to_series"):  # polars
        return table.to_series(j).to_list()
    if isinstance(table, dict):
        return list(table.values())[j]
    if hasattr(table, "toarray"):  # sparse
        return table[:, [j]].toarray()[:, 0]
    return np.asarray(table)[:, j]


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Some rows of any kind of table, as the same kind of table.

    Examples
    --------
    >>> take_rows({"a": np.array([5, 6, 7])}, np.array([2, 0]))
    {'a': array([7, 5])}
    """
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if hasattr(table, "itercolumns"):  # pyarrow
        return table.take(rows)
    if isinstance(table, dict):
        return {name: values[rows] for name, values in table.items()}
    table = table.tocsr() if hasattr(table, "tocsr") else table
    return table[rows] if hasattr(table, "shape") else np.asarray(table)[rows]


def plain(value: Any) -> Any:
    """A cell as JSON can hold it: a number, text, a truth value, or None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def show_value(value: Any) -> str:
    """A cell for a person: four digits of a number.

    Examples
    --------
    >>> show_value(3.14159), show_value(2), show_value("blue"), show_value(None)
    ('3.142', '2', 'blue', 'missing')
    """
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
