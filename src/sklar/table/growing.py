"""Columns of a text file that grow block by block: numbers are kept as numbers at once, not as the text they were.

A file's cells as Python text take several times the file's size; typed columns take 8 bytes a number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

BLOCK_CELLS = 2**18  # that are text at a time
MOST_SHARED = 2**16  # different texts of a column that its cells share

Typed = Callable[[str, Sequence[str]], np.ndarray]  # of a column's name and some of its cells


class GrowingColumns:
    """Columns made of rows of text.

    Examples
    --------
    >>> columns = GrowingColumns(["a", "b"], typed=lambda name, cells: np.array(cells, dtype=float))
    >>> columns.add(["1", "2"])
    >>> columns.finish()
    {'a': array([1.]), 'b': array([2.])}
    """

    def __init__(self, names: Sequence[str], typed: Typed, text: Collection[str] = ()) -> None:
        self.names, self.typed, self.text = names, typed, text
        self.chunks: list[list[np.ndarray]] = [[] for _ in names]
        self.shared: list[dict[str, str]] = [{} for _ in names]
        self.block: list[list[str]] = []
        self.size = max(1, BLOCK_CELLS // max(1, len(names)))

    def add(self, row: list[str]) -> None:
        """One row more."""
        self.block.append(row)
        if len(self.block) == self.size:
            self.complete()

    def complete(self) -> None:
        """Type the rows that are text so far."""
        for j, (name, cells) in enumerate(zip(self.names, zip(*self.block, strict=True), strict=False)):
            values = np.array(cells, dtype=object) if name in self.text else self.typed(name, cells)
            self.chunks[j].append(self._sharing(j, values) if values.dtype == object else values)
        self.block = []

    @property
    def late_text(self) -> set[str]:
        """Columns that were numbers, and then text: what their first cells looked like is gone."""
        self.complete()
        kinds = {name: {chunk.dtype == object for chunk in found} for name, found in self._chunks_by_name()}
        return {name for name, is_text in kinds.items() if len(is_text) == 2}

    def finish(self) -> dict[str, np.ndarray]:
        """The columns; whole numbers are floats where any block has floats."""
        self.complete()
        return {name: _joined(found) for name, found in self._chunks_by_name() if found}

    def _chunks_by_name(self) -> list[tuple[str, list[np.ndarray]]]:
        return list(zip(self.names, self.chunks, strict=True))

    def _sharing(self, j: int, values: np.ndarray) -> np.ndarray:
        """The same text as one object, however often it stands in the column."""
        known = self.shared[j]
        if len(known) > MOST_SHARED:
            return values
        return np.array([*(known.setdefault(value, value) for value in values), None], dtype=object)[:-1]


def _joined(chunks: list[np.ndarray]) -> np.ndarray:
    """One array of a column's blocks, which are let go."""
    whole = np.concatenate(chunks) if len(chunks) > 1 else chunks[0]
    chunks.clear()
    return whole
