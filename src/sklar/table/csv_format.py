"""How a CSV file spells a table: its separator, its missing cells, its decimal sign.

A user may say it (`CsvFormat`); what nobody says is read off the first lines.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklar.table.decimals import DECIMAL_COMMA, MISSING, Reading, plain_numbers, reading_of, with_points

SEPARATORS = (",", ";", "\t", "|")


class TableError(ValueError):
    """A file that is not the table it should be; the message says where."""


@dataclass(frozen=True)
class CsvFormat:
    """What a user says about CSV files; None is read off the file.

    Examples
    --------
    >>> CsvFormat(sep=";", missing=("?",))
    CsvFormat(sep=';', missing=('?',), header=True, decimal=None, encoding='utf-8', usual=None)
    """

    sep: str | None = None  # " " is any run of spaces
    missing: tuple[str, ...] = ()  # cells that are missing values, also in columns of text
    header: bool = True  # the first line has names; without one, columns are x0, x1, ...
    decimal: str | None = None  # "." or ","
    encoding: str = "utf-8"  # of its letters, as Python names it; with or without a byte-order mark
    usual: str | None = None  # the decimal sign where nobody says one: that of the file of fit

    def as_in_fit(self, missing: Collection[str], decimal: str | None) -> CsvFormat:
        """The same, with what the file of fit had: cells that are missing values, and a decimal sign."""
        return replace(self, missing=tuple(dict.fromkeys((*self.missing, *missing))), usual=decimal)

    def completed(self, lines: Sequence[str], source: str, text: Collection[str] = ()) -> CsvFormat:
        """The same, with what its first lines say; they may say nothing of the decimal sign (None, read as ".").

        Columns of `text` are not asked.
        """
        sep = self.sep or sniffed(lines)
        if self.decimal is not None:
            return replace(self, sep=sep)
        if sep != "," and self.usual is not None:
            return replace(self, sep=sep, decimal=self.usual)
        found = [(name, reading) for name, reading in self._readings(_split(lines, sep)) if name not in text]
        if sep == "," and self.usual != ",":  # commas separate
            return replace(self, sep=sep, decimal="." if any(one.sign == "." for _, one in found) else None)
        return replace(self, sep=sep, decimal=_decimal_sign(found, source) or self.usual)

    def _readings(self, rows: list[list[str]]) -> list[tuple[str, Reading]]:
        """What each column says of the decimal sign; of the names, anything may be said."""
        first, *others = rows if self.header else [[f"x{j}" for j in range(len(rows[0]))], *rows]
        whole = [row for row in others if len(row) == len(first)]
        return [(name.strip(), reading_of(cells, self.missing)) for name, *cells in zip(first, *whole, strict=True)]

    def without_missing(self, row: list[str]) -> list[str]:
        """A row's cells, empty where they say that a value is missing."""
        return ["" if cell.strip() in self.missing else cell for cell in row] if self.missing else row

    def typed(self, cells: Sequence[str]) -> np.ndarray:
        """Cells of a column: integers if all are, else floats with missing ones as NaN, else text."""
        numbers = with_points(cells) if self.decimal == "," else plain_numbers(cells)
        floats = ["nan" if cell.strip() in MISSING else cell for cell in numbers or ()]
        for kind, values in ((np.int64, numbers), (np.float64, floats)) if numbers is not None else ():
            try:
                return np.array(values, dtype=kind)
            except (ValueError, OverflowError):
                continue
        return np.array([*cells, None], dtype=object)[:-1]


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


def _decimal_sign(found: list[tuple[str, Reading]], source: str) -> str | None:
    """The one sign that some column can be read with; an error where nothing says what points or commas are."""
    signs = {one.sign for _, one in found}
    point, comma = _unclear(found, "."), _unclear(found, ",")
    if "," in signs:
        if point is not None:
            name, cell = point
            read = f"read as {cell.replace('.', '')}: commas are decimal in other columns"
            remedy = "write it with a comma if its point is a decimal one"
            warnings.warn(f"{source}: column {name!r} holds {cell!r}, {read}; {remedy}", stacklevel=2)
        return ","
    unclear = comma or (None if "." in signs else point)
    if unclear is not None:
        raise unclear_sign(source, *unclear)
    return "." if "." in signs else None


def _unclear(found: list[tuple[str, Reading]], sign: str) -> tuple[str, str] | None:
    """The first column, and its cell, in which this sign may be either."""
    cells = ((name, one.unclear) for name, one in found if one.unclear is not None)
    return next(((name, cell) for name, cell in cells if sign in cell), None)


def unclear_sign(source: str, name: str, cell: str) -> TableError:
    """The question about a cell that may be one number or a thousand times as much."""
    if "," in cell:
        says = "--decimal , if the comma is a decimal one, or --decimal . and write it without"
    else:
        says = "--decimal . if the point is a decimal one, or --decimal , if it stands between thousands"
    decimal, whole = cell.replace(",", "."), cell.replace(",", "").replace(".", "")
    return TableError(f"{source}: column {name!r} holds {cell!r}, which may be {decimal} or {whole}; say {says}")
