"""What predictors of the user's learn from: columns of rows that nothing hides yet, and their targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.predictor.inputs import ShownInputs
from sklar.table.schema import Schema
from sklar.target import EncodedTarget

MOST_COPIES = 16
MOST_ENTRIES = 2**26  # of the copied rows


@dataclass(frozen=True)
class Lesson:
    """Rows to learn from."""

    inputs: ShownInputs
    values: np.ndarray  # (n, C)
    targets: np.ndarray  # codes of classes (n, 1), or numbers (n, T)
    weight: np.ndarray | None  # what rows count, (n,)
    kind: str  # of the target
    n_classes: int  # 1 where there are none

    @classmethod
    def of(cls, schema: Schema, x: np.ndarray, encoded: EncodedTarget) -> Lesson:
        """Of network inputs x (n, D) and an encoded target."""
        classes, kind = encoded.target.classes, encoded.target.kind
        numbers = _numbers(encoded)
        inputs = ShownInputs.of(schema, x, numbers)
        weight = None if encoded.weight is None else np.asarray(encoded.weight, dtype=np.float64)
        targets = encoded.numbers[:, np.newaxis] if kind == "classes" else numbers
        n_classes = len(classes) if kind == "classes" and classes is not None else 1
        return cls(inputs, inputs.values(x), targets, weight, kind, n_classes)

    @property
    def n_models(self) -> int:
        """One for all classes, else one an output."""
        return self.targets.shape[1]

    def target(self, rows: np.ndarray, output: int) -> np.ndarray:
        """What a model of one output learns of rows."""
        y = self.targets[rows, output]
        return y.astype(np.int64) if self.kind in ("classes", "labels") else y

    def weights(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """What rows count, as an argument of `fit`, if there is one."""
        return {} if self.weight is None else {"sample_weight": self.weight[rows]}

    def with_all_classes(self, chosen: np.ndarray, output: int) -> np.ndarray:
        """The numbers of chosen rows, bool (n,), and one of each class that none of them has."""
        y, rows = self.targets[:, output], np.flatnonzero(chosen)
        if self.kind not in ("classes", "labels"):
            return rows
        first = np.unique(y, return_index=True)[1]
        return np.concatenate([rows, first[~np.isin(y[first], y[rows])]])


def taught_rows(rows: np.ndarray, lesson: Lesson, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of rows, each some times, each time to be shown other features; of very many some, once."""
    copies = min(MOST_COPIES, max(2, wanted // len(rows)))
    room = MOST_ENTRIES // lesson.inputs.n_columns
    return np.tile(rng.permutation(rows)[:room], max(1, min(copies, room // len(rows))))


def _numbers(encoded: EncodedTarget) -> np.ndarray:
    """The target as numbers (n, T), of classes one column each."""
    if encoded.target.kind == "classes":
        return np.eye(len(encoded.target.classes))[encoded.numbers]  # type: ignore[arg-type]
    table = getattr(encoded.task, "targets", None)
    return encoded.numbers[:, np.newaxis].astype(np.float64) if table is None else table.numpy().astype(np.float64)
