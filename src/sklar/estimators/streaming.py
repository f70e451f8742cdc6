"""Fitting and judging on tables larger than memory (`table.sources`): one pass learns the schema of all rows and draws
the rows that training sees.

Training takes a fixed number of steps, each with one batch: a default fit visits 4.3 million rows, however many the
table has. A uniform sample of rows, visited in random order, has the distribution of such visits to the whole table, so
the sample, and nothing else, is held in memory. A table that fits is taken whole, and the fit is that of memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sklar.table.encoding import Encoding
from sklar.table.files import TableError
from sklar.table.schema import TrainingTable, read_training_table
from sklar.table.sources import Sampler, Source, open_source
from sklar.table.summaries import Summary
from sklar.training.engine.runtime import spawn_seeds
from sklar.training.honest.settings import HonestSettings

MEMORY = 2**31  # bytes that the rows of a fit may take, training's own arrays included
# What a row takes, measured on fits of 200,000 and 1,000,000 rows of 50 numbers: hidden units of the networks that
# judge all rows, and copies of its inputs.
BYTES_OF_ROW, BYTES_OF_INPUT = 1_600, 16
MOST_JUDGED = 100_000  # rows of an audit or a report: a share of them has a standard error of at most 0.16 points
MOST_CLASSES = 10_000  # that are remembered, to name those that no sampled row has

Names = str | Sequence[str]


class Request(NamedTuple):
    """What `fit` was asked to read."""

    target: Names | None
    sample_weight: Any
    max_rows: int | None
    owner: str
    params: dict[str, Any]

    @property
    def survival(self) -> bool:
        """Whether the target is an event and its time."""
        return self.params.get("loss") == "cox"


def read_rows(X: Any, y: Any, asked: Request) -> tuple[TrainingTable, Encoding | None]:
    """The rows to train on and, where they are a sample of a larger table, the encoding of all of it."""
    source = open_source(X)
    if source is not None:
        return _read_source(source, y, asked)
    if asked.target is not None or asked.max_rows is not None:
        raise ValueError("target and max_rows are for files, datasets and queries; of a table in memory give y itself")
    return read_training_table(X, y, asked.sample_weight, asked.owner, asked.survival), None


def judged_rows(X: Any, y: Any, target: str | None, names: Sequence[str]) -> tuple[Any, Any]:
    """A table and its target as they are; of a source a uniform sample, as an Arrow table."""
    source = open_source(X)
    if source is None:
        if target is not None:
            raise ValueError("target is for files, datasets and queries; of a table in memory give y itself")
        return X, y
    targets = _targets(source, y, target)
    sample = source.sample(MOST_JUDGED, 0, [*names, *targets])
    return sample.select(list(names)), _target_of(sample, targets, False)


def rows_in_memory(n_rows: int, n_inputs: int, params: dict[str, Any]) -> int:
    """How many of a table's rows a fit holds: all if there is room, else as many as training visits, or room for.

    Examples
    --------
    >>> from sklar import CopulaSelectorClassifier
    >>> params = CopulaSelectorClassifier().get_params()
    >>> [rows_in_memory(n, 50, params) for n in (10_000, 10**9)]
    [10000, 894784]
    """
    room = MEMORY // (BYTES_OF_ROW + BYTES_OF_INPUT * n_inputs)
    if n_rows <= room or params["objective"] == "joint":
        return min(n_rows, room)
    steps = HonestSettings.from_params(params, n_rows, params.get("k")).steps_for(n_rows, n_inputs)
    return min(room, steps * params["batch_size"])


def _read_source(source: Source, y: Any, asked: Request) -> tuple[TrainingTable, Encoding | None]:
    targets = _targets(source, y, asked.target)
    weight = asked.sample_weight
    if weight is not None and not isinstance(weight, str):
        raise ValueError(f"sample_weight must be a column of {source.name}, by name; got {type(weight).__name__}")
    beside = [*targets, *([] if weight is None else [weight])]
    source.require(beside)
    features = [name for name in source.columns if name not in beside]
    if not features:
        raise TableError(f"{source.name} has no columns besides the target {', '.join(map(repr, targets))}")
    n_rows = source.n_rows
    size = asked.max_rows or rows_in_memory(n_rows, len(features), asked.params)
    sampler = Sampler(n_rows, size, spawn_seeds(asked.params["random_state"], 1)[0])
    encoding = _scan(source, features, targets, sampler, asked)
    known = None
    if encoding is not None:
        known = encoding.found
        size = asked.max_rows or rows_in_memory(n_rows, int(encoding.widths().sum()), asked.params)
    sample = sampler.table(size)
    target = _target_of(sample, targets, asked.survival)
    weights = None if weight is None else sample.column(weight).to_numpy()
    return read_training_table(sample.select(features), target, weights, asked.owner, asked.survival, known), encoding


def _scan(source: Source, features: list[str], targets: list[str], sampler: Sampler, asked: Request) -> Encoding | None:
    """Read all rows once, and let the sampler see them; the encoding of all, where the sample is not all."""
    whole: Summary | None = None
    classes = _Classes(targets[0]) if "class_weight" in asked.params and len(targets) == 1 else None
    n_rows = 0
    for table in source.batches():
        _require_targets(source, table, targets, n_rows)
        if sampler.is_partial:
            part = Summary.of(table.select(features), n_rows)
            whole = part if whole is None else whole.merged(part)
        if classes is not None and sampler.is_partial:
            classes.add(table)
        sampler.add(table)
        n_rows += table.num_rows
    if n_rows == 0:
        raise TableError(f"{source.name} has no rows")
    if classes is not None and sampler.is_partial:
        classes.warn(sampler)
    return None if whole is None else whole.encoding()


class _Classes:
    """The classes of all rows, to say which the sample has none of."""

    def __init__(self, target: str) -> None:
        self.target, self.seen = target, set[Any]()

    def add(self, table: Any) -> None:
        """Remember those of some rows."""
        if len(self.seen) <= MOST_CLASSES:
            self.seen.update(table.column(self.target).unique().to_pylist())

    def warn(self, sampler: Sampler) -> None:
        """Name those that no sampled row has: the model cannot know them."""
        sampled = {value for part in sampler.parts for value in part.column(self.target).unique().to_pylist()}
        lost = sorted(map(str, self.seen - sampled))
        if lost:
            warnings.warn(
                f"no row of the sample has the class {', '.join(lost[:5])}: it is too rare to learn; raise max_rows, "
                "or leave these rows out",
                stacklevel=6,
            )


def _targets(source: Source, y: Any, target: Names | None) -> list[str]:
    """The columns of the target, by name."""
    if y is not None or target is None:
        raise ValueError(f'say which column of {source.name} is the target: target="..." instead of y')
    targets = [target] if isinstance(target, str) else list(target)
    source.require(targets)
    return targets


def _require_targets(source: Source, table: Any, targets: list[str], first_row: int) -> None:
    for name in targets:
        column = table.column(name)
        if column.null_count:
            row = first_row + int(np.argmax(column.is_null().to_numpy()))
            raise TableError(f"{source.name}: the target {name!r} is missing in row {row}")


def _target_of(sample: Any, targets: list[str], survival: bool) -> np.ndarray:
    """One target (n,), several (n, targets), or of times the columns of the event and the time, in this order."""
    columns = [np.asarray(sample.column(name).to_numpy()) for name in targets]
    columns = [column.astype(str) if column.dtype == object else column for column in columns]
    if survival:
        if len(columns) != 2:
            raise ValueError('loss="cox" needs two columns: target=["event", "time"]')
        pairs = np.empty(len(columns[0]), dtype=[("event", bool), ("time", float)])
        pairs["event"], pairs["time"] = columns
        return pairs
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
