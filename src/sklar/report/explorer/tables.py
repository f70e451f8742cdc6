"""Rows and cells of any kind of table, small enough for a page."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.table.adapter import Table
from sklar.table.cells import plain

LONGEST_TEXT = 80


def spread_rows(n: int, most: int) -> np.ndarray:
    """At most so many row numbers, spread evenly over n rows: sorted tables are seen from end to end.

    Examples
    --------
    >>> spread_rows(10, 4).tolist(), spread_rows(3, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return np.linspace(0, n - 1, min(n, most)).round().astype(int)


def cells(table: Table, j: int) -> list[Any]:
    """Column j for a reader: numbers to four digits, short text, None where missing."""
    return [_short(plain(value)) for value in table.cells(j)]


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return value[: LONGEST_TEXT - 1] + "…"
    if isinstance(value, float):
        return four_digits(value)
    return value


def four_digits(value: float) -> float | str:
    """A float with four significant digits; infinity, which JSON lacks, as text.

    Examples
    --------
    >>> four_digits(3.14159), four_digits(123456.0), four_digits(float("inf"))
    (3.142, 123500.0, 'inf')
    """
    return float(f"{value:.4g}") if np.isfinite(value) else str(value)
