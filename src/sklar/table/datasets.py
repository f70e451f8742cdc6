"""Parquet and Arrow files, folders and patterns of them as one Arrow dataset."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from sklar.table.csv_format import TableError

FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc"}


def dataset_of(path: str) -> Any:
    """Files as one Arrow dataset."""
    try:
        import pyarrow
        import pyarrow.dataset
    except ImportError as error:
        raise TableError('Parquet and Arrow files need pyarrow: pip install "sklar[parquet]"') from error
    files = _files(path)
    kinds = {FORMATS.get(Path(file).suffix.lower()) for file in files}
    if kinds - set(FORMATS.values()):
        hint = "read a CSV with pandas, or with duckdb.sql(\"select * from 'file.csv'\")"
        raise TableError(f"{path}: the ending must be .parquet, .arrow or .feather; {hint}")
    if len(kinds) > 1:
        raise TableError(f"{path}: has both Parquet and Arrow files; name those of one kind")
    try:
        where = path if Path(path).is_dir() else None
        given = {"partitioning": "hive", "partition_base_dir": where} if where else {}
        return pyarrow.dataset.dataset(files, format=kinds.pop(), **given)
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"{path}: not a table of Parquet or Arrow files ({error})") from error


def _files(path: str) -> list[str]:
    """The files of a folder, also inside it, or of a pattern; hidden ones apart."""
    if Path(path).is_dir():
        inside = (p for p in Path(path).rglob("*") if p.suffix.lower() in FORMATS and not p.name.startswith((".", "_")))
        files = sorted(str(p) for p in inside)
    elif Path(path).is_file():
        return [path]
    else:
        files = sorted(glob.glob(path, recursive=True))
    if not files:
        if Path(path).is_dir():
            raise TableError(f"{path}: no Parquet or Arrow file")
        raise TableError(f"{path}: no such file; text for a table is the path of a Parquet or Arrow file or folder")
    return files
