"""CSV and Parquet files as named columns, for the command line. A mistake names its column or line."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FORMATS = (".csv", ".parquet")


class TableError(ValueError):
    """A file that is not the table it should be; the message says where."""


@dataclass(frozen=True)
class Table:
    """Named columns of equal length: integers, floats (missing is NaN) or text."""

    source: str
    columns: dict[str, np.ndarray]

    def column(self, name: str) -> np.ndarray:
        """One column; an unknown name lists the known ones."""
        if name not in self.columns:
            known = ", ".join(list(self.columns)[:10]) + (", ..." if len(self.columns) > 10 else "")
            raise TableError(f"{self.source} has no column {name!r}; it has {known}")
        return self.columns[name]

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Some columns as numbers: float (n, d)."""
        for name in names:
            values = self.column(name)
            if not (np.issubdtype(values.dtype, np.number) or values.dtype == bool):
                example = next((v for v in values if not _is_number(v)), values[0])
                raise TableError(f"{self.source}: column {name!r} is not numeric (it holds {example!r})")
        return np.column_stack([self.columns[name] for name in names]).astype(np.float64)


def read_table(path: str | Path) -> Table:
    """Read a .csv (with a header) or .parquet file.

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
    suffix = _format_of(path)
    if not path.is_file():
        raise TableError(f"{path}: no such file")
    columns = _read_csv(path) if suffix == ".csv" else _read_parquet(path)
    if not columns or not len(next(iter(columns.values()))):
        raise TableError(f"{path} has no rows")
    return Table(str(path), columns)


def write_table(path: str | Path, columns: dict[str, np.ndarray]) -> None:
    """Write named columns as .csv or .parquet, by the file's ending; whole, or what was there before stays."""
    path = Path(path)
    write = _write_csv if _format_of(path) == ".csv" else _write_parquet
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part, columns)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def require_writable(path: str | Path) -> None:
    """Raise now if `path` cannot be written, rather than after hours of work."""
    path = Path(path)
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
    if _format_of(Path(path)) == ".parquet":
        _arrow()


def _format_of(path: Path) -> str:
    if path.suffix.lower() not in FORMATS:
        raise TableError(f"{path}: the ending must be .csv or .parquet")
    return path.suffix.lower()


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
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
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    _refuse_repeated(path, header)
    return {name: _typed(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=False)}


def _write_csv(path: Path, columns: dict[str, np.ndarray]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def _refuse_repeated(path: Path, names: Sequence[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise TableError(f"{path}: column {repeated[0]!r} stands in the header more than once")


def _typed(cells: Sequence[str]) -> np.ndarray:
    """Integers if all cells are, else floats with empty cells as NaN, else text."""
    for kind, values in ((np.int64, cells), (np.float64, [cell.strip() or "nan" for cell in cells])):
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


def _read_parquet(path: Path) -> dict[str, np.ndarray]:
    arrow, parquet = _arrow()
    try:
        with parquet.ParquetFile(path) as file:
            table = file.read()
    except (arrow.ArrowException, OSError) as error:
        raise TableError(f"{path}: not a Parquet file ({error})") from error
    _refuse_repeated(path, table.column_names)
    return {name: np.asarray(column.to_numpy()) for name, column in zip(table.column_names, table.columns, strict=True)}


def _write_parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    arrow, parquet = _arrow()
    parquet.write_table(arrow.table(columns), path)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise TableError('Parquet files need pyarrow: pip install "sklar[parquet]"') from error
    return pyarrow, pyarrow.parquet
