"""What `fit` must know of all rows of a table to encode it: means and deviations, missing values, categories.

Summaries of parts of a table are merged into that of the whole, so a table is read once and in any parts:

    n = n_a + n_b,  mean = mean_a + (mean_b - mean_a) n_b / n,  M2 = M2_a + M2_b + (mean_b - mean_a)^2 n_a n_b / n

with M2 the sum of squared deviations (Chan, Golub and LeVeque). The result is that of `Encoding.of` up to rounding.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklar.table.adapter import adapt
from sklar.table.columns import Column, from_categories, from_objects
from sklar.table.doubts import warn_about_values
from sklar.table.encoding import Encoding, frequent, spread_of_counts
from sklar.table.scaling import Scaling, require_finite

# Different values that are counted exactly. Of a column with more (names, ids) the rarer half is forgotten when so many
# have come up: a category that makes up more than one in 65,536 of the rows is never lost.
MOST_COUNTED = 2**17


@dataclass(frozen=True)
class Moments:
    """Of each column: how many values are there, their mean, and the sum of their squared deviations."""

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> Moments:
        """Of rows (n, d), NaN where missing."""
        there = ~np.isnan(rows)
        count = there.sum(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.where(there, rows, 0.0).sum(axis=0) / np.maximum(count, 1)
            squares = np.square(np.where(there, rows - mean, 0.0)).sum(axis=0)
        return cls(count, mean, squares)

    def merged(self, other: Moments) -> Moments:
        """Those of both together."""
        count = self.count + other.count
        with np.errstate(over="ignore", invalid="ignore"):
            step, share = other.mean - self.mean, other.count / np.maximum(count, 1)
            squares = self.squares + other.squares + np.square(step) * self.count * share
            return Moments(count, self.mean + step * share, squares)


class Learned(NamedTuple):
    """What one column comes to."""

    centre: float
    spread: float
    kept: tuple[Any, ...] | None  # its categories; None: numbers
    missing: bool
    others: float = 0.0  # the share of rows with other categories
    is_date: bool = False


NO_VALUE = Learned(0.0, 1.0, (), missing=True)


@dataclass
class Values:
    """How often each category of a column was seen."""

    counts: Counter[Any] = field(default_factory=Counter)
    forgotten: int = 0  # values that are no longer counted
    declared: bool = False  # the table says that it is categorical, so that numbers are categories too

    def merged(self, other: Values) -> Values:
        """Those of both together."""
        found = Values(self.counts + other.counts, self.forgotten + other.forgotten, self.declared or other.declared)
        if len(found.counts) > MOST_COUNTED:
            kept = found.counts.most_common(MOST_COUNTED // 2)
            found.forgotten += found.counts.total() - sum(count for _, count in kept)
            found.counts = Counter(dict(kept))
        return found

    def learned(self, name: str, n_rows: int) -> Learned:
        """The categories to keep; or, where all values are dates as text, days."""
        if not self.counts:
            return NO_VALUE
        column = (from_categories if self.declared else from_objects)(name, self.counts)
        counts, present = np.array(list(self.counts.values())), self.counts.total() + self.forgotten
        if column.is_date:
            return self._days(column, counts, present < n_rows)
        warn_about_values(column)
        kept, others = frequent(Counter(dict(zip(column.values, counts.tolist(), strict=True))), n_rows)
        states = [self.counts[value] for value in kept]
        spread = spread_of_counts([*states, present - sum(states), n_rows - present])
        return Learned(0.0, spread, kept, present < n_rows, others + self.forgotten / n_rows)

    def _days(self, column: Column, counts: np.ndarray, missing: bool) -> Learned:
        if self.forgotten:
            many = f"column {column.name!r} holds more than {MOST_COUNTED} different dates as text"
            raise ValueError(f"{many}; store it as dates, or leave it out")
        days = column.numbers()
        mean = np.average(days, weights=counts)
        spread = np.sqrt(np.average((days - mean) ** 2, weights=counts))
        return Learned(float(mean), float(spread), None, missing, is_date=True)


@dataclass(frozen=True)
class Summary:
    """Of some rows of a table; `moments` are of the columns of numbers and dates, in their order."""

    names: tuple[str, ...]
    n_rows: int
    moments: Moments
    dates: frozenset[str]  # columns of numbers that are days
    values: dict[str, Values]  # of the other columns

    @classmethod
    def of(cls, table: Any, first_row: int = 0) -> Summary:
        """Of an Arrow table whose first row has this number in the whole; infinity is an error that names the row."""
        texts = [name for name in table.column_names if is_text(table.schema.field(name).type)]
        rows, dates = _numbers(table.drop_columns(texts), table.num_rows)
        numbers = [name for name in table.column_names if name not in texts]
        require_finite(rows, numbers, missing=True, first_row=first_row)
        values = {name: _values(table.column(name)) for name in texts}
        return cls(tuple(table.column_names), table.num_rows, Moments.of(rows), dates, values)

    def merged(self, other: Summary) -> Summary:
        """Of both together; columns must be the same."""
        values = {name: one.merged(other.values[name]) for name, one in self.values.items()}
        moments, dates = self.moments.merged(other.moments), self.dates | other.dates
        return Summary(self.names, self.n_rows + other.n_rows, moments, dates, values)

    def encoding(self, with_cycles: bool = False, one_scale: bool = False) -> Encoding:
        """How every column becomes inputs, as `Encoding.of` says for a table in memory."""
        found = [self._column(name) for name in self.names]
        centre, spread = (np.array([getattr(one, part) for one in found]) for part in ("centre", "spread"))
        numbers = np.array([one.kept is None for one in found])
        scaling = Scaling.of_moments(centre, spread, self.n_rows, list(self.names), numbers if one_scale else None)
        missing, dates = (
            np.array([getattr(one, part) for one in found], dtype=bool) for part in ("missing", "is_date")
        )
        others = np.array([one.others for one in found])
        return Encoding(scaling, missing, tuple(one.kept for one in found), others, dates, with_cycles)

    def _column(self, name: str) -> Learned:
        """What one column comes to."""
        if name in self.values:
            return self.values[name].learned(name, self.n_rows)
        place = [other for other in self.names if other not in self.values].index(name)
        count = int(self.moments.count[place])
        if not count:
            return NO_VALUE
        spread = float(np.sqrt(self.moments.squares[place] / count))
        return Learned(float(self.moments.mean[place]), spread, None, count < self.n_rows, is_date=name in self.dates)


def summarise(tables: Any) -> Summary:
    """Of consecutive parts of a table.

    Examples
    --------
    >>> import pyarrow
    >>> summarise([pyarrow.table({"a": [1.0, 2.0]}), pyarrow.table({"a": [6.0]})]).moments.mean.tolist()
    [3.0]
    """
    whole: Summary | None = None
    for table in tables:
        part = Summary.of(table, 0 if whole is None else whole.n_rows)
        whole = part if whole is None else whole.merged(part)
    if whole is None:
        raise ValueError("the table has no rows")
    return whole


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds categories."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)


def _numbers(table: Any, n_rows: int) -> tuple[np.ndarray, frozenset[str]]:
    """Columns of numbers, booleans and dates, NaN where missing, float64 (n, d), and which are dates.

    Lists and the like are errors that name the column.
    """
    if not table.num_columns:
        return np.empty((n_rows, 0)), frozenset()
    adapted = adapt(table)
    columns = adapted.columns()
    if columns is None:
        return adapted.dense().astype(np.float64), frozenset()
    dates = frozenset(column.name for column in columns if column.is_date)
    return np.column_stack([column.numbers() for column in columns]).astype(np.float64), dates


def _values(column: Any) -> Values:
    """The categories of an Arrow column."""
    from pyarrow import types

    counted = column.value_counts()
    labels, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    found = {label: count for label, count in zip(labels, counts, strict=True) if label is not None and label == label}
    return Values(Counter(found), declared=types.is_dictionary(column.type))
