"""What a user says about features, as gates: `groups`, `forced`, `forbidden`, `costs`.

A column is named by its name or its number, or by its name alone where all names are numbers that count something
else. Every column has a gate of its own unless a group gives it a common one; forbidden columns have none, and no
network ever reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch

from sklar.model.gates import Gates
from sklar.table.cells import said


@dataclass(frozen=True)
class Gating:
    """The columns that may be read, gate by gate, and the gates."""

    columns: np.ndarray  # (c,)
    gate_of_column: np.ndarray  # ascending, (c,)
    gates: Gates

    @classmethod
    def of(cls, params: dict[str, Any], names: list[str], widths: np.ndarray, empty: Sequence[int] = ()) -> Gating:
        """The gates of a table with these names and so many inputs per column, as an estimator's parameters say.

        Columns that are `empty`, without any value, have no gate either.
        """
        forbidden = _columns(params.get("forbidden"), names, "forbidden")
        forced = _columns(params.get("forced"), names, "forced")
        both = sorted(set(forced) & set(forbidden))
        if both:
            raise ValueError(f"column {names[both[0]]!r} is both forced and forbidden")
        blank = sorted(set(forced) & set(empty))
        if blank:
            raise ValueError(f"column {names[blank[0]]!r} is forced, but has no value in any row")
        first = np.arange(len(names))  # a gate is identified by its first column
        for group in _groups(params.get("groups"), names):
            first[group] = min(group)
        usable = np.setdiff1d(np.arange(len(names)), [*forbidden, *empty])
        if not len(usable):
            why = "forbidden, or without any value" if empty else "forbidden"
            raise ValueError(f"every column is {why}; nothing is left to select")
        columns = usable[np.argsort(first[usable], kind="stable")]
        _, gate = np.unique(first[columns], return_inverse=True)
        n = int(gate[-1]) + 1
        price = np.zeros(n)
        np.maximum.at(price, gate, _costs(params.get("costs"), names)[columns])
        is_forced = sorted(set(gate[np.isin(columns, forced)].tolist()))
        return cls(columns, gate, Gates.of(n, np.repeat(gate, widths[columns]).tolist(), is_forced, price.tolist()))

    def prices(self, costs: Any, names: list[str]) -> np.ndarray:
        """What each gate costs, as its dearest column: (gates,)."""
        price = np.zeros(self.gates.n)
        np.maximum.at(price, self.gate_of_column, _costs(costs, names)[self.columns])
        return price

    def only(self, keep: np.ndarray) -> Gating:
        """The gates `keep` (w,), ascending, and their columns alone."""
        kept = np.isin(self.gate_of_column, keep)
        gates = self.gates.only(torch.from_numpy(keep))
        return Gating(self.columns[kept], np.searchsorted(keep, self.gate_of_column[kept]), gates)


def _column(column: Any, names: list[str], param: str) -> int:
    """The number of a column that is given by name, or by number (also as text, as from a file)."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    number = column
    if isinstance(column, str) and column.lstrip("-").isdigit():
        number = int(column)
    if isinstance(number, Integral) and not isinstance(number, bool):
        if _count_something_else(names):
            if str(number) in names:
                return names.index(str(number))
        elif -len(names) <= int(number) < len(names):
            return int(number) % len(names)
    known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    raise ValueError(f"{param}: there is no column {said(column)}; there are {known}")


def _count_something_else(names: list[str]) -> bool:
    """Whether all names are whole numbers, and not those of the columns: a number then is a name."""
    return all(name.lstrip("-").isdigit() for name in names) and names != [str(j) for j in range(len(names))]


def _columns(given: Any, names: list[str], param: str) -> list[int]:
    if given is None:
        return []
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise ValueError(f"{param} must be a list of columns, by name or number; got {said(given)}")
    return sorted({_column(column, names, param) for column in given})


def _groups(given: Any, names: list[str]) -> list[list[int]]:
    if given is None:
        return []
    groups = [_columns(group, names, "groups") for group in given]
    members = [column for group in groups for column in group]
    if len(set(members)) < len(members):
        twice = next(column for column in members if members.count(column) > 1)
        raise ValueError(f"groups: column {names[twice]!r} is in more than one group")
    return [group for group in groups if group]


def _costs(given: Any, names: list[str]) -> np.ndarray:
    """Price of each column: 1 where none is given."""
    cost = np.ones(len(names))
    if given is None:
        return cost
    if hasattr(given, "to_dict"):  # a Series of pandas: by its labels
        given = given.to_dict()
    by_name = isinstance(given, dict)
    if not by_name:
        values = np.asarray(given, dtype=object)
        if values.shape != cost.shape:
            raise ValueError(f"costs must be one number for each of the {len(names)} columns, or a dict of some")
        given = dict(enumerate(values))
    for column, price in given.items():
        if not isinstance(price, Real) or not 0 <= float(price) < np.inf:
            raise ValueError(f"costs must be numbers from 0; got {said(price)} for column {said(column)}")
        cost[_column(column, names, "costs") if by_name else column] = price
    return cost
