"""Rows of measurements in a folder: one JSON object per line, appended whole, never twice.

A row's key says what was measured, the rest the result. Where settings have changed since, `earlier` says how they
were: such a row is shown with these words, and does not keep its cell from being measured again.

Files are appended to, not replaced: a row is in one write that is brought to disk, and a last line that a killed run
left incomplete is cut off before anything is added.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from reprlib import repr as shortened
from types import NoneType
from typing import Any

from sklar.locking import lock

Row = dict[str, Any]
Key = tuple[Any, ...]

RENAMED = {"aside": "held_out"}  # overrides as older rows and commands have them -> as they are called now
# The fields that a row must have, and may have, by type; a row may hold others, which nothing reads.
NEEDED = {
    "method": (str,),
    "dataset": (str,),
    "setting": (str,),
    "metric": (str,),
    "k": (int, NoneType),
    "seed": (int,),
    "quick": (bool,),
    "overrides": (dict,),
    "value": (int, float),
}
OPTIONAL = {
    **dict.fromkeys(("experiment", "command", "commit", "device", "earlier"), (str,)),
    "seconds": (int, float),
}
KEY_FIELDS = ("method", "dataset", "setting", "k", "seed", "metric", "quick", "overrides")


def present_names(overrides: dict[str, Any]) -> dict[str, Any]:
    """Overrides under the names that they have now.

    Examples
    --------
    >>> present_names({"aside": True, "n_trees": 5})
    {'held_out': True, 'n_trees': 5}
    """
    return {RENAMED.get(name, name): value for name, value in overrides.items()}


def key_of(row: Row) -> Key:
    """What a row measured. The experiment is not part of it: tables share their cells."""
    named = {**row, "overrides": present_names(row.get("overrides") or {})}
    return tuple(json.dumps(named.get(field), sort_keys=True) for field in KEY_FIELDS)


def read_rows(folder: str | Path) -> list[Row]:
    """All whole rows of the files rows*.jsonl of a folder, each once; a line that is no row is a ValueError.

    Of two rows of one cell the first counts, but for one of earlier settings.
    """
    found: dict[Key, Row] = {}
    for path in sorted(Path(folder).glob("rows*.jsonl")):
        for row in _lines(path):
            key = key_of(row)
            if key not in found or ("earlier" in found[key] and "earlier" not in row):
                found[key] = row
    return list(found.values())


def _lines(path: Path) -> Iterator[Row]:
    content = path.read_bytes()
    for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines(), 1):
        try:
            yield _row(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} line {number} is no row: {error}") from error


def _row(line: bytes) -> Row:
    """A line as a row, whose fields are what they should be."""
    row = json.loads(line, parse_constant=_refuse_constant)
    if not isinstance(row, dict):
        raise ValueError("it is not a JSON object")
    for name, kinds in {**NEEDED, **OPTIONAL}.items():
        if name not in row:
            if name in NEEDED:
                raise ValueError(f"it has no {name!r}")
            continue
        value = row[name]
        if type(value) not in kinds or (isinstance(value, int | float) and not abs(value) < 1e300):
            expected = " or ".join("null" if kind is NoneType else kind.__name__ for kind in kinds)
            raise ValueError(f"{name!r} must be {expected}; got {shortened(value)}")
    return row


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is not JSON")


class RowFile:
    """The one file that a run appends to; a second run on the same file is refused while the first one writes."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(self.path, "a+b")  # noqa: SIM115  (closed by `close`)
        self._lock()
        self._cut_half_line()
        self.seen = {key_of(row) for row in read_rows(self.path.parent) if "earlier" not in row}

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, rows: Iterable[Row]) -> int:
        """Append the rows that are not there yet, in one write, and bring them to disk; returns how many."""
        lines = []
        for row in rows:
            key = key_of(row)
            if key not in self.seen:
                self.seen.add(key)
                lines.append(json.dumps(row, allow_nan=False) + "\n")
        self.file.write("".join(lines).encode())
        self.file.flush()
        os.fsync(self.file.fileno())
        return len(lines)

    def close(self) -> None:
        """Let the next run have the file; one without rows is not left behind."""
        if self.path.exists() and self.path.stat().st_size == 0:
            self.path.unlink()
        self.file.close()

    def _lock(self) -> None:
        try:
            lock(self.file, f"another run is writing {self.path}; wait for it or choose another --out")
        except OSError:
            self.file.close()
            raise

    def _cut_half_line(self) -> None:
        self.file.seek(0)
        content = self.file.read()
        self.file.truncate(content.rfind(b"\n") + 1)
