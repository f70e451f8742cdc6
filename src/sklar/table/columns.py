"""Cells of a column as numbers or categories, missing values in either, and a clear error for the rest.

Numbers and booleans become float64 with NaN where missing, everything else Python objects with None where missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklar.table.cells import is_nan, said
from sklar.table.dates import DATES, OTHER_DATE, are_iso_dates, days_of

# A cell of text longer than this is a document or a mistake, not a category.
LONGEST_TEXT = 2**17
NUMBERS = (Real, np.number, np.bool_)
# Text that is different in this share of rows, of so many at least, names the rows.
IDS, LEAST_IDS = 0.95, 20


class Column(NamedTuple):
    """One column: float64 (NaN is missing), or objects (None is missing) where it holds categories; or dates."""

    name: str
    values: np.ndarray
    is_declared: bool = False  # the table says that it holds categories, whatever they look like
    is_date: bool = False  # of any kind, also as text that can be read as nothing else

    @property
    def is_text(self) -> bool:
        """Whether it holds categories."""
        return self.values.dtype == object and not self.is_date

    @property
    def is_empty(self) -> bool:
        """Whether all of it is missing."""
        return all(value is None for value in self.values) if self.is_text else bool(np.isnan(self.numbers()).all())

    def numbers(self) -> np.ndarray:
        """What it holds as float64, dates as days (NaN is missing)."""
        return days_of(self.name, self.values) if self.is_date else self.values

    def odd_date(self) -> str | None:
        """The first of its dates, if all of its text is dates that ISO 8601 writes in another way; None: it is not."""
        present = [value for value in self.values if value is not None] if self.is_text else []
        same = not self.is_declared and all(isinstance(value, str) and OTHER_DATE.match(value) for value in present)
        return present[0] if present and same else None

    def names_rows(self) -> str | None:
        """What makes it look like a name of rows, which nothing can be learned from; None: nothing."""
        if self.is_text:
            present = [value for value in self.values if value is not None]
            n_different = len(set(present))
            if len(present) < LEAST_IDS or n_different < IDS * len(present):
                return None
            return f"a different text in {'every' if n_different == len(present) else 'nearly every'} row"
        if self.is_date or len(self.values) < LEAST_IDS:
            return None
        steps = np.diff(self.values)  # a step of more than 1 is a row that was left out
        counts = (steps >= 1).all() and (steps == np.round(steps)).all() and (steps == 1).mean() > 0.5
        return "the number of the row" if counts else None


def from_objects(name: str, values: Iterable[Any]) -> Column:
    """A column of Python objects: all numbers, or all text; None and NaN are missing.

    Examples
    --------
    >>> from_objects("a", ["x", None]).values.tolist(), from_objects("b", [1, None]).values.tolist()
    (['x', None], [1.0, nan])
    """
    values = np.fromiter(values, dtype=object)
    kinds = {kind: _kind_of(kind) for kind in set(map(type, values))}
    if "date" in kinds.values():
        return Column(name, values, is_date=True)
    for kind, what in kinds.items():
        if what == "unknown":
            raise TypeError(f"column {name!r}: the argument must be a string or a real number, not {kind.__name__!r}")
    if "text" not in kinds.values():
        return Column(name, _floats(name, [None if kinds[type(v)] == "missing" else v for v in values]))
    for row, value in enumerate(values):
        what = kinds[type(value)]
        if what == "text":
            if len(value) > LONGEST_TEXT:
                raise ValueError(
                    f"column {name!r}, row {row}: a cell of {len(value)} characters, at most {LONGEST_TEXT} are read"
                )
        elif what == "missing" or is_nan(value):
            values[row] = None
        else:
            text = next(i for i, v in enumerate(values) if kinds[type(v)] == "text")
            raise ValueError(
                f"column {name!r} mixes text ({_short(values[text])} in row {text}) and numbers ({said(value)} in row "
                f"{row}); make it one or the other"
            )
    return Column(name, values, is_date=are_iso_dates(values))


def from_categories(name: str, values: Iterable[Any]) -> Column:
    """A column that its table says is categorical: whatever the categories are, they are categories.

    Examples
    --------
    >>> from_categories("grade", [3, 1, float("nan")]).values.tolist()
    [3, 1, None]
    """
    cells = np.fromiter(values, dtype=object)
    missing = [_kind_of(type(value)) == "missing" or is_nan(value) for value in cells]
    cells[missing] = None
    present = set(cells) - {None}
    kinds = {_kind_of(type(value)) for value in present}
    if not kinds <= {"text", "number"}:
        raise ValueError(f"column {name!r} has categories of another kind; they must be text, numbers or booleans")
    if "text" in kinds:
        from_objects(name, sorted(present, key=str))
    plain = {value: value.item() for value in present if isinstance(value, np.generic)}
    return Column(
        name, np.array([*(plain.get(value, value) for value in cells), None], dtype=object)[:-1], is_declared=True
    )


def kind_of(value: Any) -> str:
    """What a cell is: "text", "number", "date", "missing" or "unknown"."""
    kind = _kind_of(type(value))
    return "missing" if kind == "number" and isinstance(value, Decimal) and value.is_nan() else kind


def _floats(name: str, values: list[Any]) -> np.ndarray:
    """Numbers as float64, NaN where None."""
    result = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            result[row] = np.nan if value is None or is_nan(value) else float(value)
        except OverflowError as error:
            raise ValueError(f"column {name!r}, row {row}: a number beyond 1e308; rescale it") from error
    return result


def _kind_of(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if kind.__name__ in ("NoneType", "NAType", "NaTType"):
        return "missing"
    if issubclass(kind, DATES) or kind.__name__ == "Period":
        return "date"
    is_real = issubclass(kind, NUMBERS) and not issubclass(kind, np.complexfloating)
    return "number" if is_real or issubclass(kind, Decimal) else "unknown"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
