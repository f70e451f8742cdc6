"""From a spec and seeds to rows: what is there already is not measured again, and a run that was killed goes on.

reproduce("table-11d", seeds=10, device="cuda", out="results")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import torch

from sklar.paper.experiments import environment
from sklar.paper.experiments.figure_data import make_figure
from sklar.paper.experiments.methods import Method
from sklar.paper.experiments.real import measure_real, prepare_real
from sklar.paper.experiments.request import Request
from sklar.paper.experiments.rows import Row, RowFile, key_of, present_names
from sklar.paper.experiments.specs import Spec
from sklar.paper.experiments.synthetic import measure_synthetic
from sklar.paper.experiments.units import Cell, Measured, Unit, cells_of, units_of
from sklar.paper.experiments.workers import in_processes
from sklar.scale.sweeps import over_dask
from sklar.training.engine.runtime import resolve_device

Echo = Callable[[str], object]
LAST_METRIC = {"synthetic": "tpr", "real": "accuracy"}  # written last: a cell that has it is complete
NEEDS = {"shap": "shap", "lime": "lime"}  # method -> optional package


def reproduce(
    name: str,
    *,
    seeds: int | None = None,
    device: str = "auto",
    out: str | Path = "results",
    quick: bool = False,
    methods: Sequence[str] = (),
    datasets: Sequence[str] = (),
    ks: Sequence[int] = (),
    overrides: dict[str, Any] | None = None,
    jobs: int = 1,
    dask: str | None = None,
    echo: Echo = print,
) -> Path:
    """Measure a table or figure of the paper, or "all", and write rows to `out`; returns the folder.

    Parameters
    ----------
    name : one of `sklar.paper.experiments.specs.NAMES`
    seeds : how many; None is what the spec says (10 on synthetic data, 3 on real data)
    device : "auto", "cpu" or "cuda"
    quick : the small version, on data that needs no download
    methods, datasets, ks : only these, of those that the table has
    overrides : other parameters, for a trial; such rows are marked and never enter the page. {"held_out": True} tests
        on training rows held out from every fit, of real data: what chooses a setting must not see test rows
    jobs : processes, on a CPU
    dask : address of a Dask scheduler whose workers measure, each on its own device
        A worker that dies loses nothing, and cells that are there already are not measured again.
    """
    request = Request(name, seeds, device, quick, methods, datasets, ks, present_names(overrides or {}))
    where, folder, specs = resolve_device(device), Path(out), request.specs()
    with RowFile(folder / f"rows-{name}.jsonl") as file:
        for spec in specs:
            if not spec.methods or not spec.datasets:
                continue
            if spec.kind == "figure":
                make_figure(spec, where, folder, request.command(), request.method_params(), echo)
            else:
                _fill(spec, request, where, file, Workers(jobs, dask), echo)
    return folder


def _fill(spec: Spec, request: Request, device: torch.device, file: RowFile, workers: Workers, echo: Echo) -> None:
    """Measure the cells that are missing and add their rows, unit by unit."""
    key = {"experiment": spec.name, "quick": spec.is_quick, "overrides": request.overrides, "setting": spec.setting}
    made = {"command": request.command(), "commit": environment.commit(), "versions": environment.versions()}
    last = LAST_METRIC[spec.kind]
    methods = _installed(spec.methods, echo)
    wanted = cells_of(spec, range(request.seeds or spec.seeds), methods)
    cells = [cell for cell in wanted if key_of({**key, **vars(cell), "metric": last}) not in file.seen]
    echo(f"{spec.name}: {len(cells)} of {len(wanted)} cells to measure, on {environment.device_name(device)}")
    units = list(units_of(spec, cells, methods, device.type, request.method_params()))
    progress = Progress(spec.name, cells, echo)
    for unit, results, facts in _measured(units, device, workers):
        file.add(_rows(results, {**key, **made, **facts}, last))
        progress.add(unit, facts["seconds"])
    progress.close()


class Workers(NamedTuple):
    """Who measures: this process or several of it, or the workers of a Dask scheduler."""

    jobs: int
    dask: str | None  # its address


class Progress:
    """Says what was measured and how long the rest will take."""

    def __init__(self, name: str, cells: list[Cell], echo: Echo) -> None:
        self.name, self.n_cells, self.echo = name, len(cells), echo
        self.start, self.n_done = time.perf_counter(), 0

    def add(self, unit: Unit, seconds: float) -> None:
        """A unit is done, in so many seconds per cell."""
        self.n_done += len(unit.cells)
        left = (time.perf_counter() - self.start) / self.n_done * (self.n_cells - self.n_done)
        self.echo(
            f"{self.name}: {unit}: {seconds * len(unit.cells):.1f} s; "
            f"{self.n_done} of {self.n_cells} cells, about {_span(left)} left"
        )

    def close(self) -> None:
        """All units are done."""
        if self.n_cells:
            self.echo(f"{self.name}: {self.n_cells} cells in {time.perf_counter() - self.start:.1f} s")


def measure(unit: Unit, device_type: str) -> tuple[Unit, list[Measured], Row]:
    """Measure one unit; returns it, its results, and seconds per cell, peak memory and device."""
    device = torch.device(device_type)
    if unit.spec.kind == "real":
        prepare_real(unit, device)
    environment.reset_peak_memory(device)
    start = time.perf_counter()
    by_kind = {"synthetic": measure_synthetic, "real": measure_real}
    results = by_kind[unit.spec.kind](unit, device)
    seconds = (time.perf_counter() - start) / len(unit.cells)
    facts = {
        "seconds": round(seconds, 3),
        "side_by_side": len(unit.cells),
        "peak_memory_mib": round(environment.peak_mebibytes(device)),
        "device": environment.device_name(device),
    }
    return unit, results, facts


def _measured(units: list[Unit], device: torch.device, workers: Workers) -> Iterator[tuple[Unit, list[Measured], Row]]:
    if workers.dask is not None:
        yield from over_dask(workers.dask, measure, units, device.type)
        return
    if workers.jobs == 1 or len(units) < 2:
        yield from (measure(unit, device.type) for unit in units)
        return
    yield from in_processes(measure, [(unit, device.type) for unit in units], workers.jobs)


def _rows(results: Iterable[Measured], common: Row, last: str) -> list[Row]:
    return [
        {**common, **vars(one.cell), "metric": metric, "value": one.values[metric], **dict(one.notes)}
        for one in results
        for metric in sorted(one.values, key=lambda name: name == last)
    ]


def _installed(methods: tuple[Method, ...], echo: Echo) -> tuple[Method, ...]:
    """The methods whose package is installed; the others are named and left out."""
    missing = {m.name for m in methods if m.name in NEEDS and find_spec(NEEDS[m.name]) is None}
    for name in sorted(missing):
        echo(f'left out: {name}, which needs the package {NEEDS[name]!r} (pip install "sklar[baselines]")')
    return tuple(method for method in methods if method.name not in missing)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
