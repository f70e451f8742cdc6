"""CSV files, read in blocks and written: plain or compressed, also standard input and output."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from sklar.table.csv_format import CsvFormat, TableError, unclear_sign
from sklar.table.csv_lines import bounded_lines, said_separator, trimmed
from sklar.table.decimals import PointsSeen
from sklar.table.growing import GrowingColumns

STANDARD = "-"  # as a path: standard input, or standard output
LONGEST_CELL = 2**17  # characters of a CSV cell; a longer one is a broken quote, or no table
SAMPLE = 50  # lines that a format is read off
# What files begin with.
GZIP, UTF_16 = b"\x1f\x8b", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_csv(path: Path, text: Collection[str] = (), given: CsvFormat | None = None) -> dict[str, np.ndarray]:
    """The columns of a file: whole numbers, floats (missing is NaN), or text (missing is an empty cell)."""
    return read_csv_and_sign(path, text, given)[0]


def read_csv_and_sign(
    path: Path, text: Collection[str] = (), given: CsvFormat | None = None
) -> tuple[dict[str, np.ndarray], str | None]:
    """The same, and the decimal sign that its numbers were read with; None where none has any."""
    given = given or CsvFormat()
    if given.sep is None and ".tsv" in path.suffixes:
        given = replace(given, sep="\t")
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        with _opened(path, given.encoding) as file:
            columns, sign = _read(path, file, text, given)
            if columns.late_text:  # read again, as text from the first row on
                file.seek(0)
                columns, sign = _read(path, file, {*text, *columns.late_text}, given)
    except UnicodeError as error:
        remedy = "say --encoding cp1252 if it is of Excel, or another encoding"
        raise TableError(f"{_said(path)}: not a CSV file in {given.encoding.upper()} ({error}); {remedy}") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(f"{_said(path)}: not a CSV file in UTF-8 ({error})") from error
    finally:
        csv.field_size_limit(before)
    return columns.finish(), sign


def write_csv(path: Path, name: str, blocks: Iterable[dict[str, np.ndarray]]) -> None:
    """Write blocks of rows, as named columns, to `path`, in the format that the ending of `name` says."""
    sep = "\t" if ".tsv" in Path(name).suffixes else ","
    with path.open("wb") as raw, _packed(raw) if name.endswith(".gz") else nullcontext(raw) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write_lines(text, blocks, sep)
        text.detach()


def write_lines(file: TextIO, blocks: Iterable[dict[str, np.ndarray]], sep: str = ",") -> None:
    """Write blocks of rows as lines of text."""
    writer = csv.writer(file, delimiter=sep)
    for number, columns in enumerate(blocks):
        if number == 0:
            writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))


def names_of(cells: Sequence[str]) -> list[str]:
    """The names in a header; a column without one, such as an index that was written too, is named by its place.

    Examples
    --------
    >>> names_of(["", " age ", "x0", ""])
    ['x0_', 'age', 'x0', 'x3']
    """
    names = [cell.strip() for cell in cells]
    for j, name in enumerate(names):
        if not name:
            names[j] = f"x{j}_" if f"x{j}" in names else f"x{j}"
    return names


def refuse_repeated(path: Path, names: Sequence[str]) -> None:
    """Raise where a name stands more than once."""
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise TableError(f"{_said(path)}: column {repeated[0]!r} stands in the header more than once; rename one")


def _said(path: Path) -> str:
    return "standard input" if str(path) == STANDARD else str(path)


def _packed(raw: BinaryIO) -> gzip.GzipFile:
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)  # equal tables are equal files


def _read(path: Path, file: TextIO, text: Collection[str], given: CsvFormat) -> tuple[GrowingColumns, str | None]:
    """All rows under the header, and the decimal sign."""
    form, rows = _begun(path, file, text, given)
    start, first = next(rows, (0, []))
    header = names_of(first) if form.header else [f"x{j}" for j in range(len(first))]
    refuse_repeated(path, header)
    points = PointsSeen()
    columns = GrowingColumns(header, partial(_typed, form, points), text)
    for number, row in rows if form.header or not first else chain([(start, first)], rows):
        if len(row) != len(header):
            raise TableError(f"{_said(path)}, line {number}: {len(row)} cells where the header has {len(header)}")
        columns.add(form.without_missing(row))
    columns.complete()
    if points.unclear is not None and not points.are_decimal and form.sep != ",":
        raise unclear_sign(_said(path), *points.unclear)
    return columns, "." if points.are_decimal else form.decimal


def _begun(
    path: Path, file: TextIO, text: Collection[str], given: CsvFormat
) -> tuple[CsvFormat, Iterator[tuple[int, list[str]]]]:
    """The format, with what the first lines say of it, and the rows with the numbers of their lines."""
    lines = bounded_lines(_said(path), file)
    sample = list(islice(lines, SAMPLE))
    said = said_separator(sample[0]) if sample else None
    if said is not None:
        sample, given = sample[1:], replace(given, sep=given.sep or said)
    form = given.completed(sample, _said(path), text)
    sep = form.sep or ","
    reader = csv.reader(_cells_apart(chain(sample, lines), sep), delimiter=sep, skipinitialspace=True)
    rows = _rows(path, reader, 0 if said is None else 1)
    return form, ((number, row) for number, row in rows if row)  # without blank lines


def _cells_apart(lines: Iterable[str], sep: str) -> Iterable[str]:
    """Lines without the spaces behind cells; where spaces separate, one at the end of a line is no cell."""
    return (line.strip() for line in lines) if sep == " " else trimmed(lines, sep)


def _typed(form: CsvFormat, points: PointsSeen, name: str, cells: Sequence[str]) -> np.ndarray:
    """Cells of a column; where the decimal sign is still unknown, with a look at their points."""
    values = form.typed(cells)
    if form.decimal is None and values.dtype.kind == "f":
        points.see(name, cells)
    return values


def _rows(path: Path, reader: Any, before: int) -> Iterator[tuple[int, list[str]]]:
    """What a reader reads, with the numbers of lines, which errors have too; `before` have been read already."""
    try:
        for row in reader:
            yield before + reader.line_num, row
    except csv.Error as error:
        where = f"{_said(path)}, line {before + reader.line_num}"
        if "field limit" in str(error):
            raise TableError(f"{where}: a cell of more than {LONGEST_CELL} characters (a missing quote?)") from error
        raise TableError(f"{where}: not a CSV file in UTF-8 ({error})") from error


@contextmanager
def _opened(path: Path, encoding: str) -> Iterator[TextIO]:
    """A file as text, plain or gzip: its first bytes say which, and whether it is UTF-16."""
    with ExitStack() as stack:
        raw = stack.enter_context(_raw(path))
        if path.suffix.lower() == ".gz" or _first_two(raw) == GZIP:
            raw = stack.enter_context(gzip.GzipFile(fileobj=raw, mode="rb"))
        if encoding.lower() in ("utf-8", "utf8"):  # nobody said another; a byte-order mark is no letter
            encoding = "utf-16" if _first_two(raw) in UTF_16 else "utf-8-sig"
        yield stack.enter_context(io.TextIOWrapper(raw, encoding=encoding, newline=""))


@contextmanager
def _raw(path: Path) -> Iterator[Any]:
    """The bytes of a file, or of standard input, which is kept on disk so that it can be read twice."""
    if str(path) != STANDARD:
        with path.open("rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.seek(0)
        yield kept


def _first_two(raw: Any) -> bytes:
    first = raw.read(2)
    raw.seek(0)
    return bytes(first)
