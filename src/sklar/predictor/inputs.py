"""What a predictor of the user's reads of a row: a number a column, NaN where it is hidden.

Made of the inputs that networks read (see `table.encoding`), as a sum over the inputs of each column:

    number                   as it is, scaled
    number that may miss     the same, and one number below all others where missing: shown, and missing, is not hidden
    cycle of a date          as it is
    categories               their place when sorted by the mean target, from 1; 0 for one that `fit` never saw

Sorted by the mean target, the best split of categories in two is one threshold (Fisher, 1958), so that any tree can
find it; of several targets the first principal component of the means is sorted (Coppersmith et al., 1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklar.table.encoding import Encoding
from sklar.table.schema import Schema

PRIOR_ROWS = 20.0  # that a category's mean is drawn towards that of all rows by
BELOW = 1.0  # deviations between "missing" and the least number


@dataclass(frozen=True)
class ShownInputs:
    """From network inputs (n, D) and open gates (n, d) to columns (n, C)."""

    weight: np.ndarray  # of each input in its column, (D,)
    starts: np.ndarray  # the first input of each column, (C,)
    gate_of_column: np.ndarray  # (C,)

    @classmethod
    def of(cls, schema: Schema, x: np.ndarray, targets: np.ndarray) -> ShownInputs:
        """Learned from inputs x (n, D) and targets (n, T) of the training rows."""
        encoding, weight = schema.encoding, np.ones(x.shape[1])
        widths = encoding.widths()[schema.columns]
        starts: list[int] = []
        gates: list[int] = []
        first = 0
        for column, gate, width in zip(schema.columns.tolist(), schema.gates.tolist(), widths.tolist(), strict=True):
            inputs = slice(first, first + width)
            own = _starts(encoding, column, width)
            weight[inputs] = _weights(encoding, column, x[:, inputs], targets)
            starts += [first + start for start in own]
            gates += [gate] * len(own)
            first += width
        return cls(weight, np.array(starts, dtype=np.intp), np.array(gates, dtype=np.intp))

    @property
    def n_columns(self) -> int:
        """C."""
        return len(self.starts)

    def values(self, x: np.ndarray) -> np.ndarray:
        """All columns of rows, nothing hidden: float32 (n, C)."""
        # training sees inputs in float32, and so do all rows: a threshold between two numbers stays between them
        return np.add.reduceat(x.astype(np.float32) * self.weight.astype(np.float32), self.starts, axis=1)

    def hidden(self, values: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Columns (n, C), NaN where the gates (n, d) are shut: float32."""
        return np.where(masks[:, self.gate_of_column], values, np.float32(np.nan))


def _starts(encoding: Encoding, column: int, width: int) -> list[int]:
    """Where a column's own columns begin among its inputs: one in all, and one for each cycle of a date."""
    n_cycles = width - 1 - int(encoding.missing[column]) if encoding.categories[column] is None else 0
    if not n_cycles:
        return [0]
    return list(range(width))  # days, cycles, and whether the date is missing


def _weights(encoding: Encoding, column: int, x: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Of the inputs (n, W) of one column: (W,)."""
    weight = np.ones(x.shape[1])
    if encoding.categories[column] is not None:
        return encoding.scaling.spread[column] * (1 + _places(x > 0, targets))
    if len(weight) == 2 and encoding.missing[column]:
        weight[1] = x[:, 0].min() - BELOW  # where missing, the number itself is 0
    return weight


def _places(has: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The place of each state, from 0, sorted by the mean target of rows that have it (n, W): (W,)."""
    count = has.sum(axis=0)[:, np.newaxis]
    means = (has.T.astype(np.float64) @ targets + PRIOR_ROWS * targets.mean(axis=0)) / (count + PRIOR_ROWS)
    means -= (count * means).sum(axis=0) / max(1, count.sum())
    if means.shape[1] > 1:
        along = np.linalg.svd(np.sqrt(count) * means, full_matrices=False)[2][0]
        means = (means @ (along * np.sign(along[np.abs(along).argmax()])))[:, np.newaxis]
    places = np.empty(len(means))
    places[np.argsort(means[:, 0], kind="stable")] = np.arange(len(means))
    return places
