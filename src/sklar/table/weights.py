"""What a row counts: `sample_weight` and `class_weight`.

A row of weight 0 is left out before anything is learned from it. Whole weights are repetitions, so that a weight of 2
and the row written twice are the same fit: tables with repeated rows are therefore put in an order of their own first,
whatever order they come in. Any other weight is a share of the rows drawn (honest), or of the loss (joint).

Copies of a row tell nothing new, and one that judges must not meet its copy among those that were learned from. So
where many rows are copies they become one row that counts as many, a share again. A table of a few categories has equal
rows that are no copies: their targets differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from sklar.table.adapter import adapt
from sklar.table.cells import said
from sklar.table.scaling import rows_together

# Whole weights are written out as long as the table does not grow by more than this.
MOST_REPETITIONS = 10
FEW_COPIES = 1.25  # rows for each different one: below, equal rows are left as they are
AGREEING = 0.9  # of the rows that repeat another's values, so many repeat its target too where they are copies


def weights_of_rows(sample_weight: Any, X: Any) -> np.ndarray | None:
    """The weights, checked: float64 (n,); None where every row counts the same."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    n_rows = adapt(X).n_rows
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be one number per row; got shape {weights.shape}")
    check_consistent_length(range(n_rows), weights)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight must be finite and not negative; got {weights[bad[0]]} for row {bad[0]}")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row")
    return weights


def without_zeros(X: Any, y: Any, weights: np.ndarray | None) -> tuple[Any, Any, np.ndarray | None]:
    """The rows that count."""
    if weights is None or weights.all() or y is None:
        return X, y, weights
    check_consistent_length(weights, y)
    kept = np.flatnonzero(weights)
    return adapt(X).take(kept), np.asarray(y)[kept], weights[kept]


class Arranged(NamedTuple):
    """Rows in the order in which they train."""

    rows: Any
    y: np.ndarray
    weights: np.ndarray | None
    order: np.ndarray | None  # where each stood before; None where all stand where they stood


def arranged(rows: Any, y: np.ndarray, weights: np.ndarray | None) -> Arranged:
    """Whole weights as repetitions, repeated rows in their own order, copies as one row; other weights with mean 1."""
    of_values, of_rows = _marks(rows, y)
    order = None
    if weights is None or ((weights == np.round(weights)).all() and weights.mean() <= MOST_REPETITIONS):
        times = np.ones(len(of_rows), dtype=np.intp) if weights is None else weights.astype(np.intp)
        order, weights = _repeated(times, of_values, of_rows)
    elif len(np.unique(of_rows)) < len(of_rows):
        order = np.argsort(of_rows, kind="stable")
        weights = weights[order]
    if order is not None:
        rows, y = rows[order], y[order]
    if weights is not None and (weights == weights[0]).all():
        weights = None
    return Arranged(rows, y, None if weights is None else weights / weights.mean(), order)


def _repeated(times: np.ndarray, of_values: np.ndarray, of_rows: np.ndarray) -> tuple[np.ndarray | None, Any]:
    """Rows that are there so many `times` (n,), by their marks: an order of them (None: as they stand), and weights.

    What all are repeated by says nothing. Copies are one row with a weight; else rows stand as often as they count, in
    an order that depends on what they hold and not on where they stood.
    """
    _, first, which = np.unique(of_rows, return_index=True, return_inverse=True)
    counts = np.bincount(which, times).astype(np.intp)
    common = np.gcd.reduce(counts)
    if (counts == common).all():  # none more often than another
        return None if len(first) == len(times) else np.sort(first), None
    counts //= common
    n, different = counts.sum(), len(first)
    repeats_values = n - len(np.unique(of_values))
    if different * FEW_COPIES <= n <= different * MOST_REPETITIONS and n - different >= AGREEING * repeats_values:
        return first, counts.astype(np.float64)
    written_out = first.repeat(counts) if common > 1 else np.arange(len(times)).repeat(times)
    return written_out[np.argsort(of_rows[written_out], kind="stable")], None


def class_weights(class_weight: Any, classes: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
    """A weight for every row, by its class: float64 (n,)."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):  # "balanced": every class counts the same
        counts = np.bincount(codes, minlength=len(classes))
        return (len(codes) / (len(classes) * counts))[codes]
    given = {str(label): weight for label, weight in class_weight.items()}
    unknown = sorted(set(given) - {str(label) for label in classes})
    if unknown:
        raise ValueError(f"class_weight: there is no class {unknown[0]!r}; there are {', '.join(map(str, classes))}")
    weights = np.array([given.get(str(label), 1.0) for label in classes], dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all() or not weights[codes].any():
        raise ValueError(f"class_weight must be finite, not negative, and not zero for all; got {said(class_weight)}")
    return weights[codes]


def _marks(rows: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number for the values of every row, and one for its target with them: uint64 (n,) each."""
    size, factors = rows_together(rows), _factors(rows.shape[1])
    parts = [_marks_of(rows[start : start + size], factors) for start in range(0, rows.shape[0], size)]
    marks = of_values = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)
    for column in _as_numbers(y):
        marks = _mixed(marks ^ column.view(np.uint64))
    return of_values, marks


def _factors(d: int) -> np.ndarray:
    """An odd number for every column, as if at random: uint64 (d,)."""
    return _mixed(_mixed(np.arange(1, d + 1, dtype=np.uint64))) | np.uint64(1)


def _marks_of(rows: Any, factors: np.ndarray) -> np.ndarray:
    """A number for every row that depends on all of it: the sum over columns of mixed(value) * factor, modulo 2^64.

    A zero adds nothing, so that a sparse table has the marks of its dense twin.
    """
    if sparse.issparse(rows):
        parts = _mixed((rows.data + 0.0).astype(np.float64).view(np.uint64)) * factors[rows.indices]
        upto = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(parts, dtype=np.uint64)])
        return upto[rows.indptr[1:]] - upto[rows.indptr[:-1]]
    values = np.array(rows, dtype=np.float64, order="C")
    values += 0.0  # -0 is 0
    return _mixed(values.view(np.uint64)) @ factors


def _mixed(bits: np.ndarray) -> np.ndarray:
    """Every bit spread over all of them, in place; 0 stays 0."""
    bits ^= bits >> np.uint64(32)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    return bits


def _as_numbers(y: np.ndarray) -> list[np.ndarray]:
    """The columns of a target, each as float64."""
    if y.dtype.names:
        return [np.ascontiguousarray(y[name], dtype=np.float64) for name in y.dtype.names]
    columns = y.T if y.ndim == 2 else [y]
    if y.dtype.kind not in "biuf":
        columns = [np.unique(column, return_inverse=True)[1] for column in columns]
    return [np.ascontiguousarray(column, dtype=np.float64) for column in columns]
