"""Batches of a streamed table: read ahead of their use, of cells that a column can hold, of rows that miss nothing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sklar.table.csv_format import TableError


def read_ahead(tables: Iterator[Any]) -> Iterator[Any]:
    """The same, each read while the one before is in use."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = reader.submit(next, tables, None)
            yield table


def require_flat(name: str, schema: Any) -> None:
    """Raise, naming the column, where an Arrow table has lists, structs, bytes or intervals for cells.

    Examples
    --------
    >>> import pyarrow
    >>> require_flat("rows", pyarrow.table({"a": [1.0], "b": [[1.0, 2.0]]}).schema)
    Traceback (most recent call last):
    ...
    sklar.table.csv_format.TableError: rows: column 'b' holds list<item: double>, and a cell must be one number, text, \
truth value or date; make such columns of it, or leave it out
    """
    from pyarrow import types

    odd = (types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_interval)
    for field in schema:
        if any(is_odd(field.type) for is_odd in odd):
            one = "and a cell must be one number, text, truth value or date; make such columns of it, or leave it out"
            raise TableError(f"{name}: column {field.name!r} holds {field.type}, {one}")


def with_values(table: Any) -> Any:
    """Which rows miss nothing; NaN and empty text are missing too."""
    import pyarrow
    import pyarrow.compute

    there = np.ones(table.num_rows, dtype=bool)
    for column in table.columns:
        missing = column.is_null(nan_is_null=True).to_numpy()
        if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
            missing = missing | (pyarrow.compute.fill_null(column, "").to_numpy() == "")
        there &= ~missing
    return pyarrow.array(there)
