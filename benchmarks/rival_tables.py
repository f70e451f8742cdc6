"""Rows of benchmarks/rivals.py as the Markdown tables of docs/baselines.md: means over seeds, published rows below."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from sklar.datasets import SYNTHETIC_NAMES
from sklar.paper.baselines import REGISTRY

Row = dict[str, Any]


def tables(rows: list[Row]) -> list[str]:
    """Paragraphs and tables, for each dimension and preset: TPR/FDR, then accuracy and times."""
    parts = []
    for d, preset in sorted({(row["d"], row["preset"]) for row in rows}):
        mine = [row for row in rows if (row["d"], row["preset"]) == (d, preset)]
        methods = by_method(mine)
        title = f"d = {d}" if preset == "full" else f"d = {d}, {preset}"
        parts += [
            notes(methods),
            "\n".join([head(title, []), *(text for name in methods for text in found(name, methods[name]))]),
            where_trained(methods),
            "\n".join([head(title, ["fit, CPU s", "select, ms per row"]), *(cost(*item) for item in methods.items())]),
        ]
    return [part for part in parts if part]


def by_method(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each method, in the registry's order."""
    found = {name: [row for row in rows if row["method"] == name] for name in REGISTRY}
    return {name: own for name, own in found.items() if own}


def head(title: str, more: list[str]) -> str:
    names = [title, *(name.capitalize() for name in SYNTHETIC_NAMES), *more]
    return f"{table_line(names)}\n|{'---|' * len(names)}"


def found(method: str, rows: list[Row]) -> list[str]:
    """TPR/FDR of one method and, where there is one, the published line."""
    cells = [of_dataset(rows, name) for name in SYNTHETIC_NAMES]
    lines = [table_line([f"`{method}`", *(f"{mean(c, 'tpr'):.1f}/{mean(c, 'fdr'):.1f}" if c else "" for c in cells)])]
    if any(row["published_tpr"] is not None for row in rows):
        printed = [f"*{c[0]['published_tpr']:.1f}/{c[0]['published_fdr']:.1f}*" if c else "" for c in cells]
        lines.append(table_line(["*published*", *printed]))
    return lines


def cost(method: str, rows: list[Row]) -> str:
    """Accuracy by data set; seconds and milliseconds as means over the data sets."""
    cells = [of_dataset(rows, name) for name in SYNTHETIC_NAMES]
    accuracy = [f"{mean(c, 'accuracy'):.1f}" if c else "" for c in cells]
    times = [_time(cells, "fit_cpu_seconds", ".1f"), _time(cells, "select_ms_per_row", ".4f")]
    return table_line([f"`{method}`", *accuracy, *times])


def _time(cells: list[list[Row]], what: str, how: str) -> str:
    """The mean over data sets, or nothing where it was not measured."""
    means = [mean(c, what) for c in cells if c and all(what in row for row in c)]
    return format(float(np.mean(means)), how) if means else ""


def notes(by_method: dict[str, list[Row]]) -> str:
    """How many seeds and test rows stand behind the numbers: of most methods, then of the others by name."""
    said = {name: f"{_seeds(rows)}, {_asked(rows)}" for name, rows in by_method.items()}
    (most, _), *others = Counter(said.values()).most_common()
    return "; ".join([f"Means over {most}", *(f"{_named(said, kind)}: {kind}" for kind, _ in others)]) + "."


def where_trained(by_method: dict[str, list[Row]]) -> str:
    """Which methods trained side by side or on a GPU, so that their seconds are read rightly."""
    said = {name: _place(rows) for name, rows in by_method.items()}
    kinds = [kind for kind in dict.fromkeys(said.values()) if kind]
    return " ".join(f"{_named(said, kind)}: {kind}." for kind in kinds)


def of_dataset(rows: list[Row], dataset: str) -> list[Row]:
    return [row for row in rows if row["dataset"] == dataset]


def mean(rows: list[Row], what: str) -> float:
    return float(np.mean([row[what] for row in rows]))


def table_line(cells: list[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _named(said: dict[str, str], kind: str) -> str:
    return ", ".join(f"`{name}`" for name, mine in said.items() if mine == kind)


def _seeds(rows: list[Row]) -> str:
    return _span([len(of_dataset(rows, name)) for name in {row["dataset"] for row in rows}], "seed")


def _asked(rows: list[Row]) -> str:
    return _span([row["rows_asked"] for row in rows], "test row")


def _place(rows: list[Row]) -> str:
    """Empty for fits made alone on a CPU, as all rows without these fields were."""
    device = " and ".join(sorted({row.get("device", "cpu") for row in rows}))
    together = [row.get("side_by_side", 1) for row in rows]
    if device == "cpu" and max(together) == 1:
        return ""
    beside = f", {_span(together, 'fit')} side by side" if max(together) > 1 else ""
    wall = np.mean([row["fit_seconds"] for row in rows if "fit_seconds" in row])
    return f"on {device}{beside}, {wall:.1f} s by the clock a fit"


def _span(counts: list[int], what: str) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" * (low < high) + " to " * (low < high) + f"{high:,} {what}{'s' * (high != 1)}"
