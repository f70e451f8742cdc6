"""CSV, Parquet and Arrow files and DuckDB queries as named columns, for the command line.

A mistake names its column or line.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

FORMATS = (".csv", ".parquet", ".arrow", ".feather")
# In a column of numbers these cells are missing; in a column of text only an empty cell is.
MISSING = frozenset(("", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "NaN", "nan"))
LONGEST_CELL = 2**17  # characters of a CSV cell; a longer one is a broken quote, or no table
LONGEST_LINE = 2**26
# Kinds of SQL statements that give a table; the others give nothing, or a count.
ANSWERING = ("SELECT", "MULTI", "CALL", "PRAGMA")


class TableError(ValueError):
    """A file that is not the table it should be; the message says where."""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length: integers, floats (missing is NaN) or text (missing is None, or empty in a CSV)."""

    source: str
    columns: dict[str, np.ndarray]
    is_typed: bool = False  # the file says what is text; a CSV does not

    def column(self, name: str) -> np.ndarray:
        """One column; an unknown name lists the known ones."""
        if name not in self.columns:
            known = ", ".join(list(self.columns)[:10]) + (", ..." if len(self.columns) > 10 else "")
            raise TableError(f"{self.source} has no column {name!r}; it has {known}")
        return self.columns[name]

    def features(self, names: Sequence[str], text: Collection[str] = ()) -> dict[str, np.ndarray]:
        """Some columns as a model takes them: numbers, or text with None where missing.

        A CSV's column that holds both numbers and text is refused unless it is named in `text`.
        """
        chosen = {name: self.column(name) for name in names}
        if self.is_typed:
            return chosen
        for name, cells in chosen.items():
            if cells.dtype != object:
                continue
            chosen[name] = np.array([cell if cell.strip() else None for cell in cells], dtype=object)
            number = next((i for i, cell in enumerate(cells) if cell.strip() not in MISSING and _is_number(cell)), None)
            if number is not None and name not in text:
                odd = next(i for i, cell in enumerate(cells) if cell.strip() not in MISSING and not _is_number(cell))
                raise TableError(
                    f"{self.source}: column {name!r} mixes numbers ({cells[number]!r} in row {number}) and text "
                    f"({cells[odd][:40]!r} in row {odd}); correct it, or say --text {name} to take all of it as text"
                )
        return chosen

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Some columns as numbers: float (n, d)."""
        for name in names:
            values = self.column(name)
            if not (np.issubdtype(values.dtype, np.number) or values.dtype == bool):
                example = next((v for v in values if not _is_number(v)), values[0])
                raise TableError(f"{self.source}: column {name!r} is not numeric (it holds {example!r})")
        return np.column_stack([self.columns[name] for name in names]).astype(np.float64)


def read_table(path: str | Path, text: Collection[str] = (), sql: str | None = None) -> Table:
    """Read a .csv (with a header), .parquet, .arrow or .feather file, or what a query makes of one.

    Parameters
    ----------
    path : the file; with `sql`, also a DuckDB database, or ":memory:" where the query names its own files
    text : columns of a CSV that are text even where they look like numbers
    sql : a DuckDB query, in which `data` is the file

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
    suffix = format_of(path)
    if not path.is_file():
        raise TableError(f"{path}: no such file")
    columns = _read_csv(path, text) if suffix == ".csv" else _read_arrow(path)
    return _with_rows(Table(str(path), columns, is_typed=suffix != ".csv"))


def _with_rows(table: Table) -> Table:
    if not table.columns or not len(next(iter(table.columns.values()))):
        raise TableError(f"{table.source} has no rows")
    return table


def require_writable(path: str | Path, *inputs: str | Path) -> None:
    """Raise now if `path` cannot be written, or is one of the files that are read, rather than after hours of work."""
    path = Path(path)
    for given in map(Path, inputs):
        if given.exists() and path.exists() and path.samefile(given):
            raise TableError(f"cannot write {path}: it is the file that is read; name another")
    folder = path.parent
    if not folder.is_dir():
        raise TableError(f"cannot write {path}: {folder} is not a folder")
    if path.is_dir():
        raise TableError(f"cannot write {path}: it is a folder")
    try:
        existed = path.exists()
        path.open("ab").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise TableError(f"cannot write {path}: {error.strerror}") from error


def require_format(path: str | Path) -> None:
    """Raise unless the file's ending is one that can be written."""
    if format_of(Path(path)) != ".csv":
        arrow_modules()


def format_of(path: Path) -> str:
    """The ending of a table's file."""
    if path.suffix.lower() not in FORMATS:
        raise TableError(f"{path}: the ending must be .csv or .parquet (or .arrow, .feather)")
    return path.suffix.lower()


def _read_csv(path: Path, text: Collection[str]) -> dict[str, np.ndarray]:
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(_bounded_lines(path, file))
            header = next(reader, [])
            rows = []
            for row in reader:
                if not row:  # a blank line
                    continue
                if len(row) != len(header):
                    raise TableError(
                        f"{path}, line {reader.line_num}: {len(row)} cells where the header has {len(header)}"
                    )
                rows.append(row)
    except csv.Error as error:
        if "field limit" in str(error):
            where = f"{path}, line {reader.line_num}"
            raise TableError(f"{where}: a cell of more than {LONGEST_CELL} characters (a missing quote?)") from error
        raise TableError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    finally:
        csv.field_size_limit(before)
    _refuse_repeated(path, header)
    return {
        name: np.array(cells, dtype=object) if name in text else _typed(cells)
        for name, cells in zip(header, zip(*rows, strict=True), strict=False)
    }


def _bounded_lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of a file, none read further than a line can be."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TableError(f"{path}, line {number}: longer than {LONGEST_LINE} characters")
        yield line


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise TableError(f"{path}: column {repeated[0]!r} stands in the header more than once")


def _typed(cells: Sequence[str]) -> np.ndarray:
    """Integers if all cells are, else floats with missing cells as NaN, else text."""
    floats = ["nan" if cell.strip() in MISSING else cell for cell in cells]
    for kind, values in ((np.int64, cells), (np.float64, floats)):
        try:
            return np.array(values, dtype=kind)
        except (ValueError, OverflowError):
            continue
    return np.array(cells, dtype=object)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


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
    _refuse_repeated(path, table.column_names)
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
    is_table = path.suffix.lower() in (".csv", ".parquet")
    if str(path) != ":memory:" and not path.is_file():
        raise TableError(f"{path}: no such file")
    try:
        with duckdb.connect(":memory:" if is_table else str(path), read_only=not is_table and path.is_file()) as base:
            if is_table:
                quoted = str(path).replace("'", "''")
                base.execute(f"create view data as select * from '{quoted}'")
            kinds = [statement.type.name for statement in base.extract_statements(sql)]
            answer = base.sql(sql) if kinds and kinds[-1] in ANSWERING else None
            if answer is None:
                raise TableError(f"{path}: the query gives no table")
            table = answer.to_arrow_table()
    except duckdb.Error as error:
        raise TableError(f"{path}: the query failed ({error})") from error
    _refuse_repeated(path, table.column_names)
    return numpy_columns(table)


def arrow_modules() -> tuple[Any, Any]:
    """pyarrow and its Parquet."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise TableError('Parquet and Arrow files need pyarrow: pip install "sklar[parquet]"') from error
    return pyarrow, pyarrow.parquet
