"""The decimal sign of a text file: what numbers can be read with one sign only, and what may be read with either.

1,5      a comma that is a decimal one          0.123   12.34   a point that is a decimal one
1,234    may be 1.234 or 1234                   1.234           may be 1.234 or 1234
1.234,5  1.234.567   points between thousands, where commas are decimal
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

# In a column of numbers these cells are missing; in a column of text only an empty cell is.
MISSING = frozenset(("", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "NaN", "nan"))
# 1,5 or 1.234,5: a decimal comma, with or without points between thousands; no number of thousands begins with 0.
DECIMAL_COMMA = re.compile(r"\s*[+-]?([1-9]\d{0,2}(\.\d{3})+(,\d+)?|\d+(,\d+)?([eE][+-]?\d+)?)\s*$")
COMMA_OF_EITHER = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*$")
# With points between thousands 1000 would be 1.000.
POINT_OF_EITHER = re.compile(r"\s*[+-]?([1-9]\d{0,2}(\.\d{3})+|\d{1,3})\s*$")
COMMAS_BETWEEN = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*$")


class Reading(NamedTuple):
    """What the numbers of a column say of the decimal sign."""

    sign: str | None = None  # the only one that they can be read with
    unclear: str | None = None  # the first of them that can be read with either, to different numbers


class PointsSeen:
    """Whether any number of a file has a point that is a decimal one, and the first column that says nothing of it."""

    def __init__(self) -> None:
        self.are_decimal = False
        self.unclear: tuple[str, str] | None = None  # a column, and its cell

    def see(self, name: str, cells: Sequence[str]) -> None:
        """Some cells of a column of numbers."""
        if not self.are_decimal:
            found = reading_of(cells)
            self.are_decimal = found.sign == "."
            if found.unclear is not None and "." in found.unclear:
                self.unclear = self.unclear or (name, found.unclear)


def reading_of(cells: Sequence[str], missing: Collection[str] = ()) -> Reading:
    """What the cells of a column say; text, and numbers without points and commas, say nothing.

    Examples
    --------
    >>> reading_of(["1,5", "NA"]), reading_of(["1.234", "999"]), reading_of(["1.234", "0.5"])
    (Reading(sign=',', unclear=None), Reading(sign=None, unclear='1.234'), Reading(sign='.', unclear=None))
    """
    present = [cell for cell in cells if cell.strip() not in MISSING and cell.strip() not in missing]
    if any("," in cell for cell in present):
        return _of_commas(present)
    pointed = [cell for cell in present if "." in cell]
    if pointed and all(map(POINT_OF_EITHER.match, present)):
        return Reading(",") if any(cell.count(".") > 1 for cell in pointed) else Reading(unclear=pointed[0].strip())
    return Reading("." if pointed and all(map(is_number, present)) else None)


def _of_commas(present: list[str]) -> Reading:
    commas = [cell for cell in present if "," in cell]
    if not all(map(DECIMAL_COMMA.match, present)):
        return Reading()
    return Reading(unclear=commas[0].strip()) if all(map(COMMA_OF_EITHER.match, commas)) else Reading(",")


def is_number(value: Any) -> bool:
    """Whether it is one, as a file has them: Python also reads 1_2 as 12, and digits of other scripts."""
    if isinstance(value, str) and not _is_plain(value):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _is_plain(cell: str) -> bool:
    return "_" not in cell and cell.strip().isascii()


def plain_numbers(cells: Sequence[str]) -> Sequence[str] | None:
    """The cells, if none is only a number to Python.

    Examples
    --------
    >>> plain_numbers(["1", " 2.5", "x"]), plain_numbers(["1", "1_2"])
    (['1', ' 2.5', 'x'], None)
    """
    whole = "".join(cells)
    return cells if _is_plain(whole) or all(map(_is_plain, cells)) else None


def is_read(cell: str, decimal: str | None) -> bool:
    """Whether a cell is a number with this decimal sign; None is a point.

    Examples
    --------
    >>> is_read("1.000,5", ","), is_read("1.5", ","), is_read("1.5", None)
    (True, False, True)
    """
    return bool(DECIMAL_COMMA.match(cell)) if decimal == "," else is_number(cell)


def with_points(cells: Sequence[str]) -> Sequence[str] | None:
    """Numbers with decimal commas, written with points; None of a column that holds anything else."""
    if not all(cell.strip() in MISSING or DECIMAL_COMMA.match(cell) for cell in cells):
        return None
    return [cell if cell.strip() in MISSING else cell.replace(".", "").replace(",", ".") for cell in cells]


def remedy(cells: Collection[str], decimal: str | None) -> str | None:
    """What to do about numbers that this decimal sign does not read; None where cells are anything else.

    Examples
    --------
    >>> remedy(["1,5"], "."), remedy(["1,040.50"], "."), remedy(["abc"], ".")
    ('say --decimal , if these are decimal commas', 'write them without commas between thousands', None)
    """
    if decimal == ",":
        return "say --decimal . if these are decimal points" if all(map(is_number, cells)) else None
    commas = "say --decimal , if these are decimal commas" if all(map(DECIMAL_COMMA.match, cells)) else None
    if not all(map(COMMAS_BETWEEN.match, cells)):
        return commas
    return " or ".join(["write them without commas between thousands", *([commas] if commas else [])])
