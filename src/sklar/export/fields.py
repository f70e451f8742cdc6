"""Plain values from a file, checked. Each check returns its value or raises a ModelFileError that names the field."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable
from itertools import pairwise
from reprlib import repr as shortened
from typing import Any

from sklar.export.storage import ModelFileError

LARGEST = sys.float_info.max
MOST = 2**53  # of a whole number, where nothing bounds it more closely


def refused(where: str, expected: str, got: Any) -> ModelFileError:
    """The error of a field that is not what it should be."""
    return ModelFileError(f"{where} must be {expected}; got {shortened(got)[:100]}")


def record(where: str, value: Any, names: Iterable[str]) -> dict[str, Any]:
    """A JSON object with these names and no others.

    Examples
    --------
    >>> record("target", {"kind": "values"}, ["kind", "centre"])
    Traceback (most recent call last):
    ...
    sklar.export.storage.ModelFileError: target.centre is missing
    """
    if not isinstance(value, dict):
        raise refused(where, "an object", value)
    names = list(names)
    for name in names:
        if name not in value:
            raise ModelFileError(f"{where}.{name} is missing")
    for name in value:
        if name not in names:
            raise ModelFileError(f"{where} has a field that this version does not know: {shortened(name)}")
    return value


def whole(where: str, value: Any, least: int = 0, most: int = MOST) -> int:
    """A whole number in a range."""
    if type(value) is not int or not least <= value <= most:
        raise refused(where, f"a whole number from {least} to {most}", value)
    return value


def number(where: str, value: Any, above: float = -math.inf, least: float = -math.inf, most: float = LARGEST) -> float:
    """A finite number, greater than `above`, at least `least` and at most `most`."""
    is_number = type(value) in (int, float) and abs(value) <= LARGEST  # an int may be more than any float
    if not is_number or not value > above or not least <= value <= most:
        limits = {"above": above, "from": least, "to": most}
        said = "".join(f" {word} {limit:g}" for word, limit in limits.items() if abs(limit) < LARGEST)
        raise refused(where, f"a finite number{said}", value)
    return value


def truth(where: str, value: Any) -> bool:
    """True or false."""
    if type(value) is not bool:
        raise refused(where, "true or false", value)
    return value


def text(where: str, value: Any, options: Collection[str] | None = None) -> str:
    """Text, one of `options` where there are some."""
    if not isinstance(value, str) or (options is not None and value not in options):
        raise refused(where, "text" if options is None else f"one of {', '.join(map(repr, sorted(options)))}", value)
    return value


def entries(where: str, value: Any, length: int | None = None, least: int = 0) -> list[Any]:
    """A list, of this length or at least so long."""
    if not isinstance(value, list) or len(value) < least or (length is not None and len(value) != length):
        raise refused(where, f"a list of {f'at least {least}' if length is None else length}", value)
    return value


def indices(where: str, value: Any, n: int, length: int | None = None) -> tuple[int, ...]:
    """Different whole numbers below n."""
    found = tuple(whole(f"{where}[{i}]", entry, 0, n - 1) for i, entry in enumerate(entries(where, value, length)))
    if len(set(found)) < len(found):
        raise ModelFileError(f"{where} holds a number twice")
    return found


def steps(where: str, value: Any, n: int, length: int | None = None) -> tuple[int, ...]:
    """Every whole number below n, each at least once, ascending."""
    found = tuple(whole(f"{where}[{i}]", entry, 0, n - 1) for i, entry in enumerate(entries(where, value, length, 1)))
    if found[0] != 0 or found[-1] != n - 1 or any(b - a not in (0, 1) for a, b in pairwise(found)):
        raise ModelFileError(f"{where} must count from 0 to {n - 1} without a gap")
    return found
