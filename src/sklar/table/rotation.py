"""Rows that take turns in a sample: so training sees more of a table than memory holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklar.table.sampling import Drawn, Sampler


class Turn(NamedTuple):
    """The rows of a batch that are in the sample at a time."""

    rows: np.ndarray  # their numbers in the batch
    places: np.ndarray  # and in the sample


@dataclass(frozen=True)
class Rotation:
    """Which rows of each batch are in a sample, turn after turn.

    A batch has as many places in the sample as rows of it were drawn. At every turn its next rows, in the order of
    their random keys, take these places; turn 0 is the sample itself. So the share of every batch stays what it was,
    in whatever order batches are read and however the table is sorted, and every row of a batch comes up before any
    comes up again.

    A row has one place, whenever it comes up. What is decided by place (the fold, which predictors must not learn from
    it) is decided for the row.

    Examples
    --------
    >>> import pyarrow
    >>> sampler = Sampler(n_rows=5, size=2, seed=0)
    >>> drawn = [sampler.draw(pyarrow.table({"a": [1, 2, 3, 4, 5]}), 0)]
    >>> rotation = Rotation.of(sampler, drawn)
    >>> [rotation.turn(0, number).rows.tolist() for number in range(4)]
    [[2, 3], [1, 0], [4], [2, 3]]
    """

    sampler: Sampler
    sizes: tuple[int, ...]  # rows of each batch
    ends: np.ndarray  # of the places of each batch, (batches + 1,), from 0

    @classmethod
    def of(cls, sampler: Sampler, drawn: Sequence[Drawn], size: int | None = None) -> Rotation:
        """The rotation of the sample that `Sampler.together` makes of all batches, in their order."""
        bounds = np.cumsum([0, *(len(part.keys) for part in drawn)])
        ends = np.searchsorted(sampler.chosen(drawn, size), bounds)
        return cls(sampler, tuple(part.n_rows for part in drawn), ends)

    def turn(self, batch: int, number: int) -> Turn:
        """Those of a batch at a turn: fewer than it has places where rows run out."""
        first, end = self.ends[batch], self.ends[batch + 1]
        n_places, n_rows = int(end - first), self.sizes[batch]
        if not n_places:
            return Turn(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
        order = np.argsort(self.sampler.keys(batch, n_rows))
        order[:n_places].sort()  # the sample has them as they stand in the table
        start = number % -(-n_rows // n_places) * n_places
        rows = order[start : start + n_places]
        return Turn(rows, first + np.arange(len(rows)))
