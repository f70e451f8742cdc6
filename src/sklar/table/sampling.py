"""Uniform samples of rows that come in batches, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Drawn(NamedTuple):
    """Some rows of a batch, and the random keys that chose them."""

    rows: Any  # an Arrow table
    keys: np.ndarray
    n_rows: int  # of the batch, all of them


class Sampler:
    """A uniform sample without replacement: every row gets a random key, and the smallest stay.

    The keys of a batch depend on its number alone, so that batches can be drawn from anywhere, in any order.
    """

    def __init__(self, n_rows: int, size: int, seed: int) -> None:
        self.size, self.seed, self.is_partial = size, seed, size < n_rows
        # Keys below this are so many as are wanted, and six standard deviations more: there is no need to keep others.
        self.cutoff = 1.0 if size >= n_rows else min(1.0, (size + 6 * size**0.5) / n_rows)

    def keys(self, number: int, n_rows: int) -> np.ndarray:
        """The keys of a batch of so many rows."""
        return np.random.default_rng([self.seed, number]).random(n_rows)

    def draw(self, table: Any, number: int, first_row: int = 0) -> Drawn:
        """The rows of a batch that may be in the sample."""
        keys = self.keys(number, table.num_rows)
        kept = np.flatnonzero(keys < self.cutoff)
        return Drawn(table if len(kept) == table.num_rows else table.take(kept), keys[kept], table.num_rows)

    def together(self, drawn: Sequence[Drawn], size: int | None = None) -> Any:
        """The sample, as one Arrow table, or fewer of its rows: a uniform sample again."""
        import pyarrow

        rows = pyarrow.concat_tables([part.rows for part in drawn], promote_options="default")
        chosen = self.chosen(drawn, size)
        return rows if len(chosen) == rows.num_rows else rows.take(chosen)

    def chosen(self, drawn: Sequence[Drawn], size: int | None = None) -> np.ndarray:
        """Which of all rows drawn are in the sample, ascending."""
        size = self.size if size is None else min(size, self.size)
        keys = np.concatenate([part.keys for part in drawn])
        return np.arange(len(keys)) if len(keys) <= size else np.sort(np.argpartition(keys, size)[:size])
