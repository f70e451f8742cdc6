"""What is measured: a cell is one method on one data set with one seed; a unit is cells that are measured together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sklar.paper.experiments.specs import Method, Spec, Words

# Data sets side by side in one training: as many as a GPU's memory and a kill can bear.
STACK = {"cuda": 60, "cpu": 1}
# Rivals whose training takes a stack of data sets.
STACKED_RIVALS = ("invase", "l2x", "stg", "cae", "gdfs")


@dataclass(frozen=True)
class Cell:
    """One place of a table for one seed."""

    method: str
    dataset: str
    k: int | None
    seed: int


@dataclass(frozen=True)
class Unit:
    """Cells of one method that are measured in one go."""

    spec: Spec
    method: Method
    cells: tuple[Cell, ...]
    overrides: Words = ()  # of a trial

    @property
    def words(self) -> dict[str, Any]:
        """The method's words for these cells."""
        return self.method.settings(self.spec.is_quick, self.cells[0].dataset, self.cells[0].k) | dict(self.overrides)

    def __str__(self) -> str:
        """For the progress line."""
        first = self.cells[0]
        datasets = list(dict.fromkeys(cell.dataset for cell in self.cells))
        ks = [str(k) for k in dict.fromkeys(cell.k for cell in self.cells) if k]
        seeds = sorted({cell.seed for cell in self.cells})
        what = first.dataset if len(datasets) == 1 else f"{len(datasets)} data sets"
        at = f", k = {', '.join(ks)}" if ks else ""
        return f"{self.method.name} on {what}{at}, {len(seeds)} seed{'s' if len(seeds) > 1 else ''}"


@dataclass(frozen=True)
class Measured:
    """How a cell came out."""

    cell: Cell
    values: dict[str, float]
    notes: tuple[tuple[str, Any], ...] = ()


def cells_of(spec: Spec, seeds: Iterable[int], methods: tuple[Method, ...]) -> list[Cell]:
    """Every cell of a table, method by method."""
    return [
        Cell(method.name, dataset, k, seed)
        for method in methods
        for dataset in spec.datasets
        for k in (spec.ks or (None,))
        for seed in seeds
    ]


def units_of(
    spec: Spec, cells: Iterable[Cell], methods: tuple[Method, ...], device_type: str, overrides: Words = ()
) -> Iterator[Unit]:
    """The cells in units: on a GPU data sets and seeds side by side, on a CPU one at a time."""
    by_name = {method.name: method for method in methods}
    for name, group in groupby(cells, key=lambda cell: cell.method):
        method, mine = by_name[name], list(group)
        for part in _parts(spec, method, mine):
            seeds_apart = device_type == "cpu" or (method.engine == "rival" and name not in STACKED_RIVALS)
            size = STACK[device_type]
            if spec.kind == "real":
                seeds = sorted({cell.seed for cell in part})
                for some in [[seed] for seed in seeds] if seeds_apart else [seeds]:
                    yield Unit(spec, method, tuple(cell for cell in part if cell.seed in some), overrides)
            else:
                size = 1 if seeds_apart else size
                for start in range(0, len(part), size):
                    yield Unit(spec, method, tuple(part[start : start + size]), overrides)


def _parts(spec: Spec, method: Method, cells: list[Cell]) -> list[list[Cell]]:
    """Cells that one training can serve: tables of one shape and, where a method is told its k, one k."""
    if spec.kind == "synthetic":
        told = method.name == "l2x"  # with the number of features of its data set
        groups = {cell: cell.dataset if told else "" for cell in cells}
    else:
        once = method.engine == "rival" and method.name not in ("l2x", "cae")
        groups = {cell: cell.dataset if once else f"{cell.dataset} {cell.k}" for cell in cells}
    return [[cell for cell in cells if groups[cell] == group] for group in dict.fromkeys(groups.values())]
