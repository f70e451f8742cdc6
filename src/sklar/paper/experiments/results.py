"""From rows to what people read: means with 95% intervals, beside what was published."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from scipy.stats import t as student

from sklar.paper.experiments.methods import Method
from sklar.paper.experiments.rows import Row
from sklar.paper.experiments.specs import Spec, spec_of

LOWER_IS_BETTER = ("fdr",)
GIVEN_THE_TRUTH = ("constant-union",)  # yardsticks, not competitors
SMALLEST_DIFFERENCE = 0.05  # percent; what is closer is level
METRIC_LABELS = {"tpr": "TPR", "fdr": "FDR", "accuracy": "own", "evalx": "EVAL-X"}


@dataclass(frozen=True)
class Summary:
    """The mean over seeds, and half the width of its 95% interval (None for one seed)."""

    mean: float
    half_width: float | None
    n_seeds: int


@dataclass(frozen=True)
class TableCell:
    """One number of a table, as measured and as published, and how they compare."""

    measured: Summary | None
    published: float | None
    verdict: str = ""  # "ahead", "level", "behind", or nothing to compare


Groups = tuple[tuple[str, tuple[str, ...]], ...]  # (heading, headings below it)


@dataclass(frozen=True)
class TableView:
    """A table to show: groups of columns, and one line per method."""

    title: str
    groups: Groups
    lines: tuple[tuple[str, tuple[TableCell, ...]], ...]  # (method, cells)


@lru_cache
def published() -> dict[tuple[str, str, str], float]:
    """Every number printed in the paper's tables: (table, row, column) -> value.

    Examples
    --------
    >>> published()["table-11d", "Ours", "syn4 TPR"]
    95.5
    """
    text = (files("sklar.paper.experiments") / "published.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["table"], row["row"], row["column"]): float(row["value"]) for row in rows}


def summarise(values: Iterable[float]) -> Summary:
    """Mean and 95% interval of one value per seed, by Student's t.

    Examples
    --------
    >>> summarise([1.0, 2.0, 3.0])
    Summary(mean=2.0, half_width=2.48..., n_seeds=3)
    """
    data = np.asarray(list(values), dtype=float)
    if len(data) < 2:
        return Summary(float(data.mean()), None, len(data))
    half = student.ppf(0.975, len(data) - 1) * data.std(ddof=1) / np.sqrt(len(data))
    return Summary(float(data.mean()), float(half), len(data))


def for_the_page(rows: Iterable[Row]) -> tuple[list[Row], bool]:
    """The rows to show, and whether they are of quick runs: trials never, quick rows only among themselves."""
    plain = [row for row in rows if not row["overrides"]]
    full = [row for row in plain if not row["quick"]]
    return (full, False) if full or not plain else (plain, True)


def summaries(rows: Iterable[Row]) -> dict[tuple, Summary]:
    """(method, dataset, setting, k, metric) -> mean and interval over seeds."""
    values = defaultdict(list)
    for row in rows:
        values[row["method"], row["dataset"], row["setting"], row["k"], row["metric"]].append(row["value"])
    return {key: summarise(found) for key, found in values.items()}


def verdict(metric: str, measured: Summary, reference: float) -> str:
    """Is the measured mean ahead of a number or behind it? Level where the interval holds it."""
    difference = measured.mean - reference
    if abs(difference) <= max(SMALLEST_DIFFERENCE, measured.half_width or 0.0):
        return "level"
    return "ahead" if (difference < 0) == (metric in LOWER_IS_BETTER) else "behind"


def tables_of(name: str, rows: list[Row], quick: bool) -> list[TableView]:
    """The tables of an experiment: one for synthetic data, one for each real data set."""
    spec, found = spec_of(name, quick), summaries(rows)
    groups: Groups
    if spec.kind == "synthetic":
        groups = tuple((dataset.capitalize(), ("TPR", "FDR")) for dataset in spec.datasets)
        places = [(dataset, None, metric) for dataset in spec.datasets for metric in ("tpr", "fdr")]
        return [_table(spec, spec.title, groups, places, found)]
    views = []
    for dataset in spec.datasets:
        groups = tuple((f"k = {k}", tuple(METRIC_LABELS[m] for m in spec.metrics)) for k in spec.ks)
        places_of_k = [(dataset, k, metric) for k in spec.ks for metric in spec.metrics]
        title = spec.title if len(spec.datasets) == 1 else f"{spec.title}: {dataset}"
        views.append(_table(spec, title, groups, places_of_k, found))
    return views


def _table(spec: Spec, title: str, groups: Groups, places: list[tuple], found: dict[tuple, Summary]) -> TableView:
    lines = []
    for method in spec.methods:
        cells = tuple(_cell(spec, method, place, found) for place in places)
        if any(cell.measured or cell.published is not None for cell in cells):
            lines.append((method.label, cells))
    return TableView(title, groups, tuple(lines))


def _cell(spec: Spec, method: Method, place: tuple, found: dict[tuple, Summary]) -> TableCell:
    dataset, k, metric = place
    measured = found.get((method.name, dataset, spec.setting, k, metric))
    printed = _published_cell(spec, method, dataset, k, metric)
    if measured is None or method.engine == "baseline":
        return TableCell(measured, printed)
    reference = printed
    if reference is None and method.engine == "honest" and spec.kind == "real":
        reference = _best_baseline(spec, place, found)  # not of TPR or FDR alone: who selects nothing has an FDR of 0
    return TableCell(measured, printed, "" if reference is None else verdict(metric, measured, reference))


def _published_cell(spec: Spec, method: Method, dataset: str, k: int | None, metric: str) -> float | None:
    """The paper's number for this place. Its accuracies are of the model's own predictor."""
    if method.published is None or metric == "evalx":
        return None
    column = f"{dataset} {metric.upper()}" if k is None else f"k={k}"
    return published().get((spec.name, method.published, column))


def _best_baseline(spec: Spec, place: tuple, found: dict[tuple, Summary]) -> float | None:
    """The best mean that a baseline was measured to have at this place."""
    dataset, k, metric = place
    means = [
        found[key].mean
        for method in spec.methods
        if method.engine == "baseline"
        and method.name not in GIVEN_THE_TRUTH
        and (key := (method.name, dataset, spec.setting, k, metric)) in found
    ]
    if not means:
        return None
    return min(means) if metric in LOWER_IS_BETTER else max(means)
