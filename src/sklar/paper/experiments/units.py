"""What is measured: a cell is one method on one data set with one seed; a unit is the cells of one training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sklar.paper.experiments.methods import Method, Params
from sklar.paper.experiments.specs import Spec

# Data sets side by side in one training: as many as fit a GPU, and as may be lost when a run is killed.
STACK = {"cuda": 60, "cpu": 1}
# Baselines whose training takes a stack of data sets.
STACKED_BASELINES = ("invase", "l2x", "stg", "cae", "gdfs", "dime")


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
    overrides: Params = ()  # of a trial

    @property
    def params(self) -> dict[str, Any]:
        """The method's parameters for these cells."""
        return self.method.params_for(self.spec.is_quick, self.cells[0].dataset, self.cells[0].k) | dict(self.overrides)

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
    spec: Spec, cells: Iterable[Cell], methods: tuple[Method, ...], device_type: str, overrides: Params = ()
) -> Iterator[Unit]:
    """The cells in units: on a GPU data sets and seeds side by side, on a CPU one at a time."""
    by_name = {method.name: method for method in methods}
    for name, group in groupby(cells, key=lambda cell: cell.method):
        method = by_name[name]
        together = device_type != "cpu" and (method.engine != "baseline" or name in STACKED_BASELINES)
        for part in _trainable_together(spec, method, list(group)):
            for some in _by_seed(part, together) if spec.kind == "real" else _chunks(part, together, device_type):
                yield Unit(spec, method, tuple(some), overrides)


def _by_seed(cells: list[Cell], together: bool) -> list[list[Cell]]:
    """All cells at once, or those of one seed at a time."""
    seeds = sorted({cell.seed for cell in cells})
    return [cells] if together else [[cell for cell in cells if cell.seed == seed] for seed in seeds]


def _chunks(cells: list[Cell], together: bool, device_type: str) -> list[list[Cell]]:
    """As many cells as one stack takes, or one at a time."""
    size = STACK[device_type] if together else 1
    return [cells[start : start + size] for start in range(0, len(cells), size)]


def _trainable_together(spec: Spec, method: Method, cells: list[Cell]) -> list[list[Cell]]:
    """Cells that one training can serve: tables of one shape and, where a method is given its k, one k."""
    if spec.kind == "synthetic":
        by_dataset = method.name == "l2x"  # k is the number of relevant features of its data set
        groups = {
            cell: cell.dataset if by_dataset else str(method.params_for(spec.is_quick, cell.dataset)) for cell in cells
        }
    else:
        all_ks = method.engine == "baseline" and method.name not in ("l2x", "cae", "stg")
        groups = {cell: cell.dataset if all_ks else f"{cell.dataset} {cell.k}" for cell in cells}
    return [[cell for cell in cells if groups[cell] == group] for group in dict.fromkeys(groups.values())]
