"""Cells for people and for JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A cell as JSON can hold it: a number, text, a truth value, or None where it is missing."""
    value = _python(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType") or is_nan(value):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def is_nan(value: Any) -> bool:
    """Whether a number is none; decimals know it without being compared, which signals an error for some."""
    return bool(value.is_nan()) if isinstance(value, Decimal) else bool(value != value)


def said(value: Any) -> str:
    """A value as Python spells it, without numpy's names for numbers: what a message says was given.

    Examples
    --------
    >>> said(np.int64(0)), said({np.str_("a"): np.float64(0.5)}), said([np.bool_(True), "b"])
    ('0', "{'a': 0.5}", "[True, 'b']")
    """
    return repr(_without_numpy(value))


def _without_numpy(value: Any) -> Any:
    if isinstance(value, dict):
        return {_without_numpy(key): _without_numpy(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_without_numpy, value))
    return _python(value)


def _python(value: Any) -> Any:
    """A scalar of numpy as Python's own; a date in nanoseconds would become a number."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
        value = value.astype(unit)
    return value.item() if isinstance(value, np.generic) else value


def show_value(value: Any) -> str:
    """A cell for a person: four digits of a number, without an exponent as long as it is below ten million.

    Examples
    --------
    >>> show_value(3.14159), show_value(13495.7), show_value(2), show_value("blue"), show_value(None)
    ('3.142', '13500', '2', 'blue', 'missing')
    """
    if value is None:
        return "missing"
    return f"{float(f'{value:.4g}'):.7g}" if isinstance(value, float) else str(value)
