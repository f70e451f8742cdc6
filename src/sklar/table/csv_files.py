"""CSV files as named columns, as people have them: any separator, compressed, from standard input, decimal commas.

What a file does not say is read off its first lines (`sniffed`); `CsvFormat` is where a user says it instead.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

STANDARD = "-"  # as a path: standard input, or standard output
# In a column of numbers these cells are missing; in a column of text only an empty cell is.
MISSING = frozenset(("", "NA", "N/A", "na", "n/a", "NULL", "null", "None", "NaN", "nan"))
LONGEST_CELL = 2**17  # characters of a CSV cell; a longer one is a broken quote, or no table
LONGEST_LINE = 2**26
SEPARATORS = (",", ";", "\t", "|")
SAMPLE = 50  # lines that a separator is read off
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
    CsvFormat(sep=';', missing=('?',), header=True, decimal=None)
    """

    sep: str | None = None  # " " is any run of spaces
    missing: tuple[str, ...] = ()  # cells that are missing values, also in columns of text
    header: bool = True  # the first line has names; without one, columns are x0, x1, ...
    decimal: str | None = None  # "." or ","; None: a comma where the column can only be read so

    def also_missing(self, cells: Collection[str]) -> CsvFormat:
        """The same, with more cells that are missing values."""
        return CsvFormat(self.sep, tuple(dict.fromkeys((*self.missing, *cells))), self.header, self.decimal)


def read_csv(path: Path, text: Collection[str] = (), given: CsvFormat | None = None) -> dict[str, np.ndarray]:
    """The columns of a file: whole numbers, floats (missing is NaN), or text (missing is an empty cell)."""
    given = given or CsvFormat()
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        with _opened(path) as file:
            header, rows, sep = _rows(path, file, given)
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    finally:
        csv.field_size_limit(before)
    refuse_repeated(path, header)
    missing = frozenset(given.missing)
    columns = {}
    for name, cells in zip(header, zip(*rows, strict=True), strict=False):
        cells = tuple("" if cell.strip() in missing else cell for cell in cells) if missing else cells
        is_text = name in text
        columns[name] = np.array(cells, dtype=object) if is_text else _typed(path, name, cells, sep, given.decimal)
    return columns


def write_csv(path: Path, name: str, columns: dict[str, np.ndarray]) -> None:
    """Write columns to `path`, in the format that the ending of `name` says."""
    sep = "\t" if ".tsv" in Path(name).suffixes else ","
    packed = name.lower().endswith(".gz")
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) if packed else raw as file:
        with io.TextIOWrapper(file, encoding="utf-8", newline="") as written:  # type: ignore[arg-type]
            write_lines(written, columns, sep)


def write_lines(file: TextIO, columns: dict[str, np.ndarray], sep: str = ",") -> None:
    """Write columns as lines of text."""
    writer = csv.writer(file, delimiter=sep)
    writer.writerow(columns)
    writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def refuse_repeated(path: Path, names: Sequence[str]) -> None:
    """Raise where a name stands more than once."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise TableError(f"{path}: column {repeated[0]!r} stands in the header more than once")


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
        with_commas = [cell for row in found[sep][1:] for cell in row if "," in cell]
        if _agreement(found[sep]) == (1.0, len(found[sep][0])) and len(found[sep][0]) > 1 and with_commas:
            if all(DECIMAL_COMMA.match(cell) for cell in with_commas):
                return sep
    best = max(SEPARATORS, key=lambda sep: (len(found[sep][0]) > 1, *_agreement(found[sep])))
    if len(found[best][0]) > 1:
        return best
    spaced = _split([line.strip() for line in lines], " ")
    return " " if len(lines) > 1 and len(spaced[0]) > 1 and _agreement(spaced)[0] == 1.0 else ","


def _split(lines: Sequence[str], sep: str) -> list[list[str]]:
    try:
        rows = [row for row in csv.reader(lines, delimiter=sep, skipinitialspace=True) if row]
    except csv.Error:
        rows = []
    return rows or [[]]


def _agreement(rows: list[list[str]]) -> tuple[float, int]:
    """The share of rows that are as long as the first, and that length."""
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows), len(rows[0])


def _rows(path: Path, file: TextIO, given: CsvFormat) -> tuple[list[str], list[list[str]], str]:
    """The header, the rows under it, and the separator."""
    lines = _bounded_lines(path, file)
    sample = list(islice(lines, SAMPLE))
    sep = given.sep or ("\t" if ".tsv" in path.suffixes else sniffed(sample))
    everything = chain(sample, lines)
    if sep == " ":
        everything = (line.strip() for line in everything)  # a space at the end is no cell
    reader = csv.reader(everything, delimiter=sep, skipinitialspace=True)
    rows: list[list[str]] = []
    header: list[str] | None = None
    try:
        for row in reader:
            if not row:  # a blank line
                continue
            if header is None:
                header = [name.strip() for name in row] if given.header else [f"x{j}" for j in range(len(row))]
                if given.header:
                    continue
            if len(row) != len(header):
                raise TableError(f"{path}, line {reader.line_num}: {len(row)} cells where the header has {len(header)}")
            rows.append(row)
    except csv.Error as error:
        if "field limit" in str(error):
            where = f"{path}, line {reader.line_num}"
            raise TableError(f"{where}: a cell of more than {LONGEST_CELL} characters (a missing quote?)") from error
        raise TableError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    return header or [], rows, sep


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """A file as text: plain, gzip, or standard input."""
    if str(path) == STANDARD:
        text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        try:
            yield text
        finally:
            text.detach()  # standard input stays open
    elif path.suffix.lower() == ".gz":
        with gzip.open(path, "rt", newline="", encoding="utf-8-sig") as packed:
            yield packed
    else:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield file


def _bounded_lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of a file, none read further than a line can be."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TableError(f"{path}, line {number}: longer than {LONGEST_LINE} characters")
        yield line


def _typed(path: Path, name: str, cells: Sequence[str], sep: str, decimal: str | None) -> np.ndarray:
    """Integers if all cells are, else floats with missing cells as NaN, else text."""
    if decimal == "," or (decimal is None and sep != ","):
        cells = _with_points(path, name, cells, surely=decimal == ",")
    floats = ["nan" if cell.strip() in MISSING else cell for cell in cells]
    for kind, values in ((np.int64, cells), (np.float64, floats)):
        try:
            return np.array(values, dtype=kind)
        except (ValueError, OverflowError):
            continue
    return np.array(cells, dtype=object)


def _with_points(path: Path, name: str, cells: Sequence[str], surely: bool) -> Sequence[str]:
    """A column of numbers with decimal commas, written with points; any other as it is.

    Unless they are `surely` meant, commas must be there, and not all of them may stand between thousands.
    """
    present = [cell for cell in cells if cell.strip() not in MISSING]
    commas = [cell for cell in present if "," in cell]
    if not (surely or commas) or not all(DECIMAL_COMMA.match(cell) for cell in present):
        return cells
    if not surely and all(MAY_BE_THOUSANDS.match(cell) for cell in commas):
        raise TableError(
            f"{path}: column {name!r} holds {commas[0]!r}, which may be {commas[0].replace(',', '.')} or "
            f"{commas[0].replace(',', '')}; say --decimal , if the comma is a decimal one, or write it without"
        )
    return ["" if cell.strip() in MISSING else cell.replace(".", "").replace(",", ".") for cell in cells]
