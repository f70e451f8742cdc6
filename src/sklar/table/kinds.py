"""Columns of a table as those of fit were: of the same kinds, and categories as codes.

True and false are the same however a table writes them: as booleans, 1 and 0, or text as CSV files have it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from sklar.table.cells import said
from sklar.table.columns import Column

States = tuple[Any, ...]  # the categories of one column: text, numbers or booleans

TRUTH = {"true": 1.0, "false": 0.0}  # by how text spells them, in any case
SPELLINGS = {1.0: (1.0, "True", "true", "TRUE", "1"), 0.0: (0.0, "False", "false", "FALSE", "0")}


def rows_as_in_fit(
    columns: list[Column],
    categories: tuple[States | None, ...],
    dates: np.ndarray,
    read: Collection[int] | None = None,
) -> np.ndarray:
    """A table's rows (see `encoding`), its columns of the kinds that they had in fit; an error where they cannot be.

    A column that is not among those that a network has `read` is missing there instead.
    """
    found = []
    for j, (column, kept, is_date) in enumerate(zip(columns, categories, dates, strict=True)):
        column = _as_in_fit(column, kept)
        if _kind(column) != _kind_in_fit(column, kept, is_date):
            if read is None or j in read:
                raise _other_kind(column, kept, is_date)
            column = Column(column.name, np.full(len(column.values), np.nan))
        found.append(column)
    return coded(found, categories)


def coded(columns: list[Column], categories: tuple[States | None, ...]) -> np.ndarray:
    """Rows: the number of each category, one past the last for those unknown; NaN where missing."""
    rows = np.empty((len(columns[0].values) if columns else 0, len(columns)))
    for j, (column, kept) in enumerate(zip(columns, categories, strict=True)):
        if kept is None:
            rows[:, j] = np.nan if column.is_text else column.numbers()
            continue
        code = _codes(kept)
        values = column.values if column.is_text else (None if v != v else v for v in column.numbers().tolist())
        rows[:, j] = np.fromiter((code.get(value, len(kept)) for value in values), dtype=np.float64)
    return rows


def _codes(kept: States) -> dict[Any, float]:
    """The code of each category, also as a CSV spells a number or a truth value."""
    code = {**{value: float(number) for number, value in enumerate(kept)}, None: np.nan}
    for number, value in enumerate(kept):
        code.setdefault(str(value), float(number))
    for truth, value in _truths(kept).items():
        for spelling in SPELLINGS[truth]:
            code.setdefault(spelling, code[value])
    return code


def _truths(kept: Collection[Any]) -> dict[float, Any]:
    """The categories that are true and false; none where others are among them, or one is spelled in two ways.

    Examples
    --------
    >>> _truths(("False", "True")), _truths(("yes", "no")), _truths(("True", "true"))
    ({0.0: 'False', 1.0: 'True'}, {}, {})
    """
    found = {TRUTH.get(str(value).lower(), 2.0): value for value in kept}
    return found if 2.0 not in found and len(found) == len(kept) else {}


def _as_in_fit(column: Column, kept: States | None) -> Column:
    """A column whose text is taken for what it was in fit: categories that look like dates, or true and false."""
    if column.is_date and kept is not None and column.values.dtype == object:
        return Column(column.name, column.values)
    if kept is None and column.is_text:
        truth = [None if value is None else TRUTH.get(str(value).lower()) for value in column.values]
        if [value is None for value in truth] == [value is None for value in column.values]:
            return Column(column.name, np.array(truth, dtype=np.float64))
    return column


def _kind(column: Column) -> str:
    return "dates" if column.is_date else "text" if column.is_text else "numbers"


def _kind_in_fit(column: Column, kept: States | None, is_date: bool) -> str:
    """The kind that a column was in fit; its own where that may be any."""
    here = _kind(column)
    if kept == () or column.is_empty or (kept is not None and here == "text"):
        return here
    if kept is None:
        return "dates" if is_date else "numbers"
    is_truth = here == "numbers" and bool(_truths(kept)) and set(column.values[~np.isnan(column.values)]) <= {0.0, 1.0}
    return here if is_truth or not isinstance(kept[0], str) else "text"


def _other_kind(column: Column, kept: States | None, is_date: bool) -> ValueError:
    here, before = _kind(column), _kind_in_fit(column, kept, is_date)
    example = f": {said(column.values[0])}" if here == "text" else ""
    return ValueError(f"column {column.name!r} held {before} in fit, and holds {here} here{example}")
