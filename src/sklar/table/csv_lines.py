"""The lines of a CSV file: none of them too long, Excel's `sep=;` no row, and no spaces at the ends of cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TextIO

from sklar.table.csv_format import TableError

LONGEST_LINE = 2**26
SAID = re.compile(r'"?sep=(.)"?[\r\n]*')  # the first line of some files of Excel; it is no row
OPENING = re.compile(r' *+"')
QUOTED = re.compile(r'[^"]*+(?:""[^"]*+)*+"')  # up to the quote that closes


def bounded_lines(source: str, file: TextIO) -> Iterator[str]:
    """The lines of a file, none read further than a line can be."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TableError(f"{source}, line {number}: longer than {LONGEST_LINE} characters")
        yield line


def said_separator(line: str) -> str | None:
    r"""The separator that a first line says, as Excel writes it; None of any other line.

    Examples
    --------
    >>> said_separator("sep=;\r\n"), said_separator("a;b\n")
    (';', None)
    """
    found = SAID.fullmatch(line)
    return found[1] if found else None


def trimmed(lines: Iterable[str], sep: str) -> Iterator[str]:
    r"""Lines whose cells end without spaces, but for those in quotes.

    Examples
    --------
    >>> list(trimmed(['a ;"b " ; c \n'], ";"))
    ['a;"b "; c\n']
    """
    last, is_open = f" {sep}", False  # whether a quoted cell goes on
    for line in lines:
        ends = last in line or line.rstrip("\r\n").endswith(" ")
        if ends or is_open or line.count('"') % 2:
            line, is_open = _without_ends(line, sep, is_open)
        yield line


def _without_ends(line: str, sep: str, is_open: bool) -> tuple[str, bool]:
    """A line without spaces at the ends of its cells, and whether its last one goes on in the next line."""
    parts: list[str] = []
    place = 0
    while True:
        opening = None if is_open else OPENING.match(line, place)
        if is_open or opening:
            quoted = QUOTED.match(line, opening.end() if opening else place)
            if quoted is None:
                return "".join([*parts, line[place:]]), True
            parts.append(line[place : quoted.end()])
            place = quoted.end()
        end, is_open = line.find(sep, place), False
        cell = line[place:] if end < 0 else line[place:end]
        text = cell.rstrip("\r\n") if end < 0 else cell
        parts += [text.rstrip(" "), cell[len(text) :]]
        if end < 0:
            return "".join(parts), False
        parts.append(sep)
        place = end + 1
