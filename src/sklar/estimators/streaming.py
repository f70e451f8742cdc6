"""Fitting and judging on tables larger than memory (`table.sources`): one pass learns the schema of all rows and draws
the rows that training sees.

Training takes a fixed number of steps, and a step one batch: a default fit visits at most 5.9 million rows, however
many the table has. A batch drawn from a uniform sample of the table is a uniform draw from the table. What a sample
changes is how often a row comes up again: of as many rows as are visited each comes up once on average, as in a pass
over a larger table; of a tenth of them, ten times. So the sample has as many rows as are visited, or as many as there
is room for, and while honest training goes on others take their places (`row_reader`). A table that fits is taken
whole, and the fit is that of memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from sklar.estimators.dask_answers import is_dask
from sklar.estimators.row_reader import RowReader
from sklar.fitted import FittedModel
from sklar.model.gates import Gates
from sklar.table.cells import said
from sklar.table.csv_format import TableError
from sklar.table.encoding import Encoding
from sklar.table.rotation import Rotation
from sklar.table.sampling import Drawn, Sampler
from sklar.table.schema import TrainingTable, read_training_table
from sklar.table.sources import Source, open_source
from sklar.table.summaries import Summary
from sklar.table.target_columns import arrow_values
from sklar.training.engine.runtime import spawn_seeds
from sklar.training.honest.parts import steps_of
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


class Read(NamedTuple):
    """The rows to train on and, where they are a sample of a larger table, the encoding of all of it and its reader."""

    table: TrainingTable
    encoding: Encoding | None = None
    reader: RowReader | None = None


def read_rows(X: Any, y: Any, asked: Request) -> Read:
    """What to train on."""
    _require_number(asked.max_rows)
    source = open_source(X)
    if source is not None:
        return _read_source(source, y, asked)
    if asked.target is not None or asked.max_rows is not None:
        raise ValueError("target and max_rows are for files, datasets and queries; of a table in memory give y itself")
    return Read(read_training_table(X, y, asked.sample_weight, asked.owner, asked.survival))


def judged_rows(X: Any, y: Any, target: Names | None, fitted: FittedModel) -> tuple[Any, Any]:
    """A table and its target as they are; of a source a uniform sample, as an Arrow table."""
    source = open_source(X)
    if source is None:
        if target is not None:
            raise ValueError("target is for files, datasets and queries; of a table in memory give y itself")
        return X, y
    targets, names = _targets(source, y, target), list(fitted.schema.names)
    sample = source.sample(MOST_JUDGED, 0, list(dict.fromkeys([*names, *targets])))
    for name in targets:
        if sample.column(name).null_count:
            raise TableError(f"{source.name}: some rows have no value of the target {name!r}; leave them out")
    return sample.select(names), _target_of(sample, targets, fitted.target.kind == "risk")


def scored_rows(X: Any, y: Any, weight: Any, target: Names | None, fitted: FittedModel) -> tuple[Any, Any]:
    """The same to be scored; a Dask collection with its own y is left to Dask."""
    if y is None and target is None:
        raise ValueError('say what the rows should be: y, or of a file, dataset or query its column: target="..."')
    if target is not None and weight is not None:
        raise ValueError("sample_weight is for the score of rows in memory; with target leave it out")
    return (X, y) if is_dask(X) and target is None else judged_rows(X, y, target, fitted)


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
    steps = steps_of(HonestSettings.from_params(params, n_rows, params.get("k")), n_rows, Gates(n_inputs))
    return min(room, steps * params["batch_size"])


def _read_source(source: Source, y: Any, asked: Request) -> Read:
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
    scan = Scan(source.name, features, targets, sampler, "class_weight" in asked.params and len(targets) == 1)
    found = scan.merged(source.map(scan))
    encoding = (
        None
        if found.summary is None
        else found.summary.encoding(asked.params["dates"] == "parts", asked.params.get("scaling") == "global")
    )
    if encoding is not None:
        size = asked.max_rows or rows_in_memory(n_rows, int(encoding.widths().sum()), asked.params)
    sample = sampler.together(found.drawn, size)
    target = _target_of(sample, targets, asked.survival)
    weights = None if weight is None else sample.column(weight).to_numpy()
    given = (sample.select(features), target, weights, asked.owner, asked.survival)
    table = read_training_table(*given, None if encoding is None else encoding.found)
    if encoding is None or not source.repeats or len(beside) > 1:
        return Read(table, encoding)
    return Read(table, encoding, RowReader(source, features, targets[0], Rotation.of(sampler, found.drawn, size)))


class Found(NamedTuple):
    """What a pass over rows finds: those that may train and, where not all do, the summary and the classes of all."""

    drawn: list[Drawn]
    summary: Summary | None
    classes: frozenset[Any]

    def merged(self, other: Found) -> Found:
        """What is found in both."""
        summary = self.summary
        if summary is not None and other.summary is not None:
            summary = summary.merged(other.summary)
        self.drawn.extend(other.drawn)
        classes = self.classes if len(self.classes) > MOST_CLASSES else self.classes | other.classes
        return Found(self.drawn, summary, classes)


@dataclass(frozen=True)
class Scan:
    """The pass over all rows, batch by batch, wherever they are."""

    source: str
    features: list[str]
    targets: list[str]
    sampler: Sampler
    is_classified: bool

    def __call__(self, table: Any, number: int, first_row: int) -> Found:
        """What is found in one batch."""
        _require_targets(self.source, table, self.targets, first_row)
        drawn = [self.sampler.draw(table, number)]
        if not self.sampler.is_partial:
            return Found(drawn, None, frozenset())
        classes = table.column(self.targets[0]).unique().to_pylist() if self.is_classified else ()
        return Found(drawn, Summary.of(table.select(self.features), first_row), frozenset(classes[:MOST_CLASSES]))

    def merged(self, parts: Iterable[Found]) -> Found:
        """What is found in all batches, each merged as it comes; warns of classes that no row to train on has."""
        whole: Found | None = None
        for part in parts:
            whole = part if whole is None else whole.merged(part)
        if whole is None:
            raise TableError(f"{self.source} has no rows")
        if self.is_classified and self.sampler.is_partial:
            _warn_of_lost(whole.classes, whole.drawn, self.targets[0])
        return whole


def _warn_of_lost(classes: frozenset[Any], drawn: list[Drawn], target: str) -> None:
    """Name the classes that no row to train on has: the model cannot know them."""
    sampled = {value for part in drawn for value in part.rows.column(target).unique().to_pylist()}
    lost = sorted(map(str, classes - sampled))
    if lost:
        warnings.warn(
            f"no row of the sample has the class {', '.join(lost[:5])}: it is too rare to learn; raise max_rows, "
            "or leave these rows out",
            stacklevel=6,
        )


def _require_number(max_rows: Any) -> None:
    if max_rows is not None and (not isinstance(max_rows, Integral) or max_rows < 2):
        raise ValueError(f"max_rows must be a whole number from 2; got {said(max_rows)}")


def _targets(source: Source, y: Any, target: Names | None) -> list[str]:
    """The columns of the target, by name."""
    if y is not None or target is None:
        raise ValueError(f'say which column of {source.name} is the target: target="..." instead of y')
    targets = [target] if isinstance(target, str) or not isinstance(target, Iterable) else list(target)
    source.require(targets)
    return targets


def _require_targets(source: str, table: Any, targets: list[str], first_row: int) -> None:
    for name in targets:
        column = table.column(name)
        if column.null_count:
            row = first_row + int(np.argmax(column.is_null().to_numpy()))
            raise TableError(f"{source}: the target {name!r} is missing in row {row}")


def _target_of(sample: Any, targets: list[str], survival: bool) -> np.ndarray:
    """One target (n,), several (n, targets), or of times the columns of the event and the time, in this order."""
    columns = [arrow_values(sample.column(name)) for name in targets]
    if survival:
        if len(columns) != 2:
            raise ValueError('loss="cox" needs two columns: target=["event", "time"]')
        pairs = np.empty(len(columns[0]), dtype=[("event", bool), ("time", float)])
        pairs["event"], pairs["time"] = columns
        return pairs
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
