"""CSV, Parquet and Arrow files and DuckDB queries as named columns, for the command line.

A mistake names its column or line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklar.atomic import require_replaceable
from sklar.table.csv_files import STANDARD, read_csv_and_sign, refuse_repeated
from sklar.table.csv_format import CsvFormat, TableError
from sklar.table.decimals import MISSING, is_number, is_read, remedy

CSV, TYPED = (".csv", ".tsv", ".txt", ".data"), (".parquet", ".arrow", ".feather")
# What people write for a missing value in columns of text; there it is one more category, unless a user says otherwise.
SIGNS = frozenset(("?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan"))
# Kinds of SQL statements that give a table; the others give nothing, or a count.
ANSWERING = ("SELECT", "MULTI", "CALL", "PRAGMA")


@dataclass(frozen=True)
class Table:
    """Named columns of equal length: integers, floats (missing is NaN) or text (missing is None, or empty in a CSV)."""

    source: str
    columns: dict[str, np.ndarray]
    is_typed: bool = False  # the file says what is text; a CSV does not
    decimal: str | None = None  # the sign in the numbers of a CSV; None where none has any

    @property
    def n_rows(self) -> int:
        """Of every column."""
        return len(next(iter(self.columns.values()), ()))

    def column(self, name: str) -> np.ndarray:
        """One column; an unknown name lists the known ones."""
        if name not in self.columns:
            known = ", ".join(list(self.columns)[:10]) + (", ..." if len(self.columns) > 10 else "")
            headless = not self.is_typed and any(map(is_number, self.columns))
            remedy = "; say --no-header if its first line is a row" if headless else ""
            raise TableError(f"{self.source} has no column {name!r}; it has {known}{remedy}")
        return self.columns[name]

    def features(
        self, names: Sequence[str], text: Collection[str] = (), read: Collection[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Some columns as a model takes them: numbers, or text with None where missing.

        A CSV's column that holds both numbers and text is refused unless it is named in `text`, or is none of those
        that a fitted model has `read`.
        """
        chosen = {name: self.column(name) for name in names}
        if self.is_typed:
            return chosen
        for name, cells in chosen.items():
            if cells.dtype != object:
                continue
            chosen[name] = np.array([cell if cell.strip() else None for cell in cells], dtype=object)
            if name not in text and (read is None or name in read):
                self._refuse_mixed(name, cells, is_fitted=read is not None)
        return chosen

    def refuse_other_sign(self, name: str, is_fitted: bool = False) -> None:
        """Raise for a column of text all of which would be numbers with the other decimal sign.

        Of decimal points alone, if nothing is fitted: commas may stand between thousands, which `fit` warns about.
        """
        cells = self.column(name)
        if self.is_typed or cells.dtype != object:
            return
        present = [cell for cell in cells if cell.strip() not in MISSING]
        way = remedy(present, self.decimal) if present else None
        if way is not None and (is_fitted or self.decimal == ","):
            raise TableError(f"{self.source}: column {name!r} holds {present[0]!r}, which is no number here; {way}")

    def _refuse_mixed(self, name: str, cells: np.ndarray, is_fitted: bool) -> None:
        """Raise for a column of both numbers and text, or of numbers with another decimal sign."""
        self.refuse_other_sign(name, is_fitted)
        present = [(row, cell) for row, cell in enumerate(cells) if cell.strip() not in MISSING]
        odd = [(row, cell) for row, cell in present if not is_read(cell, self.decimal)]
        number = next(((row, cell) for row, cell in present if is_read(cell, self.decimal)), None)
        if number is None or not odd:
            return
        (row, cell), kinds = odd[0], {cell.strip() for _, cell in odd}
        missing = [f"say --missing {cell.strip()!r} if that is a missing value"] if len(kinds) == 1 else []
        way = remedy(kinds, self.decimal)
        hints = [*missing, "correct it"] if way is None else [way]
        hints += [] if is_fitted else [f"say --text {name} to take all of it as text"]
        raise TableError(
            f"{self.source}: column {name!r} mixes numbers ({number[1]!r} in row {number[0]}) and text "
            f"({cell[:40]!r} in row {row}); {', '.join(hints[:-1])}{', or ' if hints[:-1] else ''}{hints[-1]}"
        )

    def signs_of_missing(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Cells of a CSV's text that often mean a missing value, and were not said to: each with its columns."""
        found: dict[str, list[str]] = {}
        for name in names if not self.is_typed else ():
            cells = self.column(name)
            for sign in sorted(SIGNS & {cell.strip() for cell in cells} if cells.dtype == object else ()):
                found.setdefault(sign, []).append(name)
        return found

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Some columns as numbers: float (n, d)."""
        for name in names:
            values = self.column(name)
            if not (np.issubdtype(values.dtype, np.number) or values.dtype == bool):
                example = next((v for v in values if not is_number(v)), values[0])
                raise TableError(f"{self.source}: column {name!r} is not numeric (it holds {example!r})")
        return np.column_stack([self.columns[name] for name in names]).astype(np.float64)


def read_table(
    path: str | Path, text: Collection[str] = (), sql: str | None = None, csv: CsvFormat | None = None
) -> Table:
    """Read a CSV, Parquet or Arrow file, or what a query makes of one.

    Parameters
    ----------
    path : the file; "-" is a CSV from standard input; with `sql`, also a DuckDB database, or ":memory:" where the query
        names its own files
    text : columns of a CSV that are text even where they look like numbers
    sql : a DuckDB query, in which `data` is the file
    csv : what a CSV file does not say itself

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "t.csv"
    ...     _ = file.write_text("a,b\\n1,x\\n2,y\\n")
    ...     table = read_table(file)
    >>> table.column("a").tolist(), table.column("b").tolist()
    ([1, 2], ['x', 'y'])
    """
    path = Path(path)
    if sql is not None:
        return _with_rows(Table(str(path), _query(path, sql), is_typed=True))
    is_standard, is_typed = str(path) == STANDARD, format_of(path) in TYPED
    if not is_standard and not path.is_file():
        raise TableError(f"{path}: no such file")
    if is_typed:
        return _with_rows(Table(str(path), _read_arrow(path), is_typed=True))
    columns, sign = read_csv_and_sign(path, text, csv)
    return _with_rows(Table("standard input" if is_standard else str(path), columns, decimal=sign))


def _with_rows(table: Table) -> Table:
    if not table.n_rows:
        raise TableError(f"{table.source} has no rows")
    return table


def require_writable(path: str | Path, *inputs: str | Path) -> None:
    """Raise now if `path` cannot be written, or is one of the files that are read, rather than after hours of work."""
    path = Path(path)
    if str(path) == STANDARD:
        return
    try:
        for given in map(Path, inputs):
            if given.exists() and path.exists() and path.samefile(given):
                raise TableError(f"cannot write {path}: it is the file that is read; name another")
        if not path.parent.is_dir():
            raise TableError(f"cannot write {path}: {path.parent} is not a folder")
        if path.is_dir():
            raise TableError(f"cannot write {path}: it is a folder")
        require_replaceable(path)
    except OSError as error:
        raise TableError(f"cannot write {path}: {error.strerror}") from error


def require_format(path: str | Path) -> None:
    """Raise unless the file's ending is one that can be written."""
    if format_of(Path(path)) in TYPED:
        arrow_modules()


def format_of(path: Path) -> str:
    """A file's ending, without .gz of a CSV; standard input and output are CSV."""
    if str(path) == STANDARD:
        return ".csv"
    packed = path.suffix.lower() == ".gz"
    ending = (path.with_suffix("") if packed else path).suffix.lower()
    if ending not in (CSV if packed else CSV + TYPED):
        raise TableError(
            f"{path}: the ending must be .csv, .tsv, .txt or .data (also with .gz), .parquet, .arrow or .feather; "
            "a spreadsheet can be saved as CSV"
        )
    return ending


def _read_arrow(path: Path) -> dict[str, np.ndarray]:
    arrow, parquet = arrow_modules()
    what = "Parquet" if path.suffix.lower() == ".parquet" else "Arrow"
    try:
        if what == "Parquet":
            with parquet.ParquetFile(path) as file:
                table = file.read()
        else:
            with arrow.memory_map(str(path)) as file:
                table = arrow.ipc.open_file(file).read_all()
    except (arrow.ArrowException, OSError) as error:
        raise TableError(f"{path}: not {'a Parquet' if what == 'Parquet' else 'an Arrow'} file ({error})") from error
    refuse_repeated(path, table.column_names)
    return numpy_columns(table)


def numpy_columns(table: Any) -> dict[str, np.ndarray]:
    """An Arrow table's columns as numpy arrays."""
    return {name: np.asarray(column.to_numpy()) for name, column in zip(table.column_names, table.columns, strict=True)}


def _query(path: Path, sql: str) -> dict[str, np.ndarray]:
    """What a DuckDB query gives; a file that is no database is its table `data`."""
    try:
        import duckdb
    except ImportError as error:
        raise TableError('--sql needs duckdb: pip install "sklar[sql]"') from error
    is_table = path.suffix.lower() in (".csv", ".tsv", ".parquet") or ".gz" in path.suffixes[-1:]
    if str(path) != ":memory:" and not path.is_file():
        raise TableError(f"{path}: no such file")
    try:
        with duckdb.connect(":memory:" if is_table else str(path), read_only=not is_table and path.is_file()) as base:
            if is_table:
                base.execute(f"create view data as select * from {_as_one_file(path)}")
            kinds = [statement.type.name for statement in base.extract_statements(sql)]
            answer = base.sql(sql) if kinds and kinds[-1] in ANSWERING else None
            if answer is None:
                raise TableError(f"{path}: the query gives no table")
            table = answer.to_arrow_table()
    except duckdb.Error as error:
        raise TableError(f"{path}: the query failed ({error})") from error
    refuse_repeated(path, table.column_names)
    return numpy_columns(table)


def _as_one_file(path: Path) -> str:
    """A file's name in SQL, in which DuckDB reads `*`, `?` and brackets as patterns of many names unless bracketed."""
    name = re.sub(r"[*?\[]", r"[\g<0>]", str(path)).replace("'", "''")
    return f"'{name}'"


def arrow_modules() -> tuple[Any, Any]:
    """pyarrow and its Parquet."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise TableError('Parquet and Arrow files need pyarrow: pip install "sklar[parquet]"') from error
    return pyarrow, pyarrow.parquet
