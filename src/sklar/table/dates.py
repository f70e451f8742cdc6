"""Dates and times as numbers, where a user says so: days since 1970-01-01, and the cycles they stand in.

    dates="ordinal"   the day (and its fraction), one input
    dates="parts"     that, and sine and cosine of the year, the week and the day: season, weekday and hour

A point in time with a zone is taken in UTC; a duration is a number of days, a time of day a fraction of one.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

WAYS = ("ordinal", "parts")
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?$")
# 31.12.2024, 12/31/24 or 2024/12/31, with or without a time: which of them is the day, a file does not say.
OTHER_DATE = re.compile(r"(\d{1,2}([./-])\d{1,2}\2(\d{4}|\d{2})|\d{4}([./])\d{1,2}\4\d{1,2})([T ]\d{1,2}:\d{2}.*)?$")
CYCLES = (365.2425, 7.0, 1.0)  # days: of the year, the week and the day
N_CYCLES = 2 * len(CYCLES)  # inputs: sine and cosine of each
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)


def refuse_dates(name: str) -> ValueError:
    """The error for a column of dates where nothing says how to read it."""
    return ValueError(
        f"column {name!r} holds dates: say dates='ordinal' (--dates ordinal) for days since 1970, or dates='parts' "
        "for season, weekday and hour too; or leave it out"
    )


def are_iso_dates(values: Iterable[Any]) -> bool:
    """Whether every text among values (None is missing) is a date as ISO 8601 writes it, and there is one.

    Examples
    --------
    >>> are_iso_dates(["2024-02-29", None]), are_iso_dates(["2023-02-29"]), are_iso_dates(["2024-02-29", "soon"])
    (True, False, False)
    """
    present = [value for value in values if value is not None]
    if not present or not all(ISO_DATE.match(value) for value in present):
        return False
    try:
        for value in present:
            datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def days_of(name: str, values: np.ndarray) -> np.ndarray:
    """Dates of any kind, also as text, as days: float64 (n,), NaN where missing.

    Examples
    --------
    >>> days_of("when", np.array(["1970-01-02", None, "1969-12-31T12:00:00"], dtype=object)).tolist()
    [1.0, nan, -0.5]
    """
    if values.dtype.kind in "mM":
        unit = "datetime64[us]" if values.dtype.kind == "M" else "timedelta64[us]"
        whole = values.astype(unit)
        return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / (DAY / datetime.timedelta(microseconds=1)))
    return np.array([_days(name, value) for value in values], dtype=np.float64)


def cycles(days: np.ndarray) -> np.ndarray:
    """Where in the year, the week and the day: sine and cosine of each, 0 where missing: (n, 6)."""
    angle = 2 * np.pi * days[:, np.newaxis] / np.array(CYCLES)
    parts = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    return np.where(np.isnan(parts), 0.0, parts)


def _days(name: str, value: Any) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        return np.nan
    if isinstance(value, np.datetime64 | np.timedelta64):
        return float(days_of(name, np.array([value]))[0])
    if type(value).__name__ == "Period":
        value = value.to_timestamp()
    if isinstance(value, str) and are_iso_dates([value]):
        value = datetime.datetime.fromisoformat(value)
    if isinstance(value, datetime.timedelta):
        return value / DAY
    if isinstance(value, datetime.time):
        return (value.hour + (value.minute + (value.second + value.microsecond / 1e6) / 60) / 60) / 24
    if isinstance(value, datetime.date):
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime(value.year, value.month, value.day)
        return (value - EPOCH.replace(tzinfo=None) if value.tzinfo is None else value - EPOCH) / DAY
    raise ValueError(f"column {name!r} mixes dates and other values ({value!r})")
