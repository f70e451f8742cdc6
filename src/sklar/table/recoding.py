"""How the values of a column are read off those of a copy of it, in rows where the column's own are missing.

Numbers in another unit by a line, slope copy + offset; categories, and few numbers, under other names in pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

MOST_PAIRS = 256
# A line through two columns of numbers may miss their values by this share of a deviation: as one is rounded.
MOST_MISSED = 0.01
ROUNDING = 1e-9  # of numbers that are equal


class Recoding(NamedTuple):
    """A column that is read, and a copy that is not; without a line or pairs, none gives the values of the other."""

    column: int
    copy: int
    line: tuple[float, float] | None = None  # slope and offset
    missed: float = 0.0  # by the line, at most, in the rows of fit
    pairs: tuple[tuple[float, float], ...] = ()  # a value of the copy, and that of the column

    def values(self, copy: np.ndarray) -> np.ndarray:
        """The column's values where the copy has these: NaN where nothing says."""
        if self.line is None:
            known = dict(self.pairs)
            return np.array([known.get(value, np.nan) for value in copy.tolist()], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.line[0] * copy + self.line[1]
        return np.where(np.isfinite(values), values, np.nan)

    def differ(self, rows: np.ndarray) -> np.ndarray:
        """The rows (n, d) in which the copy says something else than the column, or nothing: bool (n,)."""
        column, copy = rows[:, self.column], rows[:, self.copy]
        said = self.values(copy)
        apart = np.isnan(column) != np.isnan(copy)
        if self.line is None and not self.pairs:
            return apart
        off = np.abs(said - column) > 2 * self.missed + ROUNDING * (1 + np.abs(column))
        return apart | off | (np.isnan(said) & ~np.isnan(copy))


def learn_recodings(
    rows: Any, groups: Iterable[Sequence[int]], categories: Sequence[tuple[Any, ...] | None]
) -> tuple[Recoding, ...]:
    """How the first column of each group of copies is read off the others; of CSR nothing is missing, and nothing read.

    Examples
    --------
    >>> rows = np.stack([np.arange(4.0), 2.54 * np.arange(4.0)], axis=1)
    >>> learn_recodings(rows, [[0, 1]], [None, None])[0].values(np.array([25.4])).round(6).tolist()
    [10.0]
    """
    if not isinstance(rows, np.ndarray):
        return ()
    return tuple(
        _learned(rows, first, other, categories[first], categories[other])
        for first, *others in groups
        for other in others
    )


def read_off_copies(rows: Any, recodings: Iterable[Recoding]) -> Any:
    """Rows with the values of copies where a column misses its own; the rows given stay as they are."""
    filled = rows
    for one in recodings if isinstance(rows, np.ndarray) and rows.dtype.kind == "f" else ():
        holes = np.flatnonzero(np.isnan(filled[:, one.column]))
        values = one.values(rows[holes, one.copy])
        if not np.isnan(values).all():
            filled = filled.copy() if filled is rows else filled
            filled[holes, one.column] = values
    return filled


def _learned(
    rows: np.ndarray, column: int, copy: int, kept: tuple[Any, ...] | None, others: tuple[Any, ...] | None
) -> Recoding:
    values = np.stack([rows[:, copy], rows[:, column]], axis=1).astype(np.float64)
    values = values[~np.isnan(values).any(axis=1)]
    if kept is None and others is None:
        line, missed = _line(*values.T)
        if line is not None:
            return Recoding(column, copy, line, missed)
    for place, names in enumerate((others, kept)):
        if names is not None:  # without what shares one code, and the unseen have too
            values = values[values[:, place] < len(names)]
    pairs = np.unique(values, axis=0)
    if len(pairs) > MOST_PAIRS:
        return Recoding(column, copy)
    return Recoding(column, copy, pairs=tuple((float(value), float(own)) for value, own in pairs))


def _line(x: np.ndarray, y: np.ndarray) -> tuple[tuple[float, float] | None, float]:
    """The line through all points, and by how much it misses one at most; None where there is none."""
    with np.errstate(all="ignore"):
        away = x - x.mean() if len(x) else x
        slope = float(away @ (y - y.mean()) / (away @ away)) if len(x) else np.nan
        offset = float(y.mean() - slope * x.mean()) if len(x) else np.nan
        missed = float(np.abs(slope * x + offset - y).max()) if len(x) else np.nan
        fits = np.isfinite([slope, offset, missed]).all() and missed <= MOST_MISSED * y.std()
    return ((slope, offset), missed) if fits else (None, 0.0)
