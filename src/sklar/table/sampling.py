"""Uniform samples of rows that come in batches, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Drawn(NamedTuple):
    """Some rows of a batch, and the random keys that chose them."""

    rows: Any  # an Arrow table
    keys: np.ndarray


class Sampler:
    """A uniform sample without replacement: every row gets a random key, and the smallest stay.

    The keys of a batch depend on its number alone, so that batches can be drawn from anywhere, in any order.
    """

    def __init__(self, n_rows: int, size: int, seed: int) -> None:
        self.size, self.seed, self.is_partial = size, seed, size < n_rows
        # Keys below this are so many as are wanted, and six standard deviations more: there is no need to keep others.
        self.cutoff = 1.0 if size >= n_rows else min(1.0, (size + 6 * size**0.5) / n_rows)

    def draw(self, table: Any, number: int, first_row: int = 0) -> Drawn:
        """The rows of a batch that may be in the sample."""
        keys = np.random.default_rng([self.seed, number]).random(table.num_rows)
        kept = np.flatnonzero(keys < self.cutoff)
        return Drawn(table if len(kept) == table.num_rows else table.take(kept), keys[kept])

    def together(self, drawn: Sequence[Drawn], size: int | None = None) -> Any:
        """The sample, as one Arrow table, or fewer of its rows: a uniform sample again."""
        import pyarrow

        size = self.size if size is None else min(size, self.size)
        rows = pyarrow.concat_tables([part.rows for part in drawn], promote_options="default")
        keys = np.concatenate([part.keys for part in drawn])
        if len(keys) <= size:
            return rows
        return rows.take(np.sort(np.argpartition(keys, size)[:size]))
