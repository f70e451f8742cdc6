"""Tables on disk as `fit` and the commands take them: read whole, or streamed where they are folders or large files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sklar.estimators.streaming import MOST_JUDGED
from sklar.table.csv_format import CsvFormat, TableError
from sklar.table.files import STANDARD, TYPED, Table, numpy_columns, read_table
from sklar.table.sources import Source, open_source
from sklar.table.target_columns import read_target

GUESSED_FROM = 1_000_000  # rows of a streamed table whose target the task is guessed from
# A Parquet or Arrow file from this size on is streamed, as folders and patterns of them are; smaller ones are read.
STREAMED_FROM = 2**28


class Asked(NamedTuple):
    """Which columns of a table are what, and what becomes of rows without a target."""

    targets: list[str]
    sample_weight: str | None
    event: str | None
    left_out: set[str]  # the columns of weights and events too
    text: set[str]
    drop: bool = True  # rows without a target; else they are an error


class Learned(NamedTuple):
    """What `fit` is given, the targets that say which task it is, and rows to summarise it by."""

    words: dict[str, Any]
    y: np.ndarray
    shown: Callable[[], Any]
    n_rows: int
    n_left_out: int  # rows without a target
    decimal: str | None = None  # the sign in the numbers of a CSV


def streamed(data: str) -> Source | None:
    """The source of a folder, a pattern or a large file; None for a file that is read whole."""
    path = Path(data)
    if not path.suffix and not path.exists() and data != STANDARD:
        raise TableError(f"{path}: no such file or folder")
    is_typed = path.suffix.lower() in TYPED
    if path.is_file():
        return open_source(data) if is_typed and path.stat().st_size >= STREAMED_FROM else None
    is_pattern = is_typed and any(sign in data for sign in "*?[")
    return open_source(data) if path.is_dir() or is_pattern else None


def some_rows(data: str, text: Collection[str], sql: str | None, csv: CsvFormat | None) -> Table:
    """A table on disk, all of it; of a streamed one a uniform sample."""
    source = streamed(data) if sql is None else None
    if source is None:
        return read_table(data, text, sql, csv)
    return Table(source.name, numpy_columns(source.sample(MOST_JUDGED, 0)), is_typed=True)


def to_learn(data: str, sql: str | None, csv: CsvFormat | None, asked: Asked, echo: Callable[[str], object]) -> Learned:
    """A table on disk for `fit`; `echo` is told of rows that are left out."""
    source = streamed(data) if sql is None else None
    return (
        _from_source(source, asked, echo)
        if source
        else _from_table(read_table(data, asked.text, sql, csv), asked, echo)
    )


def _from_table(table: Table, asked: Asked, echo: Callable[[str], object]) -> Learned:
    """A table in memory."""
    for name in (*asked.targets, *sorted(asked.left_out), *sorted(asked.text)):
        table.column(name)
    names = [name for name in table.columns if name not in asked.targets and name not in asked.left_out]
    if not names:
        raise TableError(f"{table.source} has no columns besides the target {', '.join(map(repr, asked.targets))}")
    for sign, where in table.signs_of_missing([*asked.targets, *names]).items():
        columns = ", ".join(map(repr, where[:5])) + (", ..." if len(where) > 5 else "")
        warnings.warn(
            f"{sign!r} is a category of its own in {columns}; say --missing {sign!r} if it means that a value is "
            "missing",
            stacklevel=2,
        )
    judged = read_target(table, asked.targets, asked.event, drop=asked.drop, echo=echo)
    X, y = judged.of(table.features(names, asked.text)), judged.y
    weight = None if asked.sample_weight is None else table.matrix([asked.sample_weight])[judged.rows, 0]
    return Learned(
        {"X": X, "y": y, "sample_weight": weight}, y, lambda: X, len(y), table.n_rows - len(y), table.decimal
    )


def _from_source(source: Source, asked: Asked, echo: Callable[[str], object]) -> Learned:
    """A table that `fit` reads itself, batch by batch."""
    columns = asked.targets if asked.event is None else [asked.event, *asked.targets]
    source.require([*columns, *sorted(asked.text)])
    kept = source.without(asked.left_out - {asked.sample_weight, asked.event})
    present = kept.with_values(columns) if asked.drop else kept
    n_rows = present.n_rows
    n_left_out = kept.n_rows - n_rows
    if n_left_out:
        said = ", ".join(map(repr, columns))
        echo(f"{n_left_out} of {kept.n_rows} rows have no value of {said} and are left out")
    first = Table(source.name, numpy_columns(present.head(GUESSED_FROM, columns)), is_typed=True)
    y = read_target(first, asked.targets, asked.event).y
    features = [name for name in kept.columns if name not in {*columns, asked.sample_weight}]
    words = {"X": present, "target": columns, "sample_weight": asked.sample_weight}
    return Learned(words, y, lambda: present.sample(MOST_JUDGED, 0, features), n_rows, n_left_out)
