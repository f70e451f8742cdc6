"""Tables on disk as `fit` and the commands take them: read whole, or streamed where they are folders or large files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sklar.estimators.streaming import MOST_JUDGED
from sklar.table.files import FORMATS, Table, TableError, numpy_columns, read_table
from sklar.table.sources import Source, open_source

GUESSED_FROM = 1_000_000  # rows of a streamed table whose target the task is guessed from
# A Parquet or Arrow file from this size on is streamed, as folders and patterns of them are; smaller ones are read.
STREAMED_FROM = 2**28


class Asked(NamedTuple):
    """Which columns of a table are what."""

    targets: list[str]
    sample_weight: str | None
    event: str | None
    left_out: set[str]  # the columns of weights and events too
    text: set[str]


class Learned(NamedTuple):
    """What `fit` is given, the targets that say which task it is, and rows to summarise it by."""

    words: dict[str, Any]
    y: np.ndarray
    shown: Callable[[], Any]
    n_rows: int


def streamed(data: str) -> Source | None:
    """The source of a folder, a pattern or a large file; None for a file that is read whole."""
    path = Path(data)
    if path.is_file() and (path.suffix.lower() == ".csv" or path.stat().st_size < STREAMED_FROM):
        return None
    is_pattern = any(sign in data for sign in "*?[") and path.suffix.lower() in FORMATS
    return open_source(data) if path.is_dir() or path.is_file() or is_pattern else None


def some_rows(data: str, text: Collection[str], sql: str | None) -> Table:
    """A table on disk, all of it; of a streamed one a uniform sample."""
    source = streamed(data) if sql is None else None
    if source is None:
        return read_table(data, text, sql)
    return Table(source.name, numpy_columns(source.sample(MOST_JUDGED, 0)), is_typed=True)


def to_learn(data: str, sql: str | None, asked: Asked) -> Learned:
    """A table on disk for `fit`."""
    source = streamed(data) if sql is None else None
    return _from_file(data, sql, asked) if source is None else _from_source(source, asked)


def _from_file(data: str, sql: str | None, asked: Asked) -> Learned:
    """A table in memory."""
    table = read_table(data, asked.text, sql)
    for name in (*asked.targets, *sorted(asked.left_out), *sorted(asked.text)):
        table.column(name)
    names = [name for name in table.columns if name not in asked.targets and name not in asked.left_out]
    if not names:
        raise TableError(f"{table.source} has no columns besides the target {', '.join(map(repr, asked.targets))}")
    X, y = table.features(names, asked.text), _targets(table, asked.targets, asked.event)
    weight = None if asked.sample_weight is None else table.matrix([asked.sample_weight])[:, 0]
    return Learned({"X": X, "y": y, "sample_weight": weight}, y, lambda: X, len(y))


def _from_source(source: Source, asked: Asked) -> Learned:
    """A table that `fit` reads itself, batch by batch."""
    columns = asked.targets if asked.event is None else [asked.event, *asked.targets]
    kept = source.without(asked.left_out - {asked.sample_weight, asked.event})
    y = _targets(Table(source.name, numpy_columns(kept.head(GUESSED_FROM, columns))), asked.targets, asked.event)
    features = [name for name in kept.columns if name not in {*columns, asked.sample_weight}]
    words = {"X": kept, "target": columns, "sample_weight": asked.sample_weight}
    return Learned(words, y, lambda: kept.sample(MOST_JUDGED, 0, features), kept.n_rows)


def _targets(table: Table, names: list[str], event: str | None) -> np.ndarray:
    """One target (n,), several (n, targets), or an event and its time."""
    if event is not None:
        seen, time = target_column(table, event), target_column(table, names[0])
        if len(names) > 1 or not np.isin(seen.astype(str), ("0", "1", "0.0", "1.0", "True", "False")).all():
            raise TableError(f"{table.source}: --event takes a column of 0 and 1 (or True and False) and one target")
        if not np.issubdtype(time.dtype, np.number):
            raise TableError(f"{table.source}: the target {names[0]!r} is text, and should be a time")
        pairs = np.empty(len(time), dtype=[("event", bool), ("time", float)])
        pairs["event"], pairs["time"] = np.isin(seen.astype(str), ("1", "1.0", "True")), time
        return pairs
    columns = [target_column(table, name) for name in names]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def target_column(table: Table, name: str) -> np.ndarray:
    """A target, nothing in it missing: numbers, or text."""
    y = table.column(name)
    missing = [v is None or v != v or v == "" for v in y.tolist()]
    if any(missing):
        raise TableError(f"{table.source}: the target {name!r} is missing in row {missing.index(True)}")
    return y if np.issubdtype(y.dtype, np.number) else y.astype(str)
