"""The rows of a table that its sample in memory has not: read, encoded and handed to training in their turn."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from sklar.table.adapter import adapt
from sklar.table.csv_format import TableError
from sklar.table.rotation import Rotation
from sklar.table.schema import Schema, TrainingTable
from sklar.table.sources import Source
from sklar.table.target_columns import arrow_values
from sklar.target import EncodedTarget, Target
from sklar.training.data import TrainingData
from sklar.training.engine.renewal import NewRows
from sklar.training.tasks import Task

# Numbers that are read a step, about, for 12% of its CPU time (docs/guides/scale.md): 10,900 rows of 50.
CELLS_A_STEP = 2**19


@dataclass(frozen=True)
class RowReader:
    """The table that a sample was drawn from, to be read on."""

    source: Source
    features: list[str]
    target: str
    rotation: Rotation

    def beside(self, data: TrainingData, table: TrainingTable, schema: Schema, encoded: EncodedTarget) -> TrainingData:
        """The sample as training takes it, with the other rows of its table.

        Without them where a target is looked up by its row's number, or rows count differently or are copies.
        """
        if type(encoded.task) is not Task or data.weight is not None or len(table.y) != self.rotation.ends[-1]:
            return data
        return data._replace(more=lambda: self.blocks(schema, encoded.target, table.order))

    def blocks(self, schema: Schema, target: Target, order: np.ndarray | None = None) -> Generator[NewRows]:
        """The rows of one batch after the other, pass after pass, for ever.

        `order` says which row of the sample stands where in training.
        """
        places = None if order is None else np.argsort(order)
        for turn in count(1):
            batches = 0
            with closing(self.source.batches()) as tables:
                for table in tables:
                    self._require_same(batches, table.num_rows)
                    new = self._block(table, schema, target, turn, batches)
                    yield new if places is None else new._replace(places=places[new.places])
                    batches += 1
            self._require_same(batches, None)

    def _block(self, table: Any, schema: Schema, target: Target, turn: int, batch: int) -> NewRows:
        """The rows of one batch whose turn it is, but for those of a class that the sample has not."""
        rows, places = self.rotation.turn(batch, turn)
        drawn = table.take(rows)
        y, known = target.numbers(arrow_values(drawn.column(self.target)))
        if target.classes is None and not known.all():
            raise TableError(f"{self.source.name}: the target {self.target!r} has a value that is not a finite number")
        n_steps = max(1, table.num_rows * table.num_columns // CELLS_A_STEP)
        return NewRows(places[known], _inputs(drawn.select(self.features), schema)[known], y[known], n_steps)

    def _require_same(self, batch: int, n_rows: int | None) -> None:
        """Raise where a batch has other rows than in the first pass; None is the end of the table."""
        sizes = self.rotation.sizes
        if n_rows != (sizes[batch] if batch < len(sizes) else None):
            raise TableError(f"{self.source.name} has changed since the fit began; fit again")


def _inputs(table: Any, schema: Schema) -> np.ndarray:
    """What a network is given of rows of the table that the schema was learned from: float32 (n, D)."""
    adapted = adapt(table)
    columns = adapted.columns()
    return schema.training_inputs(adapted.dense() if columns is None else schema.encoding.rows(columns))
