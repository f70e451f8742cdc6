"""One adapter for every kind of table: numpy arrays and lists, sparse matrices, named columns (a dict), and the frames
that narwhals knows (pandas, polars, pyarrow).

`adapt` is the only place that asks what kind of table it was given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from sklar.table.columns import Column, from_categories, from_objects

WIDE = (nw.Int128, nw.UInt128, nw.Decimal)  # numbers that numpy has no type for


def adapt(X: Any) -> Table:
    """The adapter of a table.

    Examples
    --------
    >>> adapt({"a": np.array([5, 6, 7])}).take(np.array([2, 0]))
    {'a': array([7, 5])}
    """
    if sparse.issparse(X):  # first: scipy's DOK format is a dict too
        return SparseTable(X)
    if isinstance(X, dict):
        return NamedColumns(X)
    X = collected(X)
    if nw.dependencies.is_into_dataframe(X):
        return Frame(X)
    return ArrayTable(X)


def collected(X: Any) -> Any:
    """A table, read into memory where it is a query: a polars LazyFrame."""
    return X.collect() if nw.dependencies.is_polars_lazyframe(X) else X


class Table(ABC):
    """A table in a user's hands: read by column, and the model of what is handed back."""

    names: list[str] | None = None  # of the columns, where the table labels them
    labels = "position"  # what the labels are: "text", "other", or none, so that columns go by position

    def __init__(self, native: Any) -> None:
        self.native = native

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        return self.native.shape[0] if hasattr(self.native, "shape") else len(self.native)

    @abstractmethod
    def columns(self) -> list[Column] | None:
        """All columns, typed; None where all are plain numbers, which scikit-learn's own checks read."""

    def number_columns(self, names: Sequence[str]) -> list[Column]:
        """The same of a table of plain numbers, for a model that also reads others."""
        return [Column(name, values) for name, values in zip(names, self.dense().astype(np.float64).T, strict=True)]

    @abstractmethod
    def cells(self, j: int) -> Any:
        """Column j, to be read by row."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Any:
        """Some rows, as the same kind of table."""

    @abstractmethod
    def dense(self) -> np.ndarray:
        """All of it as an array."""

    def like(self, values: Any, names: list[str], per_row: bool = True) -> Any:
        """`values` (n, m) as the same kind of table; with `per_row` they keep the labels of the rows."""
        return values

    def row_labels(self, rows: np.ndarray) -> list[str]:
        """What a reader calls rows: their label, where the table has one, else their number."""
        return [str(row) for row in rows]


def complex_column(name: str) -> ValueError:
    """What is raised about a column of complex numbers."""
    return ValueError(f"column {name!r}: Complex data not supported; give real and imaginary parts as two columns")


class ArrayTable(Table):
    """A numpy array (also in a file), lists, or whatever numpy makes an array of."""

    @property
    def n_rows(self) -> int:
        """Of the array."""
        return len(self.dense())

    def columns(self) -> list[Column] | None:
        """Objects and text column by column."""
        X = self.native
        if isinstance(X, (list, tuple)):
            try:
                X = np.array(X, dtype=object) if np.asarray(X).dtype.kind in "OUS" else np.asarray(X)
            except ValueError:  # rows of different lengths
                return None
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "c" and X.size:
            raise complex_column(f"x{X.imag.any(axis=0).argmax()}")
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "mM" and X.size:
            return [Column(f"x{j}", column, is_date=True) for j, column in enumerate(X.T)]
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OUS" or not X.shape[1]:
            return None
        return [from_objects(f"x{j}", column) for j, column in enumerate(X.astype(object).T)]

    def cells(self, j: int) -> Any:
        """Column j."""
        return self.dense()[:, j]

    def take(self, rows: np.ndarray) -> Any:
        """Some rows."""
        return self.dense()[rows]

    def dense(self) -> np.ndarray:
        """The array; numbers beside text in lists stay numbers."""
        values = np.asarray(self.native)
        is_mixed = values.dtype.kind in "US" and not hasattr(self.native, "dtype")
        return np.array(self.native, dtype=object) if is_mixed else values


class SparseTable(Table):
    """A scipy matrix or array of numbers."""

    def columns(self) -> None:
        """Numbers alone."""

    def cells(self, j: int) -> Any:
        """Column j."""
        return self.native.tocsc()[:, [j]].toarray()[:, 0]

    def take(self, rows: np.ndarray) -> Any:
        """Some rows, as CSR."""
        return self.native.tocsr()[rows]

    def dense(self) -> np.ndarray:
        """All entries."""
        return self.native.toarray()


class NamedColumns(Table):
    """A dict of columns: numpy arrays, as a file gives them, or whatever numpy makes an array of."""

    def __init__(self, native: dict[str, Any]) -> None:
        super().__init__({name: _one_column(str(name), values) for name, values in native.items()})
        self.names, self.labels = [str(name) for name in native], "text"
        for name, values in self.native.items():
            if len(values) != self.n_rows:
                raise ValueError(f"column {name!r} has {len(values)} rows, and the first column {self.n_rows}")

    @property
    def n_rows(self) -> int:
        """Of the first column."""
        return len(next(iter(self.native.values()), ()))

    def columns(self) -> list[Column]:
        """Every column by its numpy type."""
        return [self._column(name, values) for name, values in self.native.items()]

    def _column(self, name: str, values: np.ndarray) -> Column:
        if values.dtype.kind in "mM":
            return Column(name, values, is_date=True)
        if values.dtype.kind == "c":
            raise complex_column(name)
        return from_objects(name, values) if values.dtype.kind in "OUS" else Column(name, values.astype(np.float64))

    def cells(self, j: int) -> Any:
        """Column j."""
        return list(self.native.values())[j]

    def take(self, rows: np.ndarray) -> Any:
        """Some rows."""
        return {name: values[rows] for name, values in self.native.items()}

    def dense(self) -> np.ndarray:
        """The columns side by side."""
        return np.column_stack(list(self.native.values()))


class Frame(Table):
    """A DataFrame of pandas or polars, or an Arrow table."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        labels = list(getattr(native, "column_names", native.columns))  # pyarrow's columns are the values
        self.names = [str(label) for label in labels]
        self.labels = "text" if all(isinstance(label, str) for label in labels) else "other"
        if len(set(self.names)) < len(self.names):
            repeated = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"column {repeated!r} stands in the table more than once; rename one")
        self.frame = nw.from_native(native, eager_only=True)

    def columns(self) -> list[Column] | None:
        """Every column by its type; scikit-learn reads numbers, and of pandas also those with missing values."""
        series = [self.frame[:, j] for j in range(self.frame.shape[1])]
        is_pandas = self.frame.implementation.is_pandas_like()
        is_dense = not is_pandas or not _is_partly_sparse(self.native)
        if is_dense and all(_is_plain_number(one) and (is_pandas or not one.null_count()) for one in series):
            return None
        return self.number_columns(self.names or ())

    def number_columns(self, names: Sequence[str]) -> list[Column]:
        """Every column by its type."""
        return [_frame_column(name, self.frame[:, j]) for j, name in enumerate(names)]

    def cells(self, j: int) -> Any:
        """Column j; pandas' numbers as numpy's."""
        return self.frame[:, j].to_numpy() if self.frame.implementation.is_pandas_like() else self.frame[:, j].to_list()

    def take(self, rows: np.ndarray) -> Any:
        """Some rows, with their labels."""
        return self.frame[rows].to_native()

    def dense(self) -> np.ndarray:
        """The columns side by side."""
        return self.frame.to_numpy()

    def like(self, values: Any, names: list[str], per_row: bool = True) -> Any:
        """A frame of the same kind; pandas keeps the index, or without rows of the table has the names as index."""
        values = values.toarray() if sparse.issparse(values) else values
        result = nw.from_numpy(np.ascontiguousarray(values), schema=names, backend=self.frame.implementation)
        if self.frame.implementation.is_pandas_like():
            return result.to_native().set_axis(self.native.index if per_row else names, axis=0)
        return result.to_native()

    def row_labels(self, rows: np.ndarray) -> list[str]:
        """The index of pandas, else numbers."""
        index = nw.maybe_get_index(self.frame)
        return super().row_labels(rows) if index is None else [str(label) for label in index]


def _one_column(name: str, values: Any) -> np.ndarray:
    """A column of a dict as an array; text and numbers side by side stay what they are."""
    try:
        column = np.asarray(values)
        if column.dtype.kind in "US" and not hasattr(values, "dtype"):
            column = np.array(values, dtype=object)
    except ValueError as error:  # cells of different lengths
        raise ValueError(f"column {name!r} must hold one value per row ({error})") from error
    if column.ndim != 1:
        raise ValueError(f"column {name!r} must hold one value per row; got shape {column.shape}")
    return column


def _is_partly_sparse(frame: Any) -> bool:
    """Whether pandas' sparse columns stand beside others, or have another fill value than 0: read one by one, dense."""
    fills = [getattr(kind, "fill_value", None) for kind in frame.dtypes if type(kind).__name__ == "SparseDtype"]
    return bool(fills) and not (len(fills) == frame.shape[1] and all(fill == 0 for fill in fills))


def _is_number(series: Any) -> bool:
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return True
    if not series.implementation.is_pandas_like():
        return False
    from pandas.api import types

    return types.is_numeric_dtype(
        series.to_native().dtype
    )  # sparse and complex ones too, which narwhals has no name for


def _is_complex(series: Any) -> bool:
    return bool(series.implementation.is_pandas_like()) and series.to_native().dtype.kind == "c"


def _is_plain_number(series: Any) -> bool:
    """Whether scikit-learn reads it as it is."""
    return _is_number(series) and series.dtype not in WIDE and not _is_complex(series)


def _frame_column(name: str, series: Any) -> Column:
    """A column by what its frame says it holds."""
    if series.dtype.is_temporal():
        values = series.to_numpy()
        values = values if values.dtype.kind in "mM" else np.fromiter(series.to_list(), dtype=object)
        return Column(name, values, is_date=True)
    if series.dtype in (nw.Categorical, nw.Enum):
        return from_categories(name, series.to_list())
    if not _is_number(series):
        return from_objects(name, series.to_list())
    if _is_complex(series):
        raise complex_column(name)
    if series.dtype == nw.Boolean:
        series = series.cast(nw.Int8)  # Arrow has no way from a boolean to a float
    try:
        return Column(name, np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64))
    except (ValueError, OverflowError) as error:  # an Arrow integer that no float64 equals
        raise ValueError(f"column {name!r} holds numbers that float64 cannot ({error}); rescale it") from error
