"""Columns to mean 0 and deviation 1, and the checks that name the column at fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sklar.estimators.sparse import by_columns, dense

# A value further out than this many deviations counts as this far: nothing downstream can overflow.
FURTHEST_DEVIATION = 100.0
EVERY = slice(None)
BLOCK_ENTRIES = 2**21  # of a block of columns that is measured at a time


@dataclass(frozen=True)
class Scaling:
    """What makes a table's columns comparable."""

    centre: np.ndarray  # (d,)
    spread: np.ndarray  # (d,)

    @classmethod
    def of(cls, X: Any, names: list[str]) -> Scaling:
        """The scaling of a table, dense or sparse; constant columns become 0."""
        n, d = X.shape
        size = max(1, BLOCK_ENTRIES // n)
        table = by_columns(X)
        centre, spread = np.empty(d), np.empty(d)
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, d, size):
                part = slice(first, first + size)
                block = dense(table, part)
                centre[part] = block.mean(axis=0, dtype=np.float64)
                spread[part] = block.std(axis=0, dtype=np.float64)
        too_large = np.flatnonzero(~np.isfinite(spread) | ~np.isfinite(centre))
        if len(too_large):
            raise ValueError(f"column {names[too_large[0]]!r} has values too large to square; rescale it")
        rounding = 10 * np.finfo(np.float64).eps * np.abs(centre) * np.sqrt(n)
        return cls(centre, np.where(spread > rounding, spread, 1.0))

    def apply(self, X: np.ndarray, columns: slice | np.ndarray = EVERY) -> np.ndarray:
        """(X - centre) / spread, in float64, clipped far out; X holds these columns alone."""
        with np.errstate(over="ignore"):  # what overflows is clipped
            scaled = X - self.centre[columns]
            scaled /= self.spread[columns]
        return np.clip(scaled, -FURTHEST_DEVIATION, FURTHEST_DEVIATION, out=scaled)


def require_finite(X: Any, names: list[str], columns: slice | np.ndarray = EVERY) -> None:
    """Raise, naming the first of these columns that holds NaN or infinity."""
    if sparse.issparse(X):
        X = X.tocsc()[:, columns]
        bad = np.flatnonzero(~np.isfinite(X.data))
        if len(bad):
            place = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
            _refuse(X.data[bad[0]], names[np.arange(len(names))[columns][place]], X.indices[bad[0]])
        return
    if not np.issubdtype(X.dtype, np.floating):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        sums = X[:, columns].sum(axis=0)
    for j in np.arange(X.shape[1])[columns][~np.isfinite(sums)]:  # a sum can also overflow: look closer
        bad = np.flatnonzero(~np.isfinite(X[:, j]))
        if len(bad):
            _refuse(X[bad[0], j], names[j], bad[0])


def _refuse(value: float, name: str, row: int) -> None:
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    raise ValueError(f"column {name!r} contains {what} (first in row {row}); X must be finite")
