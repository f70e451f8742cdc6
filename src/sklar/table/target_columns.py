"""The target columns of a table on disk, and the rows that have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklar.table.csv_format import TableError
from sklar.table.files import Table

YES, NO = ("1", "1.0", "True"), ("0", "0.0", "False")


class Judged(NamedTuple):
    """A target, and the rows that have one."""

    y: np.ndarray  # (m,), (m, targets), or pairs of an event and a time
    rows: np.ndarray  # their numbers, (m,)

    def of(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """These rows of other columns."""
        return {name: values[self.rows] for name, values in columns.items()}


def read_target(
    table: Table,
    names: Sequence[str],
    event: str | None = None,
    *,
    drop: bool = True,
    echo: Callable[[str], object] = lambda text: None,
) -> Judged:
    """One target, several, or an event and its time; rows without are left out and counted, or refused."""
    needed = [*names, *([] if event is None else [event])]
    holes = np.zeros(len(table.column(names[0])), dtype=bool)
    for name in needed:
        table.refuse_other_sign(name)
        missing = _missing(table.column(name))
        if missing.any() and not drop:
            raise TableError(f"{table.source}: the target {name!r} is missing in row {int(missing.argmax())}")
        holes |= missing
    rows = np.flatnonzero(~holes)
    if not len(rows):
        raise TableError(f"{table.source}: no row has a value of the target {', '.join(map(repr, needed))}")
    if holes.any():
        said = ", ".join(map(repr, needed))
        echo(f"{int(holes.sum())} of {len(holes)} rows have no value of {said} and are left out")
    columns = {name: _values(table.column(name), rows) for name in needed}
    if event is not None:
        return Judged(_event_and_time(table.source, columns, list(names), event), rows)
    return Judged(columns[names[0]] if len(names) == 1 else np.column_stack([columns[name] for name in names]), rows)


def arrow_values(column: Any) -> np.ndarray:
    """An Arrow column without holes; text is text, and no objects."""
    values = np.asarray(column.to_numpy())
    return values.astype(str) if values.dtype == object else values


def _missing(values: np.ndarray) -> np.ndarray:
    if np.issubdtype(values.dtype, np.number):
        return np.isnan(values.astype(np.float64))
    return np.array([v is None or v != v or v == "" for v in values.tolist()], dtype=bool)


def _values(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The values of some rows; whole numbers that were floats for a hole elsewhere are whole again."""
    kept = values[rows]
    if not np.issubdtype(values.dtype, np.number):
        return kept.astype(str)
    whole = len(kept) < len(values) and np.isfinite(kept).all() and (kept == np.round(kept)).all()
    return kept.astype(np.int64) if whole and (np.abs(kept) < 2**53).all() else kept


def _event_and_time(source: str, columns: dict[str, np.ndarray], names: list[str], event: str) -> np.ndarray:
    """Pairs as scikit-survival has them."""
    seen, time = columns[event].astype(str), columns[names[0]]
    if len(names) > 1 or not np.isin(seen, YES + NO).all():
        raise TableError(f"{source}: --event takes a column of 0 and 1 (or True and False) and one target")
    if not np.issubdtype(time.dtype, np.number):
        raise TableError(f"{source}: the target {names[0]!r} is text, and should be a time")
    pairs = np.empty(len(time), dtype=[("event", bool), ("time", float)])
    pairs["event"], pairs["time"] = np.isin(seen, YES), time
    return pairs
