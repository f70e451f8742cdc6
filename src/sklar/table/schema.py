"""The columns of a table as a model knows them: names, kinds, encoding, scaling, and which gate opens which.

`read_training_table` sees a table for the first time, in `fit`; `Schema.read` sees others as that one was.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array, check_consistent_length, check_X_y
from sklearn.utils.validation import validate_data

from sklar.table.adapter import NamedColumns, Table, adapt
from sklar.table.columns import Column
from sklar.table.dates import refuse_dates
from sklar.table.doubts import doubt_about, warn_about_classes
from sklar.table.encoding import Categories, Encoding, learn_categories
from sklar.table.gating import Gating
from sklar.table.recoding import Recoding, read_off_copies
from sklar.table.scaling import BLOCK_ENTRIES, EVERY, require_finite
from sklar.table.sparse import by_columns, dense, like
from sklar.table.target_values import check_target, plain_target
from sklar.table.weights import arranged, weights_of_rows, without_zeros

UNCHECKED = {"ensure_all_finite": False, "ensure_min_samples": 2}


class TrainingTable(NamedTuple):
    """A table that was read for the first time."""

    owner: str  # the estimator that errors name
    names: tuple[str, ...]
    labels: str  # where the names come from: "text" or "other" labels of the table, or "position"
    categories: Categories | None  # None where all columns are plain numbers
    rows: Any  # see `encoding`; or CSR
    y: np.ndarray
    weight: np.ndarray | None  # what rows count
    order: np.ndarray | None  # the number of each row among those that were given; None where it is the same


@dataclass(frozen=True)
class Schema:
    """How the columns of a table become the inputs of a network, and what the network says of them again."""

    owner: str
    names: tuple[str, ...]
    labels: str
    encoding: Encoding
    gating: Gating  # which columns the network reads, and the gates that open them
    recodings: tuple[Recoding, ...] = ()  # how columns are read off exact copies of them

    @classmethod
    def of(cls, table: TrainingTable, params: dict[str, Any], encoding: Encoding | None = None) -> Schema:
        """The schema of a training table: all its columns, but for those that the parameters forbid.

        An `encoding` that was learned from more rows than the table has replaces the table's own.
        """
        names, found, dates = list(table.names), table.categories, params.get("dates")
        if dates is None and found is not None and found.dates.any():
            raise refuse_dates(names[int(found.dates.argmax())])
        one_scale = params.get("scaling") == "global"
        encoding = encoding or Encoding.of(table.rows, names, found, dates == "parts", one_scale)
        encoding.require_room(table.rows.shape[0], names)
        if encoding.empty:
            empty = ", ".join(repr(names[j]) for j in encoding.empty)
            warnings.warn(f"no row has a value in column {empty}: never selected", stacklevel=3)
        gating = Gating.of(params, names, encoding.widths(), encoding.empty)
        return cls(table.owner, table.names, table.labels, encoding, gating)

    def only(self, gates: Any) -> Schema:
        """The same, reading the columns of these gates alone; they are numbered from 0 in their order."""
        return replace(self, gating=self.gating.only(np.asarray(gates)))

    @property
    def n_columns(self) -> int:
        """Of the table."""
        return len(self.names)

    @property
    def columns(self) -> np.ndarray:
        """The columns that the network reads, gate by gate (the union): (c,)."""
        return self.gating.columns

    @property
    def gates(self) -> np.ndarray:
        """The gate of each of these columns, ascending: (c,)."""
        return self.gating.gate_of_column

    @property
    def text_columns(self) -> list[str]:
        """The columns that hold categories."""
        return [name for name, kept in zip(self.names, self.encoding.categories, strict=True) if kept is not None]

    @property
    def first_columns(self) -> np.ndarray:
        """The first column of each gate, which stands for it: (gates,)."""
        return self.columns[np.searchsorted(self.gates, np.arange(self.gates[-1] + 1))]

    def read(self, X: Any) -> Any:
        """A table's rows (see `encoding`), or CSR; only the columns that the network reads must be known to it."""
        table = adapt(X)
        _require_columns(table)
        columns, checks = table.columns(), _checks(self.owner)
        checks.n_features_in_ = self.n_columns
        if self.labels != "position":
            self._require_names(table)
        if self.labels == "text":
            checks.feature_names_in_ = np.array(self.names, dtype=object)
        if columns is None and not self.encoding.has_text and not self.encoding.dates.any():
            given = {"dtype": "numeric", "accept_sparse": "csr", "ensure_all_finite": False}
            rows = _as_torch_can(validate_data(checks, table.native, reset=False, **given))
        else:
            if not isinstance(table, NamedColumns):
                validate_data(checks, table.native, reset=False, skip_check_array=True)
            columns = columns or table.number_columns(self.names)
            rows = check_array(self.encoding.rows(columns, self.columns), ensure_all_finite=False, estimator=self.owner)
        rows = self.read_off_copies(rows)
        require_finite(rows, list(self.names), self._read, missing=True)
        self.encoding.warn_unseen(rows, list(self.names), self._read)
        return rows

    def read_off_copies(self, rows: Any) -> Any:
        """Rows in which a column that is read, and has no value, has that which an exact copy of it says."""
        return read_off_copies(rows, self.recodings_read)

    @cached_property
    def recodings_read(self) -> tuple[Recoding, ...]:
        """Those of the columns that the network reads."""
        read = set(self.columns.tolist())
        return tuple(one for one in self.recodings if one.column in read)

    def differing_copies(self, row: np.ndarray) -> set[tuple[str, str]]:
        """Columns that are read, and copies of them that say something else, or nothing, in one row (1, d)."""
        found = [one for one in self.recodings_read if one.differ(row)[0]]
        return {(self.names[one.column], self.names[one.copy]) for one in found}

    def value(self, rows: np.ndarray, row: int, column: int) -> Any:
        """What a row of `read` has in a column of numbers or categories; None where it is missing, or a date."""
        value, kept = float(rows[row, column]), self.encoding.categories[column]
        if np.isnan(value) or self.encoding.dates[column]:
            return None
        return value if kept is None else kept[int(value)] if value < len(kept) else None

    def absent(self, rows: Any) -> np.ndarray:
        """Where rows miss a value that no row of fit missed, in columns that are read: bool (n, d)."""
        absent = np.zeros(rows.shape, dtype=bool)
        found = None if sparse.issparse(rows) else self.encoding.absent(rows[:, self._read], self._read)
        if found is not None:
            absent[:, self._read] = found
        return absent

    def withheld(self, rows: Any, part: slice = EVERY) -> np.ndarray | None:
        """The gates of rows, or of a part of them, that miss such a value: bool (n, gates); None where none does."""
        if sparse.issparse(rows):
            return None
        absent = self.encoding.absent(rows[part][:, self._read], self._read)
        if absent is None:
            return None
        first = np.searchsorted(self.gates, np.arange(self.gates[-1] + 1))
        return np.logical_or.reduceat(absent, first, axis=1)

    def inputs(self, rows: Any, part: slice = EVERY) -> np.ndarray:
        """What the network is given of rows, or of a part of them: float64 (n, D)."""
        return self.encoding.apply(dense(rows[part], self._read), self._read)

    def training_inputs(self, rows: Any) -> np.ndarray:
        """The same of all rows in float32, block by block: all that training copies of a table (n, D)."""
        width = self.gating.gates.n_inputs
        result: np.ndarray = np.empty((rows.shape[0], width), dtype=np.float32)
        size = max(1, BLOCK_ENTRIES // width)
        for start in range(0, rows.shape[0], size):
            part = slice(start, start + size)
            result[part] = self.inputs(rows, part)
        return result

    def column_inputs(self, rows: Any) -> Callable[[slice], np.ndarray]:
        """A reader of blocks of the columns that may be read, in float32: slice -> (n, W)."""
        table, columns = by_columns(rows), self._read

        def block(part: slice) -> np.ndarray:
            read = part if isinstance(columns, slice) else columns[part]  # a slice copies nothing
            return self.encoding.apply(dense(table, read), read).astype(np.float32)

        return block

    def widen(self, rows: Any, by_gate: np.ndarray) -> Any:
        """What the network says of every gate (n, gates) as columns of the table (n, d), 0 elsewhere."""
        by_column = by_gate if by_gate.shape[1] == len(self.columns) else by_gate[:, self.gates]
        return like(rows, by_column, self.columns, self.n_columns)

    @cached_property
    def _read(self) -> slice | np.ndarray:
        """The columns that the network reads; a slice, which copies nothing, where that is all of them."""
        return EVERY if np.array_equal(self.columns, np.arange(self.n_columns)) else self.columns

    def _require_names(self, table: Table) -> None:
        """Raise for labels in another order that scikit-learn does not compare: keys of a dict, or not text."""
        compared = self.labels == table.labels == "text" and not isinstance(table, NamedColumns)
        if table.names is not None and table.names != list(self.names) and not compared:
            known, got = (", ".join(names[:10]) for names in (self.names, table.names))
            raise ValueError(f"the feature names should be those of fit, in their order: {known}; got {got}")


def read_training_table(
    X: Any, y: Any, sample_weight: Any, owner: str, survival: bool = False, known: Categories | None = None
) -> TrainingTable:
    """A table, its target and what rows count, checked; `survival` is a target of events and times.

    Categories are those of the table, unless those of a larger one are `known`.
    """
    check_target(y)
    warn_about_classes(y)
    X, y, weight = without_zeros(X, plain_target(y), weights_of_rows(sample_weight, X))
    table = adapt(X)
    _require_columns(table)
    columns, pairs = table.columns(), survival and y is not None
    categories = None
    if columns is None:
        rows, y = _read_numbers(table, y, owner, pairs)
    else:
        categories, rows, y = _read_columns(table, columns, y, owner, pairs, known)
    placed = arranged(_as_torch_can(rows), y, weight)
    names = table.names or [f"x{j}" for j in range(rows.shape[1])]
    return TrainingTable(owner, tuple(names), table.labels, categories, *placed)


def _require_columns(table: Table) -> None:
    if table.names == []:
        raise ValueError(f"Found array with 0 feature(s) (shape=({table.n_rows}, 0)) while a minimum of 1 is required")


def _as_torch_can(rows: Any) -> Any:
    """Rows in a type that torch has too: no longdouble."""
    return rows.astype(np.float64) if rows.dtype == np.longdouble else rows


def _read_numbers(table: Table, y: Any, owner: str, pairs: bool) -> tuple[Any, np.ndarray]:
    """A table of plain numbers, by scikit-learn's own checks, which do not know `pairs` of an event and a time."""
    given = {**UNCHECKED, "dtype": "numeric", "accept_sparse": "csr"}
    if not pairs:
        return validate_data(_checks(owner), table.native, y, multi_output=_is_wide(y), **given)
    rows = validate_data(_checks(owner), table.native, "no_validation", **given)
    check_consistent_length(rows, y)
    return rows, np.asarray(y)


def _read_columns(
    table: Table, columns: list[Column], y: Any, owner: str, pairs: bool, known: Categories | None
) -> tuple[Categories, np.ndarray, np.ndarray]:
    """Any other table, column by column."""
    if not isinstance(table, NamedColumns):
        validate_data(_checks(owner), table.native, y, skip_check_array=True)
    check_consistent_length(columns[0].values, y)
    for column in columns if known is None else ():
        doubt = doubt_about(column)
        if doubt is not None:
            warnings.warn(f"column {column.name!r} holds {doubt}", stacklevel=4)
    categories, rows = learn_categories(columns, known)
    if pairs:
        return categories, check_array(rows, estimator=owner, **UNCHECKED), np.asarray(y)
    rows, y = check_X_y(rows, y, multi_output=_is_wide(y), estimator=owner, **UNCHECKED)
    return categories, rows, y


def _is_wide(y: Any) -> bool:
    shape = np.asarray(y).shape
    return len(shape) == 2 and shape[1] > 1


class _Checks(BaseEstimator):
    """What scikit-learn's checks of a table ask of an estimator: its name, and what it knows of columns."""

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _checks(owner: str) -> _Checks:
    return _checks_class(owner)()


@cache
def _checks_class(owner: str) -> type[_Checks]:
    """Named as the estimator is: errors read the name off the class."""
    return type(owner, (_Checks,), {})
