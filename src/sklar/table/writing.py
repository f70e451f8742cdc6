"""Tables written to CSV, Parquet and Arrow files, whole or block by block; a file is complete or not there at all."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sklar.atomic import replacing
from sklar.table.csv_files import STANDARD, write_csv, write_lines
from sklar.table.csv_format import TableError
from sklar.table.files import CSV, arrow_modules, format_of

Blocks = Iterable[dict[str, np.ndarray]]  # of rows, as named columns


def write_table(path: str | Path, columns: dict[str, np.ndarray]) -> None:
    """Write named columns as CSV, Parquet or Arrow, by the file's ending; whole, or what was there before stays.

    "-" is standard output, as CSV.
    """
    write_blocks(path, [columns])


def write_blocks(path: str | Path, blocks: Blocks) -> None:
    """The same of a table that comes in blocks of rows, each written before the next is asked for.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_blocks(Path(folder) / "t.csv", ({"a": np.array([i, i])} for i in range(2)))
    ...     (Path(folder) / "t.csv").read_text().split()
    ['a', '0', '0', '1', '1']
    """
    path = Path(path)
    kind, blocks = format_of(path), iter(blocks)
    first = next(blocks, None)
    if first is None:
        raise TableError(f"{path} is not written: there are no rows")
    blocks = chain([first], blocks)
    if str(path) == STANDARD:
        write_lines(sys.stdout, blocks)
        return
    with replacing(path) as part:
        if kind in CSV:
            write_csv(part, path.name, blocks)
        else:
            {".parquet": _write_parquet}.get(kind, _write_feather)(part, blocks)


def _write_parquet(path: Path, blocks: Blocks) -> None:
    _write_arrow(path, blocks, arrow_modules()[1].ParquetWriter)


def _write_feather(path: Path, blocks: Blocks) -> None:
    _write_arrow(path, blocks, arrow_modules()[0].ipc.new_file)


def _write_arrow(path: Path, blocks: Blocks, new_writer: Any) -> None:
    arrow, _ = arrow_modules()
    tables = (arrow.table(columns) for columns in blocks)
    first = next(tables)
    with path.open("wb") as file, new_writer(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
