"""What `fit` must know of all rows of a table to encode it: means and deviations, missing values, categories.

Summaries of parts of a table are merged into that of the whole, so a table is read once and in any parts:

    n = n_a + n_b,  mean = mean_a + (mean_b - mean_a) n_b / n,  M2 = M2_a + M2_b + (mean_b - mean_a)^2 n_a n_b / n

with M2 the sum of squared deviations (Chan, Golub and LeVeque). The result is that of `Encoding.of` up to rounding.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklar.table.adapter import adapt
from sklar.table.columns import Column, from_categories, from_objects
from sklar.table.encoding import Categories, Encoding, frequent, spread_of_counts
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


@dataclass(frozen=True)
class Summary:
    """Of some rows of a table; `moments` are of the columns of numbers, in their order."""

    names: tuple[str, ...]
    n_rows: int
    moments: Moments
    values: dict[str, Values]  # of the other columns

    @classmethod
    def of(cls, table: Any, first_row: int = 0) -> Summary:
        """Of an Arrow table whose first row has this number in the whole; infinity is an error that names the row."""
        texts = [name for name in table.column_names if is_text(table.schema.field(name).type)]
        rows = _numbers(table.drop_columns(texts), table.num_rows)
        numbers = [name for name in table.column_names if name not in texts]
        require_finite(rows, numbers, missing=np.ones(len(numbers), dtype=bool), first_row=first_row)
        values = {name: _values(table.column(name)) for name in texts}
        return cls(tuple(table.column_names), table.num_rows, Moments.of(rows), values)

    def merged(self, other: Summary) -> Summary:
        """Of both together; columns must be the same."""
        values = {name: one.merged(other.values[name]) for name, one in self.values.items()}
        return Summary(self.names, self.n_rows + other.n_rows, self.moments.merged(other.moments), values)

    def encoding(self) -> Encoding:
        """How every column becomes inputs, as `Encoding.of` says for a table in memory."""
        d = len(self.names)
        numbers = [j for j, name in enumerate(self.names) if name not in self.values]
        centre, spread, present = np.zeros(d), np.ones(d), np.zeros(d, dtype=np.int64)
        present[numbers], centre[numbers] = self.moments.count, self.moments.mean
        spread[numbers] = np.sqrt(self.moments.squares / np.maximum(self.moments.count, 1))
        for j in numbers:
            if not present[j]:
                raise ValueError(f"column {self.names[j]!r} has no value in any row; leave it out")
        scaling = Scaling.of_moments(centre, spread, self.n_rows, list(self.names))
        categories, pooled = self.categories
        for j, name in enumerate(self.names):
            if name in self.values:
                kept = categories[j] or ()
                present[j] = self.values[name].counts.total() + self.values[name].forgotten
                states = [self.values[name].counts[value] for value in kept]
                scaling.spread[j] = spread_of_counts([*states, present[j] - sum(states), self.n_rows - present[j]])
        return Encoding(scaling, present < self.n_rows, categories, pooled)

    @property
    def categories(self) -> Categories:
        """The most frequent categories of each column."""
        found = [_kept(name, self.values[name]) if name in self.values else (None, False) for name in self.names]
        return Categories(tuple(kept for kept, _ in found), np.array([rest for _, rest in found], dtype=bool))


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


def _numbers(table: Any, n_rows: int) -> np.ndarray:
    """Columns of numbers and booleans, NaN where missing: float64 (n, d); dates and lists are errors that name it."""
    if not table.num_columns:
        return np.empty((n_rows, 0))
    adapted = adapt(table)
    columns = adapted.columns()
    if columns is None:
        return adapted.dense().astype(np.float64)
    return np.column_stack([column.values for column in columns]).astype(np.float64)


def _values(column: Any) -> Values:
    """The categories of an Arrow column."""
    from pyarrow import types

    counted = column.value_counts()
    labels, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    found = {label: count for label, count in zip(labels, counts, strict=True) if label is not None and label == label}
    return Values(Counter(found), declared=types.is_dictionary(column.type))


def _kept(name: str, values: Values) -> tuple[tuple[Any, ...], bool]:
    """The categories to keep, and whether others are left."""
    column: Column = (from_categories if values.declared else from_objects)(name, values.counts)
    kept, rest = frequent(name, Counter(dict(zip(column.values, values.counts.values(), strict=True))))
    return kept, rest or values.forgotten > 0
