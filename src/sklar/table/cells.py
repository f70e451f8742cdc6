"""Cells for people and for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.table.columns import is_nan


def plain(value: Any) -> Any:
    """A cell as JSON can hold it: a number, text, a truth value, or None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value).__name__ in ("NAType", "NaTType") or is_nan(value):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def show_value(value: Any) -> str:
    """A cell for a person: four digits of a number.

    Examples
    --------
    >>> show_value(3.14159), show_value(2), show_value("blue"), show_value(None)
    ('3.142', '2', 'blue', 'missing')
    """
    if value is None:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
