"""Real tables under one function: UCI and OpenML tables, two micro-array tables, and those of scikit-learn.

Files lie in the folder `tables` of `$SKLAR_DATA`, else of the user's cache; where OpenML has a table, it is downloaded
into the cache. A CSV file has a header and empty cells where a value is missing; an npz file holds `X` and `y`.
"""

from __future__ import annotations

import csv
import importlib
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from sklar.datasets.store import DataError, read

FOLDER = "tables"
Task = Literal["classification", "regression"]


@dataclass(frozen=True, eq=False)
class RealTable:
    """A table and its target.

    Attributes
    ----------
    name : as `table_names` lists it
    task : "classification" or "regression"
    X : a pandas DataFrame, or a dict of numpy columns where pandas is not installed; of an npz file a float array.
        Text columns hold text; missing values are NaN, or None in a dict's text columns.
    y : numpy (n,): labels, or values
    train_rows, test_rows : row numbers of the official split, or None where there is none
    """

    name: str
    task: Task
    X: Any
    y: np.ndarray
    train_rows: np.ndarray | None = None
    test_rows: np.ndarray | None = None


class Source(NamedTuple):
    """Where a table comes from, and which of its columns is what."""

    target: str
    task: Task = "classification"
    file: str | None = None  # None: the table's name with .csv
    dropped: tuple[str, ...] = ()  # columns that are no features
    threshold: float | None = None  # two classes: is the target above it?
    openml: int | None = None  # the table's number there
    openml_shift: int = 0  # to be added to OpenML's target


FILES: dict[str, Source] = {
    "adult": Source("income", dropped=("split",), openml=1590),
    "spambase": Source("spam", openml=44),
    "wine-quality-white": Source("quality", threshold=5, openml=40498, openml_shift=2),
    "wine-quality-white-value": Source("quality", "regression", "wine-quality-white.csv", openml=40498, openml_shift=2),
    "credit-g": Source("class", openml=31),
    "segment": Source("class", openml=40984),
    "phoneme": Source("class", openml=1489),
    "abalone": Source("rings", "regression"),
    "autos": Source("price", "regression"),
    "pollution": Source("pm2.5", "regression", dropped=("No",)),
    "colon": Source("y", file="colon.npz"),
    "allaml": Source("y", file="allaml.npz"),
}
SCIKIT_LEARN: dict[str, tuple[str, Task]] = {
    "digits": ("load_digits", "classification"),
    "breast-cancer": ("load_breast_cancer", "classification"),
    "wine": ("load_wine", "classification"),
    "diabetes": ("load_diabetes", "regression"),
}


def table_names() -> tuple[str, ...]:
    """The tables that `load_table` knows.

    Examples
    --------
    >>> from sklar.datasets import table_names
    >>> table_names()[:3], len(table_names())
    (('adult', 'spambase', 'wine-quality-white'), 16)
    """
    return (*FILES, *SCIKIT_LEARN)


def load_table(name: str) -> RealTable:
    """A real table with its target, its task and, where there is one, its official split.

    Files are read from `$SKLAR_DATA/tables/` or, where that is not set, from the user's cache folder, and those that
    OpenML has are downloaded into it. A file `SHA256SUMS` beside them is checked. scikit-learn brings its own tables.

    - `wine-quality-white` has two classes, quality above 5 or not; `wine-quality-white-value` has the quality itself.
    - `pollution` is without its row number `No` and without the rows that have no target.
    - `adult` is without its column `split`, which is given as `train_rows` and `test_rows`.
    - Columns and labels downloaded from OpenML have OpenML's names; its Adult has no official split.

    Parameters
    ----------
    name : one of `table_names()`

    Returns
    -------
    RealTable

    Examples
    --------
    >>> from sklar.datasets import load_table
    >>> table = load_table("diabetes")
    >>> table.task, table.y.shape, len(table.X)
    ('regression', (442,), 442)
    >>> table = load_table("adult")  # doctest: +SKIP
    >>> table.X.shape, len(table.train_rows), len(table.test_rows)  # doctest: +SKIP
    ((48842, 14), 32561, 16281)
    """
    if name in SCIKIT_LEARN:
        return _from_scikit_learn(name)
    if name not in FILES:
        raise ValueError(f"there is no table {name!r}; there are {', '.join(table_names())}")
    source = FILES[name]
    file = source.file or f"{name}.csv"
    if file.endswith(".npz"):
        return _from_arrays(name, source, file)
    fetch: Callable[[], bytes] | None = None if source.openml is None else partial(_from_openml, source)
    return _from_columns(name, source, parse_csv(read(f"{FOLDER}/{file}", fetch), file))


def parse_csv(content: bytes, source: str) -> dict[str, np.ndarray]:
    """The columns of a CSV file: whole numbers, floats with NaN where missing, or text with None where missing.

    Examples
    --------
    >>> parse_csv(b"a,b,c\\n1,x,\\n2,,0.5\\n", "three columns")
    {'a': array([1, 2]), 'b': array(['x', None], dtype=object), 'c': array([nan, 0.5])}
    """
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8"))) or [[]]
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise DataError(f"{source} is damaged: line {number} has {len(row)} cells, not {len(header)}")
    if not rows:
        raise DataError(f"{source} is damaged: it has no rows")
    return {title: _typed(cells) for title, cells in zip(header, zip(*rows, strict=True), strict=True)}


def _typed(cells: tuple[str, ...]) -> np.ndarray:
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return np.array([cell or None for cell in cells], dtype=object)


def _from_columns(name: str, source: Source, columns: dict[str, np.ndarray]) -> RealTable:
    if source.target not in columns:
        raise DataError(f"the table {name} has no column {source.target!r}; it has {', '.join(columns)}")
    y = columns[source.target]
    features = {
        title: values for title, values in columns.items() if title != source.target and title not in source.dropped
    }
    split = columns.get("split") if "split" in source.dropped else None
    if source.task == "regression":
        known = ~np.isnan(y.astype(np.float64))
        y, features = y[known], {title: values[known] for title, values in features.items()}
        y = y.astype(np.float64)
    if source.threshold is not None:
        y = (y > source.threshold).astype(np.int64)
    parts = [None, None] if split is None else [np.flatnonzero(split == part) for part in ("train", "test")]
    return RealTable(name, source.task, _frame(features), y.astype(str) if y.dtype == object else y, *parts)


def _from_arrays(name: str, source: Source, file: str) -> RealTable:
    try:
        with np.load(io.BytesIO(read(f"{FOLDER}/{file}"))) as arrays:
            X, y = arrays["X"].astype(np.float64), arrays["y"].ravel()
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{file} is damaged: it must hold the arrays X and y ({error})") from error
    return RealTable(name, source.task, X, y)


def _from_scikit_learn(name: str) -> RealTable:
    loader, task = SCIKIT_LEARN[name]
    found = getattr(importlib.import_module("sklearn.datasets"), loader)()
    columns = {str(title): values for title, values in zip(found.feature_names, found.data.T.copy(), strict=True)}
    return RealTable(name, task, _frame(columns), np.asarray(found.target))


def _from_openml(source: Source) -> bytes:
    """OpenML's table as CSV, its target under our name and last."""
    from sklearn.datasets import fetch_openml

    found = fetch_openml(data_id=source.openml, as_frame=True, parser="auto")
    y = found.target.astype(float) + source.openml_shift if source.openml_shift else found.target
    return found.data.assign(**{source.target: y}).to_csv(index=False).encode()


def _frame(columns: dict[str, np.ndarray]) -> Any:
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)
