"""From a spec and seeds to rows: what is there already is not measured again, what was killed goes on.

reproduce("table-11d", seeds=10, device="cuda", out="results")
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from sklar.paper.experiments import environment
from sklar.paper.experiments.cells import Measured, Unit, cells_of, units_of
from sklar.paper.experiments.figure_data import make_figure
from sklar.paper.experiments.real import measure_real, prepare_real
from sklar.paper.experiments.rows import Row, RowFile, key_of
from sklar.paper.experiments.specs import NAMES, SPECS, Method, Spec, Words, spec_of
from sklar.paper.experiments.synthetic import measure_synthetic
from sklar.training.engine.runtime import resolve_device

Echo = Callable[[str], object]
LAST_METRIC = {"synthetic": "tpr", "real": "accuracy"}  # written last: a cell that has it is whole


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
    echo: Echo = print,
) -> Path:
    """Measure a table or figure of the paper, or "all", and write rows to `out`; returns the folder.

    Parameters
    ----------
    name : one of `sklar.paper.experiments.specs.NAMES`
    seeds : how many; None is what the spec asks for (10 on synthetic data, 3 on real data)
    device : "auto", "cpu" or "cuda"
    quick : the small version, on data that needs no download
    methods, datasets, ks : only these, of those that the table has
    overrides : other settings, for a trial; such rows are marked and never enter the page. {"aside": True} tests on
        training rows that nothing learns from, of real data: what chooses a setting must not see test rows
    jobs : processes, on a CPU
    """
    if name not in NAMES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}")
    if seeds is not None and seeds < 1:
        raise ValueError(f"seeds must be at least 1; got {seeds}")
    where = resolve_device(device)
    folder = Path(out)
    told = _command(name, seeds, device, quick, methods, datasets, ks, overrides)
    specs = [
        _narrowed(spec_of(one, quick), methods, datasets, ks, overrides or {}, strict=name != "all")
        for one in (SPECS if name == "all" else [name])
    ]
    changes = tuple((word, value) for word, value in (overrides or {}).items() if not _of_the_spec(word))
    with RowFile(folder / f"rows-{name}.jsonl") as file:
        for spec in specs:
            if not spec.methods or not spec.datasets:
                continue
            if spec.kind == "figure":
                make_figure(spec, where, folder, told, changes, echo)
            else:
                _fill(spec, range(seeds or spec.seeds), where, file, told, overrides or {}, changes, jobs, echo)
    return folder


def _fill(
    spec: Spec,
    seeds: Iterable[int],
    device: torch.device,
    file: RowFile,
    command: str,
    overrides: dict[str, Any],
    changes: Words,
    jobs: int,
    echo: Echo,
) -> None:
    """Measure the cells that are missing and add their rows, unit by unit."""
    common = {"experiment": spec.name, "quick": spec.is_quick, "overrides": overrides, "setting": spec.setting}

    def is_missing(cell: Any) -> bool:
        return key_of({**common, **vars(cell), "metric": LAST_METRIC[spec.kind]}) not in file.seen

    methods = _installed(spec.methods, echo)
    wanted = cells_of(spec, seeds, methods)
    cells = [cell for cell in wanted if is_missing(cell)]
    units = list(units_of(spec, cells, methods, device.type, changes))
    echo(f"{spec.name}: {len(cells)} of {len(wanted)} cells to measure, on {environment.device_name(device)}")
    common |= {"command": command, "commit": environment.commit(), "versions": environment.versions()}
    start, done = time.perf_counter(), 0
    for unit, results, facts in _measured(units, device, jobs):
        done += len(unit.cells)
        file.add(_rows(results, {**common, **facts}, LAST_METRIC[spec.kind]))
        spent = time.perf_counter() - start
        left = spent / done * (len(cells) - done)
        echo(
            f"{spec.name}: {unit}: {facts['seconds'] * len(unit.cells):.1f} s; "
            f"{done} of {len(cells)} cells, about {_span(left)} left"
        )
    if cells:
        echo(f"{spec.name}: {len(cells)} cells in {time.perf_counter() - start:.1f} s")


def measure(unit: Unit, device_type: str) -> tuple[Unit, list[Measured], Row]:
    """Measure one unit; returns it, what came out, and seconds a cell, peak memory and device."""
    device = torch.device(device_type)
    if unit.spec.kind == "real":
        prepare_real(unit, device)
    environment.forget_peak(device)
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


def _measured(units: list[Unit], device: torch.device, jobs: int) -> Iterator[tuple[Unit, list[Measured], Row]]:
    if jobs == 1 or len(units) < 2:
        yield from (measure(unit, device.type) for unit in units)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
    yield from parallel(delayed(measure)(unit, device.type) for unit in units)


def _rows(results: list[Measured], common: Row, last: str) -> list[Row]:
    return [
        {**common, **vars(one.cell), "metric": metric, "value": one.values[metric], **dict(one.notes)}
        for one in results
        for metric in sorted(one.values, key=lambda name: name == last)
    ]


def _narrowed(
    spec: Spec,
    methods: Sequence[str],
    datasets: Sequence[str],
    ks: Sequence[int],
    overrides: dict[str, Any],
    strict: bool,
) -> Spec:
    """The spec with only these methods, data sets and ks; `strict` refuses names that it does not have."""
    for what, asked, known in (
        ("method", methods, [method.name for method in spec.methods]),
        ("data set", datasets, list(spec.datasets)),
        ("k", ks, list(spec.ks)),
    ):
        unknown = [one for one in asked if one not in known]
        if strict and unknown:
            raise ValueError(f"{spec.name} has no {what} {unknown[0]!r}; it has {', '.join(map(str, known))}")
    judge = {word.removeprefix("judge."): value for word, value in overrides.items() if word.startswith("judge.")}
    unknown = [word for word in judge if word not in {field.name for field in fields(spec.judge)}]
    if unknown:
        raise ValueError(f"the judge has no setting {unknown[0]!r}")
    if overrides.get("aside") and spec.kind != "real":
        raise ValueError(f"{spec.name} keeps no rows aside; tables and figures of accuracies on real data do")
    return replace(
        spec,
        aside=bool(overrides.get("aside")),
        methods=tuple(method for method in spec.methods if not methods or method.name in methods),
        datasets=tuple(dataset for dataset in spec.datasets if not datasets or dataset in datasets),
        ks=tuple(k for k in spec.ks if not ks or k in ks),
        judge=replace(spec.judge, **judge),
    )


def _of_the_spec(word: str) -> bool:
    """Whether an override is of the spec itself, not of a method."""
    return word == "aside" or word.startswith("judge.")


NEEDS = {"shap": "shap", "lime": "lime"}


def _installed(methods: tuple[Method, ...], echo: Echo) -> tuple[Method, ...]:
    """The methods whose package is here; the others are named and left out."""
    from importlib.util import find_spec

    missing = {m.name for m in methods if m.name in NEEDS and find_spec(NEEDS[m.name]) is None}
    for name in sorted(missing):
        echo(f'left out: {name}, which needs the package {NEEDS[name]!r} (pip install "sklar[baselines]")')
    return tuple(method for method in methods if method.name not in missing)


def _command(
    name: str,
    seeds: int | None,
    device: str,
    quick: bool,
    methods: Sequence[str],
    datasets: Sequence[str],
    ks: Sequence[int],
    overrides: dict[str, Any] | None,
) -> str:
    """The command line that says the same, without where it wrote to."""
    words = ["sklar", "reproduce", name]
    words += ["--seeds", str(seeds)] if seeds else []
    words += ["--device", device] + (["--quick"] if quick else [])
    for option, values in (("--method", methods), ("--dataset", datasets), ("--k", ks)):
        for value in values:
            words += [option, str(value)]
    for word, value in (overrides or {}).items():
        words += ["--set", f"{word}={value}"]
    return shlex.join(words)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
