"""The rows of `real_tables.py` as Markdown tables, and as a picture."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
OURS = "sklar-ranker"
ORDER = (
    *("sklar-ranker", "sklar-selector", "treeshap", "permutation", "forest", "lasso", "random"),
    *("gdfs", "l2x", "invase", "realx", "stg"),
)
LABELS = {
    "sklar-ranker": "sklar, ranker",
    "sklar-selector": "sklar, selector",
    "treeshap": "TreeSHAP, k largest of the row",
    "permutation": "permutation importance, one set",
    "forest": "random forest, one set",
    "lasso": "L1, one set",
    "random": "random features",
    "gdfs": "GDFS",
    "l2x": "L2X",
    "invase": "INVASE",
    "realx": "REAL-X",
    "stg": "STG, one set",
}
SIGNIFICANT = 2.0  # standard errors


def tables(rows: list[Row]) -> str:
    """Means by method and k, ranker against the others, and each table."""
    if not rows:
        return "No rows yet: run `python benchmarks/real_tables.py`."
    parts = []
    for task, score in (("classification", "accuracy"), ("regression", "R^2")):
        mine = [row for row in rows if row["task"] == task]
        if mine:
            parts += [_means(mine, task, score), _duels(mine, score), _each_table(mine, score)]
    return "\n\n".join(parts)


def _means(rows: list[Row], task: str, score: str) -> str:
    """Means over the tables that all methods have; for every k, and last the methods' own rules."""
    loss = "log loss" if score == "accuracy" else "squared error"
    head = ("k", "method", "tables", "features per row", f"{score}, trees", f"{score}, EVAL-X", loss, "excess, nats")
    lines = []
    for k in _ks(rows):
        at_k = [row for row in rows if row["k"] == k]
        common = set.intersection(*({row["table"] for row in some} for some in _by(at_k, "method").values()))
        for method, some in _by(at_k, "method").items():
            trees, evalx = ([row for row in some if row["judge"] == judge] for judge in ("trees", "evalx"))
            tabled = [row for row in trees if k is None or row["table"] in common]
            others = [row for row in evalx if k is None or row["table"] in common]
            cells = [
                _mean(tabled, "features", ".1f"),
                _mean(tabled, "score", ".1f"),
                _mean(others, "score", ".1f"),
                _mean(tabled, "loss", ".3f"),
                _mean(tabled, "excess", "+.3f"),
            ]
            lines.append(("own" if k is None else k, LABELS[method], len(_by(tabled, "table")), *cells))
    return _markdown(f"### {task.capitalize()}: means over tables", head, lines)


def _duels(rows: list[Row], score: str) -> str:
    """The ranker against each other method at the same k, split by split."""
    rows = [row for row in rows if row["judge"] == "trees"]
    ours = {(row["table"], row["split"], row["k"]): row for row in rows if row["method"] == OURS}
    head = ("ranker against", "k", "wins", "ties", "losses", f"{score} ahead by, mean of tables +- its error")
    lines = []
    for (method, k), some in _by(rows, "method", "k").items():
        pairs = defaultdict(list)
        for row in some:
            mine = ours.get((row["table"], row["split"], row["k"]))
            if method != OURS and mine is not None:
                pairs[row["table"]].append((mine, row))
        if pairs:
            means, errors = zip(*(_difference(of_table) for of_table in pairs.values()), strict=True)
            verdicts = [
                0 if abs(m) <= SIGNIFICANT * e else math.copysign(1, m) for m, e in zip(means, errors, strict=True)
            ]
            spread = np.std(means, ddof=1) / len(means) ** 0.5 if len(means) > 1 else errors[0]
            counts = [verdicts.count(verdict) for verdict in (1, 0, -1)]
            lines.append((LABELS[method], k, *counts, f"{np.mean(means):+.1f} +- {spread:.1f}"))
    title = f"A win is {SIGNIFICANT:g} standard errors (over splits; of one split, over rows)."
    return _markdown(title, head, lines)


def _difference(pairs: list[tuple[Row, Row]]) -> tuple[float, float]:
    """The mean difference of scores, and its standard error: over splits, or where there is one split over its rows."""
    differences = [mine["score"] - other["score"] for mine, other in pairs]
    if len(pairs) > 1:
        return float(np.mean(differences)), float(np.std(differences, ddof=1) / len(pairs) ** 0.5)
    # As if the two scores were of different rows: too wide rather than too narrow.
    return differences[0], math.hypot(*(row["score_error"] for row in pairs[0]))


def _each_table(rows: list[Row], score: str) -> str:
    rows = [row for row in rows if row["judge"] == "trees"]
    ks = _ks(rows)
    head = ("table", "method", *("own rule (features)" if k is None else f"k = {k}" for k in ks))
    lines = []
    for table, of_table in _by(rows, "table").items():
        everything = _mean(of_table, "all_features_score", ".1f")
        splits = len(_by(of_table, "split"))
        about = f"**{table}** ({of_table[0]['train_rows']:,} x {of_table[0]['n_features']:,}, splits: {splits})"
        lines.append((about, f"LightGBM, all features: {everything}", *[""] * len(ks)))
        for method, some in _by(of_table, "method").items():
            lines.append(("", LABELS[method], *(_cell([row for row in some if row["k"] == k]) for k in ks)))
    title = f"By table: {score} by the judge of trees, in percent (excess in nats)."
    return _markdown(title, head, lines)


def _cell(rows: list[Row]) -> str:
    if not rows:
        return ""
    own = f"{_mean(rows, 'features', '.1f')} features, " if rows[0]["k"] is None else ""
    return f"{_mean(rows, 'score', '.1f')} ({own}{_mean(rows, 'excess', '+.3f')})"


def _ks(rows: Iterable[Row]) -> list[int | None]:
    return sorted({row["k"] for row in rows}, key=lambda k: math.inf if k is None else k)


def _by(rows: list[Row], *names: str) -> dict[Any, list[Row]]:
    """Rows by the values of some fields; methods in their order."""
    if "method" in names:
        rows = sorted(rows, key=lambda row: ORDER.index(row["method"]))
    found: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(row[name] for name in names)
        found.setdefault(values[0] if len(names) == 1 else values, []).append(row)
    return found


def _mean(rows: list[Row], name: str, form: str) -> str:
    """The mean over tables of the means over splits."""
    means = [
        np.mean(values)
        for some in _by(rows, "table").values()
        if (values := [row[name] for row in some if row[name] is not None])
    ]
    return format(float(np.mean(means)), form) if means else ""


def _markdown(title: str, head: tuple[str, ...], lines: list[tuple[Any, ...]]) -> str:
    texts = [title, "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*texts, *("| " + " | ".join(map(str, line)) + " |" for line in lines)])


# The picture.

STYLES: dict[str, dict[str, Any]] = {
    "sklar-ranker": {"color": "#0b3c8c", "marker": "o", "linewidth": 2.4, "zorder": 5},
    "sklar-selector": {"color": "#0b3c8c", "marker": "*", "markersize": 13, "linestyle": "none", "zorder": 6},
    "treeshap": {"color": "#d1495b", "marker": "s", "linewidth": 1.8, "zorder": 4},
    "permutation": {"color": "#6c757d", "marker": "v"},
    "forest": {"color": "#2a9d8f", "marker": "^"},
    "lasso": {"color": "#b08900", "marker": "D"},
    "random": {"color": "#adb5bd", "marker": ".", "linestyle": ":"},
    "gdfs": {"color": "#7b2cbf", "marker": "P"},
    "l2x": {"color": "#e07a1f", "marker": "X"},
    "invase": {"color": "#5f8d3e", "marker": "<"},
    "realx": {"color": "#9c6644", "marker": ">"},
    "stg": {"color": "#3a86a8", "marker": "h"},
}
PANEL, COLUMNS, LEGEND_HEIGHT = (3.4, 2.7), 4, 0.7  # inches


def draw(rows: list[Row], path: Path) -> None:
    """Score by the judge of trees against features per row, one panel a table; bars are standard errors."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    by_table = _by([row for row in rows if row["judge"] == "trees"], "table")
    columns = min(COLUMNS if len(by_table) > 6 else 3, len(by_table))
    lines = -(-len(by_table) // columns)
    size = (PANEL[0] * columns, PANEL[1] * lines + LEGEND_HEIGHT)
    figure, axes = pyplot.subplots(lines, columns, figsize=size, squeeze=False, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06)
    handles: dict[str, Any] = {}
    for axis, (table, some) in zip(axes.flat, by_table.items(), strict=False):
        handles |= _panel(axis, table, some)
    for axis in axes.flat[len(by_table) :]:
        axis.set_axis_off()
    for axis in axes.flat[max(0, len(by_table) - columns) : len(by_table)]:  # those with no panel below
        axis.set_xlabel("features per row", fontsize=9)
    shown = [name for name in (*ORDER, "all") if name in handles]
    names = [LABELS.get(name, "LightGBM, all features") for name in shown]
    legend = {"loc": "outside lower center", "ncols": min(columns, 4), "frameon": False, "fontsize": 9}
    figure.legend([handles[name] for name in shown], names, **legend)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def _panel(axis: Any, table: str, rows: list[Row]) -> dict[str, Any]:
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    everything = np.mean([row["all_features_score"] for row in rows])
    handles = {"all": axis.axhline(everything, color="black", linewidth=0.9, linestyle="--", zorder=1)}
    for method, some in _by(rows, "method").items():
        x, middle, errors = zip(*_points(some), strict=True)
        style = {"linewidth": 1.2, "markersize": 5, **STYLES[method]}
        (handles[method],) = axis.plot(x, middle, **style)
        axis.errorbar(x, middle, errors, fmt="none", color=style["color"], linewidth=1, alpha=0.6)
    axis.set_xscale("log")
    ticks = [tick for tick in (1, 2, 3, 5, 8, 16, 32, 64) if tick <= axis.get_xlim()[1]]
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticklabels([str(tick) for tick in ticks])
    axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    score = "accuracy" if rows[0]["task"] == "classification" else "R$^2$"
    axis.set_ylabel(f"{score}, %", fontsize=9)
    axis.set_title(f"{table} ({rows[0]['train_rows']:,} x {rows[0]['n_features']:,})", fontsize=10)
    axis.grid(color="#e9ecef", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)
    return handles


def _points(rows: list[Row]) -> list[tuple[float, float, float]]:
    """Features per row, score and its standard error, for every k; where a method has no k, by its own rule."""
    ks = [k for k in _ks(rows) if k is not None] or [None]
    points = []
    for k in ks:
        some = [row for row in rows if row["k"] == k]
        scores = [row["score"] for row in some]
        error = np.std(scores, ddof=1) / len(scores) ** 0.5 if len(scores) > 1 else some[0]["score_error"]
        points.append((float(np.mean([row["features"] for row in some])), float(np.mean(scores)), float(error)))
    return points
