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
        given: dict[str, Any] = {"partitioning": "hive", "partition_base_dir": where} if where else {}
        given["format"] = kinds.pop()
        found = pyarrow.dataset.dataset(files, **given)
        schema = _schema_of_all(path, found)
        return found if schema.equals(found.schema) else pyarrow.dataset.dataset(files, schema=schema, **given)
    except (pyarrow.ArrowException, OSError) as error:
        raise TableError(f"{path}: not a table of Parquet or Arrow files ({error})") from error


def _schema_of_all(path: str, dataset: Any) -> Any:
    """Columns with types that hold what every file has: whole numbers here and fractions there are fractions.

    Arrow itself takes the columns and types of the first file: it would leave out others without a word, and fill up
    those that a later file does not have.
    """
    import pyarrow

    first, *others = dataset.get_fragments()
    schema = first.physical_schema
    for file in others:
        own = file.physical_schema
        for one, other in ((file, first), (first, file)):
            lacking = set(other.physical_schema.names) - set(one.physical_schema.names)
            if lacking:
                hint = "with union_by_name=true DuckDB's read_parquet makes one table of such files"
                raise TableError(f"{path}: {one.path} has no column {min(lacking)!r}, which {other.path} has; {hint}")
        try:
            schema = pyarrow.unify_schemas([schema, own], promote_options="permissive")
        except pyarrow.ArrowTypeError as error:
            raise TableError(f"{path}: {file.path} has other types than {first.path} ({error})") from error
    of_folders = [field for field in dataset.schema if field.name not in schema.names]
    return pyarrow.schema([*schema, *of_folders], metadata=dataset.schema.metadata)


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
