"""What a reader should know about a column that can be read, but hardly as it was meant."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from sklar.table.columns import Column

# "5%", "1,000", "$-3.50", "(1 000)", "USD 5", "2.46 kg": not "12", which may be a code, nor "1-2", "12A" and "3rd".
CURRENCY = r"[$€£¥]|(?:USD|EUR|GBP|CHF|JPY)\b"
UNIT = r"[%‰$€£¥°]|(?P<unit>[A-Za-zµΩ][\w²³/·%]{0,9})"
NUMBER = r"\d++(?P<between>(?:[,' ]\d++|\.\d++)*+)"
BEFORE = rf"\s*+[-+(]?\s*+(?P<before>{CURRENCY})?\s*+[-+]?"
WRITTEN_NUMBER = re.compile(rf"{BEFORE}{NUMBER}(?P<behind>\s*+(?:{UNIT}))?\s*+\)?\s*+")
MOST_UNITS = 3  # different ones of a column, such as g and kg; only one where no space stands before it
LEAST_MEASURED = 3  # different values with a unit of letters
HOURS = frozenset(("am", "pm", "uhr"))  # of the clock, which are no amounts
MOST_COMPARED = 10_000  # different values of a column whose spelling is compared


def doubt_about(column: Column) -> str | None:
    """What should be known about a whole column; None: nothing."""
    looks_like = column.names_rows()
    of_values = doubt_about_values(column)
    if of_values is not None or looks_like is None:
        return of_values
    return f"{looks_like}, like an id: leave it out (forbidden=[{column.name!r}], or --ignore {column.name})"


def doubt_about_values(column: Column) -> str | None:
    """The same of its values alone, each of which may stand in `column` once.

    Examples
    --------
    >>> doubt_about_values(Column("dose", np.array(["2.5 mg", "5 mg", "10 mg"], dtype=object)))
    "numbers written as text ('2.5 mg'), read as categories: write them without signs, units and thousands separators"
    """
    date = column.odd_date()
    if date is not None:
        return f"dates such as {date!r}, read as text: write them as ISO 8601 does (2024-12-31) to have them as dates"
    if not column.is_text or column.is_declared:
        return None
    return _doubt_about_text({value: None for value in column.values if value is not None}, "categories")


def warn_about_values(column: Column) -> None:
    """Warn of a column's doubts."""
    doubt = doubt_about_values(column)
    if doubt is not None:
        warnings.warn(f"column {column.name!r} holds {doubt}", stacklevel=2)


def warn_about_classes(y: Any) -> None:
    """Warn of a target of text whose classes are hardly meant: spelled in two ways, or numbers written as text."""
    values = np.asarray(y)
    if values.ndim == 1 and values.dtype.kind in "OU":
        present = {value: None for value in values.tolist() if isinstance(value, str)}
        doubt = _doubt_about_text(present, "classes")
        if doubt is not None:
            warnings.warn(f"y holds {doubt}", stacklevel=2)


def _doubt_about_text(values: Collection[Any], kind: str) -> str | None:
    """The doubt about different values, which are called so."""
    first = next(iter(values), None)
    if are_written_numbers(values):
        remedy = "write them without signs, units and thousands separators"
        return f"numbers written as text ({first!r}), read as {kind}: {remedy}"
    alike = spelled_alike(values) if len(values) <= MOST_COMPARED else None
    if alike is not None:
        return f"{kind} that differ in case or spaces alone ({alike[0]!r}, {alike[1]!r}): spell them in one way"
    return None


def are_written_numbers(values: Collection[Any]) -> bool:
    """Whether all values are numbers with signs or units that numbers in a table do not have.

    Examples
    --------
    >>> [are_written_numbers(values) for values in (["5%"], ["1 kg", "2 kg", "500 g"], ["12A", "3B", "4C"])]
    [True, True, False]
    """
    units, is_glued = set(), False
    for value in values:
        found = WRITTEN_NUMBER.fullmatch(value) if isinstance(value, str) else None
        if found is None or not (found["before"] or found["behind"] or set(found["between"]) & set(",' ")):
            return False
        if found["unit"] is not None:
            units.add(found["unit"].lower())
            is_glued = is_glued or not found["behind"][0].isspace()
    if not units:
        return bool(values)
    few = len(units) <= (1 if is_glued else MOST_UNITS)
    return few and len(values) >= LEAST_MEASURED and units.isdisjoint(HOURS)


def spelled_alike(values: Iterable[Any]) -> tuple[str, str] | None:
    """Two texts that differ in case or spaces alone; None where there are none.

    Examples
    --------
    >>> spelled_alike(["ja", "nein", "Ja "]), spelled_alike(["ja", "nein"])
    (('ja', 'Ja '), None)
    """
    known: dict[str, str] = {}
    for value in values:
        if isinstance(value, str):
            other = known.setdefault(" ".join(value.casefold().split()), value)
            if other != value:
                return other, value
    return None
