"""Columns to mean 0 and deviation 1, and the checks that name the column at fault."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sklar.table.sparse import by_columns, dense

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
    def of(cls, X: Any, names: list[str], empty: Collection[int] = (), together: np.ndarray | None = None) -> Scaling:
        """The scaling of a table, dense or sparse; constant columns become 0, and NaN (of a dense one) is missing.

        Columns that are `empty` have no scale; those `together`, bool (d,), have one, the root mean square of theirs.

        Examples
        --------
        >>> X = np.array([[1.0, 0.0, 5.0], [-1.0, 7.0, 5.0]])
        >>> Scaling.of(X, ["a", "b", "c"]).spread
        array([1. , 3.5, 1. ])
        >>> Scaling.of(X, ["a", "b", "c"], together=np.ones(3, dtype=bool)).spread.round(2)
        array([2.57, 2.57, 1.  ])
        """
        with np.errstate(over="ignore", invalid="ignore"):
            centre, spread = _moments_by_rows(X) if is_mapped(X) else _moments_by_columns(X)
        for j in () if sparse.issparse(X) else np.flatnonzero(np.isnan(centre)):
            values = X[~np.isnan(X[:, j]), j]
            if j in empty:
                values = np.zeros(1)
            with np.errstate(over="ignore", invalid="ignore"):
                centre[j], spread[j] = values.mean(dtype=np.float64), values.std(dtype=np.float64)
        too_large = np.flatnonzero(~np.isfinite(spread) | ~np.isfinite(centre))
        if len(too_large):
            raise ValueError(f"column {names[too_large[0]]!r} has values too large to square; rescale it")
        rounding = 10 * np.finfo(np.float64).eps * np.abs(centre) * np.sqrt(X.shape[0])
        varies = spread > rounding
        if together is not None and (varies & together).any():
            spread[together] = np.sqrt(np.square(spread[varies & together]).mean())
        return cls(centre, np.where(varies, spread, 1.0))

    def apply(self, X: np.ndarray, columns: slice | np.ndarray = EVERY) -> np.ndarray:
        """(X - centre) / spread, in float64, clipped far out; X holds these columns alone."""
        with np.errstate(over="ignore"):  # what overflows is clipped
            scaled = X - self.centre[columns]
            scaled /= self.spread[columns]
        return np.clip(scaled, -FURTHEST_DEVIATION, FURTHEST_DEVIATION, out=scaled)


def is_mapped(X: Any) -> bool:
    """Whether an array, or what it is a view of, lies in a file."""
    part: object = X
    while isinstance(part, np.ndarray) and not isinstance(part, np.memmap):
        part = part.base
    return isinstance(part, np.memmap)


def rows_together(X: Any) -> int:
    """Rows of which 16 MiB in float64 are looked at together."""
    return max(1, BLOCK_ENTRIES // X.shape[1])


def _moments_by_columns(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each column, a block of columns at a time."""
    n, d = X.shape
    size = max(1, BLOCK_ENTRIES // n)
    table = by_columns(X)
    centre, spread = np.empty(d), np.empty(d)
    for first in range(0, d, size):
        part = slice(first, first + size)
        block = dense(table, part)
        centre[part] = block.mean(axis=0, dtype=np.float64)
        spread[part] = block.std(axis=0, dtype=np.float64)
    return centre, spread


def _moments_by_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same a block of rows at a time, as they lie in a file."""
    size = rows_together(X)
    blocks = [slice(start, start + size) for start in range(0, len(X), size)]
    centre = sum(X[part].sum(axis=0, dtype=np.float64) for part in blocks) / len(X)
    return centre, np.sqrt(sum(np.square(X[part] - centre).sum(axis=0) for part in blocks) / len(X))


def require_finite(X: Any, names: list[str], columns: slice | np.ndarray = EVERY, missing: bool = False) -> None:
    """Raise, naming the first of these columns that holds infinity, or NaN unless values may be `missing`.

    In a sparse table nothing may be missing.
    """
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
        bad = np.flatnonzero(np.isinf(X[:, j]) if missing else ~np.isfinite(X[:, j]))
        if len(bad):
            _refuse(X[bad[0], j], names[j], bad[0])


def _refuse(value: float, name: str, row: int) -> None:
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    raise ValueError(f"column {name!r} contains {what} (first in row {row}); X must be finite")
