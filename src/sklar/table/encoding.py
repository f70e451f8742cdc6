"""From a table's columns to the inputs of a network: one or more inputs a column, and one gate.

    number                         (x - centre) / spread
    number, some missing in fit    the same, 0 where missing; and 1 where missing
    date (dates="parts")           the same of its days, and six of its cycles (see `dates`)
    categories                     one input a category seen in fit, 1 / spread where the row has it;
                                   the rarest beyond `MOST_CATEGORIES` share one, and "missing" has its own if seen

The spread of a categorical column makes its inputs together vary as much as a column of numbers does. Nothing is
imputed: a missing value is a state of its own, which a model may find informative. A category that fit never saw is
"other": the input that the rare ones share, or, where none were pooled, none of the inputs. A value that is missing in
a column that had none missing in fit is unknown to the model: its inputs are 0, and its gate is shut (`absent`). A
column without any value in fit has no categories, and no gate.

Between table and inputs stand *rows*: float64 (n, d), numbers as they are, categories as codes, dates as days, missing
as NaN.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sklar.table.columns import Column
from sklar.table.dates import N_CYCLES, cycles
from sklar.table.kinds import States, coded, rows_as_in_fit
from sklar.table.scaling import EVERY, Scaling, require_finite

# A column with more categories keeps this many of the most frequent; the others become one.
MOST_CATEGORIES = 255
# A share of rows whose category fit did not see, which is no news: rare ones.
USUALLY_UNSEEN = 0.005
# Rows times inputs of an encoded table (float32: 8 GiB).
MOST_ENTRIES = 2**31


class Categories(NamedTuple):
    """The categories of a table's columns."""

    of_column: tuple[States | None, ...]  # None: numbers; (): no value in any row
    others: np.ndarray  # (d,): the share of rows that hold more than these
    dates: np.ndarray  # bool (d,): numbers that are days


def learn_categories(columns: list[Column], known: Categories | None = None) -> tuple[Categories, np.ndarray]:
    """The categories of a table's columns, unless those of a larger table are `known`, and its rows."""
    if known is not None:
        return known, rows_as_in_fit(columns, known.of_column, known.dates)
    found = [_frequent(column) if column.is_text else (None, 0.0) for column in columns]
    categories = Categories(
        tuple(kept for kept, _ in found),
        np.array([rest for _, rest in found]),
        np.array([column.is_date for column in columns], dtype=bool),
    )
    return categories, coded(columns, categories.of_column)


@dataclass(frozen=True)
class Encoding:
    """How every column of a table becomes inputs."""

    scaling: Scaling
    missing: np.ndarray  # bool (d,): fit saw a missing value
    categories: tuple[States | None, ...]  # of each column; None: numbers
    others: np.ndarray  # (d,): the share of rows in fit with categories beyond these, which are one input
    dates: np.ndarray  # bool (d,): numbers that are days
    with_cycles: bool = False  # dates are season, weekday and hour too

    @classmethod
    def of(
        cls,
        rows: Any,
        names: list[str],
        found: Categories | None = None,
        with_cycles: bool = False,
        one_scale: bool = False,
    ) -> Encoding:
        """The encoding of rows, NaN where missing; no categories were `found` where all columns are numbers.

        `one_scale` divides all numbers by the same deviation.
        """
        d, missing = rows.shape[1], _holds_nan(rows)
        require_finite(rows, names, missing=True)
        empty = [j for j in np.flatnonzero(missing).tolist() if np.isnan(rows[:, j]).all()]
        of_column, others, dates = found or Categories((None,) * d, np.zeros(d), np.zeros(d, dtype=bool))
        numbers = np.array([kept is None for kept in of_column])
        scaling = Scaling.of(rows, names, empty, numbers if one_scale else None)
        categories = tuple(() if j in empty else kept for j, kept in enumerate(of_column)) if empty else of_column
        for j in np.flatnonzero([kept is not None for kept in categories]):
            scaling.centre[j], scaling.spread[j] = 0.0, _spread_of_codes(rows[:, j])
        return cls(scaling, missing, categories, others, dates, with_cycles)

    @property
    def found(self) -> Categories:
        """The categories, as `learn_categories` gives them."""
        return Categories(self.categories, self.others, self.dates)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every column is one input, a number as it is."""
        return not self.missing.any() and not self.dates.any() and all(kept is None for kept in self.categories)

    @property
    def empty(self) -> list[int]:
        """The columns that had no value in any row of fit."""
        return [j for j, kept in enumerate(self.categories) if kept == ()]

    @property
    def pooled(self) -> np.ndarray:
        """Which columns have categories that share one input: bool (d,)."""
        return self.others > 0

    @property
    def has_text(self) -> bool:
        """Whether any column holds categories."""
        return any(kept is not None for kept in self.categories)

    def widths(self) -> np.ndarray:
        """Inputs of each column: (d,)."""
        states = np.array([1 if kept is None else len(kept) for kept in self.categories], dtype=np.intp)
        return states + self.pooled + self.missing + N_CYCLES * (self.dates & self.with_cycles)

    def absent(self, rows: np.ndarray, columns: slice | np.ndarray = EVERY) -> np.ndarray | None:
        """Where rows (n, w) of these columns miss a value, and fit never did: bool (n, w); None where nowhere."""
        if not np.issubdtype(rows.dtype, np.floating):
            return None
        absent = np.isnan(rows) & ~self.missing[columns]
        return absent if absent.any() else None

    def rows(self, columns: list[Column], read: Collection[int] | None = None) -> np.ndarray:
        """A table's rows, as its columns were in fit; those that nothing has `read` may be of any kind."""
        return rows_as_in_fit(columns, self.categories, self.dates, read)

    def warn_unseen(self, rows: Any, names: list[str], columns: slice | np.ndarray = EVERY) -> None:
        """Warn of columns with clearly more categories that fit did not keep than it saw: they may be misspelled."""
        for j in np.arange(len(names))[columns] if self.has_text else ():
            kept, before = self.categories[j], float(self.others[j])
            share = 0.0 if not kept or not len(rows) else float(np.mean(rows[:, j] >= len(kept)))
            usual = max(before, USUALLY_UNSEEN)
            if share > usual + 3 * np.sqrt(usual * (1 - usual) / max(1, len(rows))):  # 3 standard errors
                warnings.warn(
                    f"column {names[j]!r}: {100 * share:.3g}% of the rows hold categories that fit did not know "
                    f"({100 * before:.3g}% in fit); are they spelled as they were in fit?",
                    stacklevel=2,
                )

    def apply(self, rows: np.ndarray, columns: slice | np.ndarray = EVERY) -> np.ndarray:
        """The inputs of rows (n, w) that hold these columns alone, column by column: float64 (n, W)."""
        if self.is_plain:
            scaled = self.scaling.apply(rows, columns)
            np.copyto(scaled, 0.0, where=np.isnan(scaled))
            return scaled
        widths = self.widths()[columns]
        starts = np.concatenate([[0], np.cumsum(widths)])
        result = np.zeros((len(rows), starts[-1]))
        index = np.arange(len(self.categories))[columns]
        is_number = np.array([self.categories[j] is None for j in index], dtype=bool)
        numbers = np.flatnonzero(is_number)
        absent = np.isnan(rows)
        result[:, starts[numbers]] = np.where(
            absent[:, numbers], 0.0, self.scaling.apply(rows[:, numbers], index[numbers])
        )
        for place in np.flatnonzero(~is_number):
            j, start = index[place], starts[place]
            states = len(self.categories[j] or ()) + self.pooled[j]
            seen = np.flatnonzero(~absent[:, place] & (rows[:, place] < states))
            result[seen, start + rows[seen, place].astype(np.intp)] = 1 / self.scaling.spread[j]
        for place in np.flatnonzero(self.dates[index] & self.with_cycles):
            result[:, starts[place] + 1 : starts[place] + 1 + N_CYCLES] = cycles(rows[:, place])
        for place in np.flatnonzero(self.missing[index]):
            size = 1.0 if is_number[place] else 1 / self.scaling.spread[index[place]]
            result[:, starts[place + 1] - 1] = absent[:, place] * size
        return result

    def require_room(self, n: int, names: list[str]) -> None:
        """Raise if n rows of these columns have too many inputs, naming the column with most categories."""
        widths = self.widths()
        if not self.is_plain and n * int(widths.sum()) > MOST_ENTRIES:
            widest = names[int(widths.argmax())]
            raise ValueError(
                f"{n} rows x {widths.sum()} inputs of encoded columns are more than {MOST_ENTRIES} entries; column "
                f"{widest!r} alone has {widths.max()}: leave columns out, or merge categories"
            )

    def noise(self) -> np.ndarray:
        """How much a column of numbers varies, and 0 for categories: (d,)."""
        return np.where([kept is None for kept in self.categories], self.scaling.spread, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """What a file keeps besides the scaling."""
        return {
            "missing": self.missing.tolist(),
            "others": self.others.tolist(),
            "categories": [None if kept is None else list(kept) for kept in self.categories],
            "dates": self.dates.tolist(),
            "with_cycles": self.with_cycles,
        }

    @classmethod
    def from_dict(cls, scaling: Scaling, kept: dict[str, Any] | None) -> Encoding:
        """What `to_dict` gave; None is a table of plain numbers."""
        d = len(scaling.centre)
        no = [False] * d
        kept = kept or {"missing": no, "others": no, "categories": [None] * d, "dates": no, "with_cycles": False}
        categories = tuple(None if values is None else tuple(values) for values in kept["categories"])
        missing, dates = (np.array(kept[name], dtype=bool) for name in ("missing", "dates"))
        return cls(scaling, missing, categories, np.array(kept["others"], dtype=float), dates, kept["with_cycles"])


def _frequent(column: Column) -> tuple[States, float]:
    """The categories to keep, sorted, and the share of rows that hold others."""
    return frequent(Counter(value for value in column.values if value is not None), len(column.values))


def frequent(counts: Counter[Any], n_rows: int) -> tuple[States, float]:
    """The same of a column whose values were counted, in so many rows."""
    kept = sorted(counts, key=lambda value: (-counts[value], str(value)))[:MOST_CATEGORIES]
    others = counts.total() - sum(counts[value] for value in kept)
    return tuple(sorted(kept, key=str)), others / n_rows


def _holds_nan(X: Any) -> np.ndarray:
    """Which columns: bool (d,)."""
    if sparse.issparse(X) or not np.issubdtype(X.dtype, np.floating):
        return np.zeros(X.shape[1], dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        odd = np.isnan(X.sum(axis=0))
    odd[odd] = np.isnan(X[:, odd]).any(axis=0)  # a sum can also overflow both ways
    return odd


def _spread_of_codes(codes: np.ndarray) -> float:
    """The spread of a column of categories; NaN is one state."""
    return spread_of_counts(np.unique(codes, return_counts=True)[1])


def spread_of_counts(counts: Sequence[int] | np.ndarray) -> float:
    """sqrt(sum_c p_c (1 - p_c)): how much the indicators of all states together vary; 1 where there is one state."""
    counts = np.asarray(counts)
    shares = counts / counts.sum()
    return float(np.sqrt(1 - (shares**2).sum())) if (counts > 0).sum() > 1 else 1.0
