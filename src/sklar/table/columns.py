"""A table's columns as they are: numbers or categories, missing values in either, and a clear word for the rest.

A table of plain numbers is left to scikit-learn's own checks. Any other is read column by column: numbers and booleans
as float64 with NaN where missing, everything else as Python objects with None where missing.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

# A cell of text longer than this is a document or a mistake, not a category.
LONGEST_TEXT = 2**17
NUMBERS = (Real, np.number, np.bool_)
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?$")
DATE_HINT = "sklar has no word for dates: turn it into numbers first (days since a day, month, weekday, hour)"


class Column(NamedTuple):
    """One column: float64 (NaN is missing), or objects (None is missing) where it holds categories."""

    name: str
    values: np.ndarray

    @property
    def is_text(self) -> bool:
        """Whether it holds categories."""
        return self.values.dtype == object


def read_columns(X: Any) -> list[Column] | None:
    """The columns of a table with anything but plain numbers in it; None for plain numbers, and for what is no table.

    Examples
    --------
    >>> [column.values.tolist() for column in read_columns(np.array([["a", 1.5], [None, 2]], dtype=object))]
    [['a', None], [1.5, 2.0]]
    """
    names = column_names(X)
    if names is not None:
        _refuse_repeated(names)
    for is_kind, read in _READERS:
        if is_kind(X):
            return read(X)
    return None


def number_columns(X: Any, names: list[str]) -> list[Column]:
    """The columns of a table of plain numbers, sparse or not."""
    X = X.toarray() if hasattr(X, "toarray") else X
    return [Column(name, values) for name, values in zip(names, np.asarray(X, dtype=np.float64).T, strict=True)]


def column_names(X: Any) -> list[str] | None:
    """The names that a table gives its columns, if it does."""
    if isinstance(X, dict):
        return [str(name) for name in X]
    for module, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if _is(X, module, kind):
            return [str(name) for name in (X.column_names if module == "pyarrow" else X.columns)]
    return None


def from_objects(name: str, values: Iterable[Any]) -> Column:
    """A column of Python objects: all numbers, or all text; None and NaN are missing."""
    values = np.fromiter(values, dtype=object)
    kinds = {kind: _kind_of(kind) for kind in set(map(type, values))}
    if "date" in kinds.values():
        raise ValueError(f"column {name!r} holds dates; {DATE_HINT}")
    for kind, what in kinds.items():
        if what == "unknown":
            raise TypeError(f"column {name!r}: the argument must be a string or a real number, not {kind.__name__!r}")
    if "text" not in kinds.values():
        return Column(name, np.array([np.nan if kinds[type(v)] == "missing" else float(v) for v in values]))
    for row, value in enumerate(values):
        what = kinds[type(value)]
        if what == "text":
            if len(value) > LONGEST_TEXT:
                raise ValueError(
                    f"column {name!r}, row {row}: a cell of {len(value)} characters, at most {LONGEST_TEXT} are read"
                )
        elif what == "missing" or value != value:
            values[row] = None
        else:
            text = next(i for i, v in enumerate(values) if kinds[type(v)] == "text")
            raise ValueError(
                f"column {name!r} mixes text ({_short(values[text])} in row {text}) and numbers ({value!r} in row "
                f"{row}); make it one or the other"
            )
    if all(value is None or ISO_DATE.match(value) for value in values):
        raise ValueError(f"column {name!r} holds dates as text; {DATE_HINT}")
    return Column(name, values)


def _kind_of(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if kind.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    if issubclass(kind, DATES):
        return "date"
    return "number" if issubclass(kind, NUMBERS) or kind.__name__ == "Decimal" else "unknown"


def _from_categories(name: str, categories: Iterable[Any], codes: np.ndarray) -> Column:
    """A column that its table says is categorical: whatever the categories are, they are categories."""
    values = list(categories)
    kinds = {_kind_of(type(value)) for value in values}
    if not kinds <= {"text", "number"}:
        hint = DATE_HINT if "date" in kinds else "categories must be text, numbers or booleans"
        raise ValueError(f"column {name!r} has categories of another kind; {hint}")
    if "text" in kinds:
        values = from_objects(name, values).values.tolist()
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return Column(name, np.array([*plain, None], dtype=object)[codes])  # code -1 is the last


def _refuse_repeated(names: list[str]) -> None:
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"column {repeated!r} stands in the table more than once; rename one")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


# Readers: one for each kind of table.


def _is(X: Any, module: str, kind: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(X, getattr(loaded, kind))


def _read_dict(X: dict[str, np.ndarray]) -> list[Column]:
    """Named numpy columns."""
    columns = []
    for name, values in X.items():
        if values.dtype.kind in "mM":
            raise ValueError(f"column {name!r} holds dates; {DATE_HINT}")
        objects = values.dtype.kind in "OUS"
        columns.append(from_objects(name, values) if objects else Column(name, values.astype(np.float64)))
    return columns


def _read_array(X: Any) -> list[Column] | None:
    if isinstance(X, (list, tuple)):
        try:
            X = np.array(X, dtype=object) if np.asarray(X).dtype.kind in "OUS" else np.asarray(X)
        except ValueError:  # rows of different lengths
            return None
    if X.ndim != 2 or X.dtype.kind not in "OUS":
        return None
    return [from_objects(f"x{j}", column) for j, column in enumerate(X.astype(object).T)]


def _read_pandas(X: Any) -> list[Column] | None:
    import pandas as pd
    from pandas.api import types

    if all(types.is_numeric_dtype(kind) for kind in X.dtypes):
        return None
    columns = []
    for j, (label, kind) in enumerate(X.dtypes.items()):
        name, values = str(label), X.iloc[:, j]
        if isinstance(kind, pd.CategoricalDtype):
            columns.append(_from_categories(name, kind.categories, values.cat.codes.to_numpy()))
        elif types.is_complex_dtype(kind):
            raise ValueError(f"column {name!r}: Complex data not supported")
        elif types.is_numeric_dtype(kind):
            columns.append(Column(name, values.to_numpy(dtype=np.float64, na_value=np.nan)))
        elif types.is_datetime64_any_dtype(kind) or types.is_timedelta64_dtype(kind) or kind.name.startswith("period"):
            raise ValueError(f"column {name!r} holds dates; {DATE_HINT}")
        else:
            columns.append(from_objects(name, values.astype(object).where(values.notna(), None)))
    return columns


def _read_polars(X: Any) -> list[Column] | None:
    import polars as pl

    def is_number(kind: Any) -> bool:
        return kind.is_numeric() or kind == pl.Boolean

    if all(is_number(kind) for kind in X.dtypes) and not any(series.null_count() for series in X):
        return None
    columns = []
    for series in X:
        if series.dtype.is_temporal():
            raise ValueError(f"column {series.name!r} holds dates; {DATE_HINT}")
        if is_number(series.dtype):
            columns.append(Column(series.name, series.cast(pl.Float64).to_numpy()))
        else:
            text = series.dtype in (pl.String, pl.Categorical, pl.Enum)
            columns.append(from_objects(series.name, (series.cast(pl.String) if text else series).to_list()))
    return columns


def _read_arrow(X: Any) -> list[Column] | None:
    import pyarrow as pa

    def is_number(kind: Any) -> bool:
        return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)

    if all(is_number(kind) for kind in X.schema.types) and not any(column.null_count for column in X.columns):
        return None
    columns = []
    for name, column in zip(X.column_names, X.columns, strict=True):
        kind = column.type
        if pa.types.is_temporal(kind):
            raise ValueError(f"column {name!r} holds dates; {DATE_HINT}")
        if is_number(kind):
            whole = column.cast(pa.int8()) if pa.types.is_boolean(kind) else column
            columns.append(Column(name, whole.cast(pa.float64()).to_numpy()))
        elif pa.types.is_dictionary(kind):
            whole = column.unify_dictionaries().combine_chunks()
            whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
            codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            columns.append(_from_categories(name, whole.dictionary.to_pylist(), codes.astype(np.intp)))
        else:
            columns.append(from_objects(name, column.to_pylist()))
    return columns


_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], list[Column] | None]], ...] = (
    (lambda X: isinstance(X, dict), _read_dict),
    (lambda X: isinstance(X, (np.ndarray, list, tuple)), _read_array),
    (lambda X: _is(X, "pandas", "DataFrame"), _read_pandas),
    (lambda X: _is(X, "polars", "DataFrame"), _read_polars),
    (lambda X: _is(X, "pyarrow", "Table"), _read_arrow),
)
