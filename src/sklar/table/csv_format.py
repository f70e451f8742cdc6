"""How a CSV file spells a table: its separator, its missing cells, its decimal sign.

A user may say it (`CsvFormat`); what nobody says is read off the first lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# In a column of numbers these cells are missing; in a column of text only an empty cell is.
MISSING = frozenset(("", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "NaN", "nan"))
SEPARATORS = (",", ";", "\t", "|")
# 1,5 or 1.234,5: a decimal comma, with or without points between thousands.
DECIMAL_COMMA = re.compile(r"\s*[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?\s*$")
MAY_BE_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2},\d{3}\s*$")


class TableError(ValueError):
    """A file that is not the table it should be; the message says where."""


@dataclass(frozen=True)
class CsvFormat:
    """What a user says about CSV files; None is read off the file.

    Examples
    --------
    >>> CsvFormat(sep=";", missing=("?",))
    CsvFormat(sep=';', missing=('?',), header=True, decimal=None, encoding='utf-8')
    """

    sep: str | None = None  # " " is any run of spaces
    missing: tuple[str, ...] = ()  # cells that are missing values, also in columns of text
    header: bool = True  # the first line has names; without one, columns are x0, x1, ...
    decimal: str | None = None  # "." or ","
    encoding: str = "utf-8"  # of its letters, as Python names it; with or without a byte-order mark

    def also_missing(self, cells: Collection[str]) -> CsvFormat:
        """The same, with more cells that are missing values."""
        return replace(self, missing=tuple(dict.fromkeys((*self.missing, *cells))))

    def completed(self, lines: Sequence[str], source: str) -> CsvFormat:
        """The same, with what its first lines say."""
        sep = self.sep or sniffed(lines)
        if self.decimal is not None or sep == ",":
            return replace(self, sep=sep, decimal=self.decimal or ".")
        return replace(self, sep=sep, decimal=_decimal_sign(_split(lines, sep), source))

    def without_missing(self, row: list[str]) -> list[str]:
        """A row's cells, empty where they say that a value is missing."""
        return ["" if cell.strip() in self.missing else cell for cell in row] if self.missing else row

    def typed(self, cells: Sequence[str]) -> np.ndarray:
        """Cells of a column: integers if all are, else floats with missing ones as NaN, else text."""
        numbers = _with_points(cells) if self.decimal == "," else cells
        floats = ["nan" if cell.strip() in MISSING else cell for cell in numbers]
        for kind, values in ((np.int64, numbers), (np.float64, floats)):
            try:
                return np.array(values, dtype=kind)
            except (ValueError, OverflowError):
                continue
        return np.array([*cells, None], dtype=object)[:-1]


def is_number(value: Any) -> bool:
    """Whether Python reads it as one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def sniffed(lines: Sequence[str]) -> str:
    r"""The separator of lines: the one that makes most lines as long as the first, and the lines longest.

    Examples
    --------
    >>> sniffed(["a;b\n", "1,5;2,25\n"]), sniffed(["a,b\n", "1,x;y\n"]), sniffed(["a  b\n", "1  2\n"])
    (';', ',', ' ')
    """
    found = {sep: _split(lines, sep) for sep in SEPARATORS}
    for sep in SEPARATORS[1:]:  # commas that can only be decimal ones separate nothing
        commas = [cell for row in found[sep][1:] for cell in row if "," in cell]
        share, width = _agreement(found[sep])
        if commas and width > 1 and share == 1 and all(DECIMAL_COMMA.match(cell) for cell in commas):
            return sep
    best = max(SEPARATORS, key=lambda sep: (len(found[sep][0]) > 1, *_agreement(found[sep])))
    if len(found[best][0]) > 1:
        return best
    share, width = _agreement(_split(lines, " "))
    return " " if len(lines) > 1 and width > 1 and share == 1 else ","


def _split(lines: Sequence[str], sep: str) -> list[list[str]]:
    lines = [line.strip() for line in lines] if sep == " " else lines
    try:
        rows = [row for row in csv.reader(lines, delimiter=sep, skipinitialspace=True) if row]
    except csv.Error:
        rows = []
    return rows or [[]]


def _agreement(rows: list[list[str]]) -> tuple[float, int]:
    """The share of rows that are as long as the first, and that length."""
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows), len(rows[0])


def _decimal_sign(rows: list[list[str]], source: str) -> str:
    """A comma where a column can be read only so; an error where its commas may stand between thousands."""
    unclear: tuple[str, str] | None = None
    whole = [row for row in rows[1:] if len(row) == len(rows[0])]  # of the first row, names may hold anything
    for name, *cells in zip(rows[0], *whole, strict=True):
        present = [cell for cell in cells if cell.strip() not in MISSING]
        commas = [cell for cell in present if "," in cell]
        if not commas or not all(DECIMAL_COMMA.match(cell) for cell in present):
            continue
        if not all(MAY_BE_THOUSANDS.match(cell) for cell in commas):
            return ","
        unclear = unclear or (name.strip(), commas[0].strip())
    if unclear is None:
        return "."
    name, cell = unclear
    raise TableError(
        f"{source}: column {name!r} holds {cell!r}, which may be {cell.replace(',', '.')} or {cell.replace(',', '')}; "
        "say --decimal , if the comma is a decimal one, or --decimal . and write it without"
    )


def _with_points(cells: Sequence[str]) -> Sequence[str]:
    """Numbers with decimal commas, written with points; a column of anything else as it is."""
    if not all(cell.strip() in MISSING or DECIMAL_COMMA.match(cell) for cell in cells):
        return cells
    return [cell if cell.strip() in MISSING else cell.replace(".", "").replace(",", ".") for cell in cells]
