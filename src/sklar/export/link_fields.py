"""What a file says of features that stand for each other, checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sklar.export.fields import entries, number, record, refused, text, whole
from sklar.export.storage import ModelFileError
from sklar.table.recoding import Recoding
from sklar.training.replacement import Replacement

Categories = Sequence[tuple[Any, ...] | None]  # of columns
MOST = 1000  # replacements: a fit judges fewer


def read_replacements(given: Any, names: Sequence[str]) -> tuple[Replacement, ...]:
    """Replacements of columns with these names, each once."""
    listed, known = entries("replacements", given), frozenset(names)
    if len(listed) > MOST:
        raise refused("replacements", f"a list of at most {MOST}", len(listed))
    found = tuple(_replacement(f"replacements[{i}]", one, known) for i, one in enumerate(listed))
    if len({(one.feature, one.by) for one in found}) < len(found):
        raise ModelFileError("replacements holds a pair twice")
    return found


def _replacement(where: str, given: Any, names: frozenset[str]) -> Replacement:
    record(where, given, Replacement._fields)
    one = Replacement(
        feature=_name(f"{where}.feature", given["feature"], names),
        by=_name(f"{where}.by", given["by"], names),
        cost=number(f"{where}.cost", given["cost"]),
        error=number(f"{where}.error", given["error"], least=0.0),
        worth=number(f"{where}.worth", given["worth"], above=0.0),
        worth_error=number(f"{where}.worth_error", given["worth_error"], least=0.0),
        most_lost=number(f"{where}.most_lost", given["most_lost"], least=0.0, most=1.0),
        n_rows=whole(f"{where}.n_rows", given["n_rows"], 1),
    )
    if one.feature == one.by:
        raise ModelFileError(f"{where}.by is the feature itself")
    return one


def read_copies(given: Any, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of two columns or more; no column is in two."""
    known = frozenset(names)
    groups = tuple(
        tuple(_name(f"copies[{i}]", name, known) for name in entries(f"copies[{i}]", group, least=2))
        for i, group in enumerate(entries("copies", given))
    )
    members = [name for group in groups for name in group]
    if len(set(members)) < len(members):
        raise ModelFileError("copies holds a column twice")
    return groups


def read_recodings(given: Any, categories: Categories, read: Collection[int]) -> tuple[Recoding, ...]:
    """How columns that are read, by number, are read off others that are not."""
    return tuple(
        _recoding(f"recodings[{i}]", one, categories, read) for i, one in enumerate(entries("recodings", given))
    )


def _recoding(where: str, given: Any, categories: Categories, read: Collection[int]) -> Recoding:
    record(where, given, Recoding._fields)
    column, copy = (whole(f"{where}.{name}", given[name], 0, len(categories) - 1) for name in ("column", "copy"))
    if column not in read or copy in read:
        raise refused(where, "of a column that is read, off one that is not", given)
    kept = categories[copy], categories[column]
    line = None if given["line"] is None else _two(f"{where}.line", given["line"], (None, None))
    if line is not None and kept != (None, None):
        raise refused(f"{where}.line", "null where a column holds categories", line)
    pairs = tuple(_two(f"{where}.pairs", pair, kept) for pair in entries(f"{where}.pairs", given["pairs"]))
    return Recoding(column, copy, line, number(f"{where}.missed", given["missed"], least=0.0), pairs)


def _two(where: str, given: Any, kept: Categories) -> tuple[float, float]:
    """Two numbers, or codes of categories where there are some."""
    first, second = (number(where, value) for value in entries(where, given, 2))
    for code, names in zip((first, second), kept, strict=True):
        if names is not None and code not in range(len(names)):
            raise refused(where, f"a code below {len(names)}", code)
    return float(first), float(second)


def _name(where: str, given: Any, names: frozenset[str]) -> str:
    if text(where, given) not in names:
        raise refused(where, "the name of a column", given)
    return given
