"""The values of a target: which are missing or of another kind, and numpy's types for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.table.cells import is_nan
from sklar.table.columns import kind_of


def check_target(y: Any) -> None:
    """Raise, naming the first row whose target is missing as no number can be (None, NA, NaT) or of another kind.

    Examples
    --------
    >>> check_target(["a", None])
    Traceback (most recent call last):
    ...
    ValueError: y is missing in row 1; leave out rows without a target
    """
    values = np.asarray(y)
    if not values.ndim or not len(values):
        return
    per_row = max(1, values.size // len(values))
    kinds = [_target_kind(value) for value in values.flat] if values.dtype == object else []
    missing = "missing" in kinds or (values.dtype.kind in "mM" and bool(np.isnat(values).any()))
    if missing:
        row = kinds.index("missing") if kinds else int(np.isnat(values.ravel()).argmax())
        raise ValueError(f"y is missing in row {row // per_row}; leave out rows without a target")
    if kinds and kinds[0] not in ("text", "number"):
        kind = type(values.flat[0]).__name__
        raise ValueError(f"Unknown label type: y holds objects of type {kind}; use numbers, text or numpy's datetime64")
    if len(set(kinds)) > 1:
        row = next(i for i, kind in enumerate(kinds) if kind != kinds[0])
        first, other = values.flat[0], values.flat[row]
        raise ValueError(f"y holds {first!r} and, in row {row // per_row}, {other!r}: make it all text or all numbers")


def check_outcomes(y: Any) -> None:
    """Raise, naming the first row whose outcome is missing or infinite: nothing can be judged by it.

    Examples
    --------
    >>> check_outcomes([1.0, float("nan")])
    Traceback (most recent call last):
    ...
    ValueError: y is missing in row 1; leave out rows without a target
    """
    check_target(y)
    values = np.asarray(y)
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    first = int(np.argmin(np.isfinite(values).ravel()))
    row = first // max(1, values.size // len(values))
    if np.isnan(values.flat[first]):
        raise ValueError(f"y is missing in row {row}; leave out rows without a target")
    raise ValueError(f"y is infinite in row {row}")


def plain_target(y: Any) -> Any:
    """A target without pandas' nullable types, of which scikit-learn would make floats: booleans stay booleans.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_target(pd.Series([True, False], dtype="boolean"))
    array([ True, False])
    """
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y.to_numpy(dtype=kind) if kind is not None and kind.kind in "biu" and not y.isna().any() else y


def _target_kind(value: Any) -> str:
    """As `kind_of`; a NaN, which pandas puts beside text where a value is missing, is missing too."""
    kind = kind_of(value)
    return "missing" if kind == "number" and is_nan(value) else kind
