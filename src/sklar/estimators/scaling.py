"""Columns to mean 0 and deviation 1, and the checks that name the column at fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# A value further out than this many deviations counts as this far: nothing downstream can overflow.
FURTHEST_DEVIATION = 100.0
EVERY = slice(None)


@dataclass(frozen=True)
class Scaling:
    """What makes a table's columns comparable."""

    centre: np.ndarray  # (d,)
    spread: np.ndarray  # (d,)

    @classmethod
    def of(cls, X: np.ndarray, names: list[str]) -> Scaling:
        """The scaling of a table; constant columns become 0, and NaN is missing."""
        with np.errstate(over="ignore", invalid="ignore"):
            if is_mapped(X):
                centre, spread = _moments_in_blocks(X)
            else:
                centre = X.mean(axis=0, dtype=np.float64)
                spread = X.std(axis=0, dtype=np.float64)
        for j in np.flatnonzero(np.isnan(centre)):
            values = X[~np.isnan(X[:, j]), j]
            if not len(values):
                raise ValueError(f"column {names[j]!r} has no value in any row; leave it out")
            with np.errstate(over="ignore", invalid="ignore"):
                centre[j], spread[j] = values.mean(dtype=np.float64), values.std(dtype=np.float64)
        too_large = np.flatnonzero(~np.isfinite(spread) | ~np.isfinite(centre))
        if len(too_large):
            raise ValueError(f"column {names[too_large[0]]!r} has values too large to square; rescale it")
        rounding = 10 * np.finfo(np.float64).eps * np.abs(centre) * np.sqrt(len(X))
        return cls(centre, np.where(spread > rounding, spread, 1.0))

    def apply(self, X: np.ndarray, columns: slice | np.ndarray = EVERY) -> np.ndarray:
        """(X - centre) / spread, in float64, clipped far out; X holds these columns alone."""
        with np.errstate(over="ignore"):  # what overflows is clipped
            scaled = X - self.centre[columns]
            scaled /= self.spread[columns]
        return np.clip(scaled, -FURTHEST_DEVIATION, FURTHEST_DEVIATION, out=scaled)


def is_mapped(X: np.ndarray) -> bool:
    """Whether an array, or what it is a view of, lies in a file."""
    part: object = X
    while isinstance(part, np.ndarray) and not isinstance(part, np.memmap):
        part = part.base
    return isinstance(part, np.memmap)


def rows_together(X: np.ndarray) -> int:
    """Rows of which 16 MiB in float64 are looked at together."""
    return max(1, 2**21 // X.shape[1])


def _moments_in_blocks(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of each column, without a copy of all of X."""
    size = rows_together(X)
    blocks = [slice(start, start + size) for start in range(0, len(X), size)]
    centre = sum(X[part].sum(axis=0, dtype=np.float64) for part in blocks) / len(X)
    return centre, np.sqrt(sum(np.square(X[part] - centre).sum(axis=0) for part in blocks) / len(X))


def require_finite(
    X: np.ndarray, names: list[str], columns: slice | np.ndarray = EVERY, missing: np.ndarray | None = None
) -> None:
    """Raise, naming the first of these columns that holds infinity, or NaN unless it may (`missing`, bool (d,))."""
    if not np.issubdtype(X.dtype, np.floating):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        sums = X[:, columns].sum(axis=0)
    for j in np.arange(X.shape[1])[columns][~np.isfinite(sums)]:  # a sum can also overflow: look closer
        may_miss = missing is not None and missing[j]
        bad = np.flatnonzero(np.isinf(X[:, j]) if may_miss else ~np.isfinite(X[:, j]))
        if len(bad):
            what = "NaN" if np.isnan(X[bad[0], j]) else "infinity (inf)"
            where = f"column {names[j]!r} contains {what} (first in row {bad[0]})"
            fitted = missing is not None and what == "NaN"
            raise ValueError(f"{where}; {'it had no missing value in fit' if fitted else 'X must be finite'}")
