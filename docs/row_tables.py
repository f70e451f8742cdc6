"""Tables of the pages, made from the rows in results/: a page's table that is named here must be what the rows give.

A line `<!-- rows: NAME -->` stands above such a table. `python docs/row_tables.py --write` updates the tables; the
tests compare them with the rows.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sklar.datasets import SYNTHETIC_NAMES
from sklar.paper.baselines import REGISTRY
from sklar.paper.experiments.results import published

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import acquisition_tables  # noqa: E402
import copies  # noqa: E402
import dependence  # noqa: E402
import dependence_blocks  # noqa: E402
import dependence_ranking  # noqa: E402
import dependence_tables  # noqa: E402
import evidence  # noqa: E402
import few_rows  # noqa: E402
import fidelity  # noqa: E402
import in_part  # noqa: E402
import joint_ablation  # noqa: E402
import one_fit  # noqa: E402
import own_predictions  # noqa: E402
import persuasion  # noqa: E402
import ranking_order  # noqa: E402
import rival_tables  # noqa: E402
import rivals  # noqa: E402
import stand_ins  # noqa: E402
import strengths  # noqa: E402
import wide_tables  # noqa: E402

PAGES = (
    "README.md",
    "docs/method.md",
    "docs/results.md",
    "docs/real_tables.md",
    "docs/reproduction.md",
    "docs/baselines.md",
)
MARKED = re.compile(r"^<!-- rows: (.+) -->\n\n((?:^\|.*\n)*)", re.MULTILINE)
SETTINGS = {"d=11": "d = 11", "d=100": "d = 100", "d=100 correlated": "d = 100, correlation .5"}
PUBLISHED = {"d=11": "table-11d", "d=100": "table-100d", "d=100 correlated": "table-correlated"}
KS = (10, 20, 30, 40)
N_SEEDS = 3  # of methods on images, where nothing else is said
BOUGHT = {"gdfs": "GDFS", "dime": "DIME"}
GDFS_PRINTED = ("87.1", "94.4", "96.4", "97.1")  # notebooks/mnist.ipynb of iancovert/dynamic-selection
# Of images: heading, metrics, and the methods below it with their labels.
BLOCKS = (
    (
        "*the whole row: own / EVAL-X*",
        ("accuracy", "evalx"),
        {
            "sklar": "`sklar`",
            "joint-full": "the paper's method, full-rank",
            "joint-independent": "the paper's NOLA",
            "gradient-shap": "SHAP (expected gradients)",
            "l2x": "L2X",
        },
    ),
    ("*what it has bought: own*", ("accuracy",), BOUGHT),
    (
        "*nothing, one set for all rows: refitted*",
        ("accuracy",),
        {"stg": "STG", "cae": "CAE", "forest": "RF", "boosting": "boosting", "lasso": "LASSO"},
    ),
)
Row = dict[str, Any]


@lru_cache
def rows_of(name: str) -> list[Row]:
    """The rows of a file in results/; none where it is not there."""
    path = ROOT / "results" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def line(cells: list[str]) -> str:
    """One line of a table."""
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def head(cells: list[str]) -> str:
    """The first two lines of a table."""
    return line(cells) + "\n|" + "---|" * len(cells)


def plain(value: float) -> str:
    """One decimal, but 0 and 100 as they are."""
    return {"0.0": "0", "100.0": "100"}.get(text := f"{value:.1f}", text)


def mean(rows: list[Row], what: str) -> float:
    """Over all rows."""
    return float(np.mean([row[what] for row in rows]))


def quality(file: str, variant: str, setting: str, label: str) -> str:
    """TPR/FDR of the rows of a file, a data set a column."""
    rows = [row for row in rows_of(file) if (row["variant"], row["setting"]) == (variant, setting)]
    rows = [row for row in rows if row["covariance"] == "low-rank"]
    cells = [[row for row in rows if row["name"] == name] for name in SYNTHETIC_NAMES]
    return line([label, *("/".join(plain(mean(cell, what)) for what in ("tpr", "fdr")) for cell in cells)])


def printed(setting: str, label: str) -> str:
    """TPR/FDR that the paper prints for its method."""
    numbers = published()
    places = [[(PUBLISHED[setting], "Ours", f"{name} {what}") for what in ("TPR", "FDR")] for name in SYNTHETIC_NAMES]
    return line([label, *("/".join(plain(numbers[place]) for place in pair) for pair in places)])


def of_readme() -> str:
    """Ours and the published, setting by setting."""
    lines = [head(["", *(name.capitalize() for name in SYNTHETIC_NAMES)])]
    for setting, label in SETTINGS.items():
        lines.append(quality("quality-default", "paper", setting, f"{label}, `sklar`"))
        lines.append(printed(setting, f"{label}, the paper (published)"))
    return "\n".join(lines)


def of_method() -> str:
    """Ours in both versions of the data."""
    lines = [head(["", *(name.capitalize() for name in SYNTHETIC_NAMES)])]
    for variant, more in (("paper", ""), ("invase", ", INVASE's formulas")):
        lines += [quality("quality", variant, setting, label + more) for setting, label in SETTINGS.items()]
    return "\n".join(lines)


@lru_cache
def image_rows() -> dict[tuple[str, str, int, str], list[Row]]:
    """(method, data set, k, metric) -> a row a seed, but for trials."""
    found: dict[tuple, list[Row]] = {}
    for row in rows_of("rows-images"):
        if not row["overrides"] and not row["quick"]:
            found.setdefault((row["method"], row["dataset"], row["k"], row["metric"]), []).append(row)
    return found


@lru_cache
def image_means() -> dict[tuple[str, str, int, str], float]:
    """(method, data set, k, metric) -> the mean over seeds."""
    return {key: mean(rows, "value") for key, rows in image_rows().items()}


def n_seeds(seeds: set[int]) -> str:
    """How many, in words."""
    return f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}"


def image_line(label: str, method: str, dataset: str, metrics: tuple[str, ...], bold: bool = False) -> str:
    """The accuracies of a method from k features; a dagger where they are of earlier settings, and seeds but for 3."""
    means, rows = image_means(), [row for k in KS for row in image_rows()[method, dataset, k, metrics[0]]]
    cells = []
    if len(seeds := {row["seed"] for row in rows}) != N_SEEDS:
        label += f" ({n_seeds(seeds)})"
    if any("earlier" in row for row in rows):
        label += " †"
    for k in KS:
        numbers = [f"{means[method, dataset, k, metric]:.1f}" for metric in metrics]
        cells.append(" / ".join([*numbers[:-1], f"**{numbers[-1]}**" if bold else numbers[-1]]))
    return line([label, *cells])


def shown_lines(dataset: str) -> list[str]:
    """Our ranker that chooses from what it has shown, by its own predictor, if it was measured."""
    rows = [row for row in rows_of("acquisition") if (row["data"], row["k"]) == (dataset, KS[-1])]
    cells = [[row for row in rows if row["features"] == k] for k in KS]
    if not all(cells):
        return []
    label = f'`sklar`, `chooses_from="shown"` ({n_seeds({row["seed"] for row in rows})})'
    lines = [line([label, *(f"{mean(cell, 'accuracy'):.1f}" for cell in cells)])]
    own = [
        [row for row in rows_of("acquisition") if (row["data"], row["k"], row["features"]) == (dataset, k, k)]
        for k in KS
    ]
    if any(own[:-1]):
        lines.append(
            line(["the same, fitted for each k", *(f"{mean(of, 'accuracy'):.1f}" if of else "" for of in own)])
        )
    return lines


def images(dataset: str, title: str) -> str:
    """Every method on a data set, by what its choice may depend on."""
    lines = [head([title, f"k = {KS[0]}", *map(str, KS[1:])])]
    for heading, metrics, methods in BLOCKS:
        lines.append(line([heading, *[""] * len(KS)]))
        lines += shown_lines(dataset) if "gdfs" in methods else []
        for method, label in methods.items():
            if (method, dataset, KS[0], "accuracy") in image_means():
                lines.append(image_line(label, method, dataset, metrics, bold=method == "sklar"))
    return "\n".join(lines)


def mnist_in_short() -> str:
    """MNIST for README and the results page, by what a method's choice may depend on."""
    of_paper = [f"{published()['table-nola', 'Ours', f'k={k}']:.1f}" for k in KS]
    lines = [
        head(["", f"k = {KS[0]}", *map(str, KS[1:])]),
        line(["*sees the whole image; by EVAL-X*", *[""] * len(KS)]),
        image_line("`sklar`", "sklar", "mnist", ("evalx",)),
        image_line("SHAP (expected gradients)", "gradient-shap", "mnist", ("evalx",)),
        image_line("the paper's method, run here", "joint-full", "mnist", ("evalx",)),
        line(["the paper, by its own predictor (published)", *of_paper]),
        line(["*sees what it has asked for; by its own predictor*", *[""] * len(KS)]),
        *shown_lines("mnist"),
        line(["GDFS, as its authors print it", *GDFS_PRINTED]),
        *(image_line(f"{label}, run here", name, "mnist", ("accuracy",)) for name, label in BOUGHT.items()),
        line(["*sees nothing of the row, one set for all; refitted*", *[""] * len(KS)]),
        *(image_line(label, name, "mnist", ("accuracy",)) for name, label in BLOCKS[-1][-1].items()),
    ]
    return "\n".join(lines)


def ten_seeds(d: int) -> list[Row]:
    """TPR and FDR of the rivals that `sklar reproduce` measured with their present settings, a row a fit."""
    fits: dict[tuple, Row] = {}
    for row in rows_of("rows-synthetic"):
        method, dataset, is_plain = row["method"], row["dataset"], not (row["overrides"] or row["quick"])
        if method in REGISTRY and row["setting"] == f"d={d}" and is_plain and "earlier" not in row:
            tpr, fdr = rivals.published(method, dataset, d)
            about = {"method": method, "dataset": dataset, "published_tpr": tpr, "published_fdr": fdr}
            fits.setdefault((method, dataset, row["seed"]), about)[row["metric"]] = row["value"]
    return list(fits.values())


def rivals_found(d: int) -> str:
    """TPR/FDR of every rival on Syn1-6, from the rows with most seeds."""
    many, few = ten_seeds(d), full_rows(d)
    known = {row["method"] for row in many}
    by_method = rival_tables.by_method([*many, *(row for row in few if row["method"] not in known)])
    found = (text for name, own in by_method.items() for text in rival_tables.found(name, own))
    return "\n".join([rival_tables.head(f"d = {d}", []), *found])


def rivals_cost(d: int) -> str:
    """Accuracies and times of every rival on Syn1-6."""
    lines = [rival_tables.head(f"d = {d}", ["fit, CPU s", "select, ms per row"])]
    return "\n".join([*lines, *(rival_tables.cost(*item) for item in rival_tables.by_method(full_rows(d)).items())])


def full_rows(d: int) -> list[Row]:
    """What benchmarks/rivals.py measured with d features."""
    return [row for row in rows_of("rivals") if row["d"] == d and row["preset"] == "full"]


TABLES: dict[str, Callable[[], str]] = {
    "quality with the published": of_readme,
    "quality": of_method,
    "MNIST in short": mnist_in_short,
    "MNIST": lambda: images("mnist", "MNIST"),
    "Fashion-MNIST": lambda: images("fashion-mnist", "Fashion-MNIST"),
    "ISOLET": lambda: images("isolet", "ISOLET"),
    "joint training, one choice changed": lambda: joint_ablation.table(rows_of("joint-ablation")),
    "joint training, lambda": lambda: joint_ablation.table(rows_of("joint-cv")),
    "what features say": lambda: evidence.table(rows_of("evidence")),
    "fidelity": lambda: fidelity.table(rows_of("fidelity")),
    "dependence": lambda: dependence.table(rows_of("dependence")),
    "dependence, the rule alone": lambda: dependence.rule_table(rows_of("dependence-rule")),
    "dependence of rankers": lambda: dependence_ranking.table(rows_of("dependence-ranking")),
    "dependence in blocks": lambda: dependence_blocks.table(rows_of("dependence-blocks")),
    "dependence on tables": lambda: dependence_tables.table(rows_of("dependence-tables")),
    "interchangeable on tables": lambda: dependence_tables.groups_table(rows_of("dependence-tables")),
    "substitutes in part": lambda: in_part.table(rows_of("in-part")),
    "stand-ins by trees": lambda: stand_ins.table(rows_of("stand-ins")),
    "copies of rows": lambda: copies.table(rows_of("copies")),
    "order of rankings": lambda: ranking_order.table(rows_of("ranking-order")),
    "persuasion": lambda: persuasion.table(rows_of("persuasion")),
    "one fit": lambda: one_fit.table(rows_of("one-fit")),
    "strengths": lambda: strengths.table(rows_of("strengths")),
    "few rows": lambda: few_rows.table(rows_of("few-rows")),
    "asked for one by one": lambda: acquisition_tables.table(rows_of("acquisition-tables")),
    "asked for with prices": lambda: acquisition_tables.prices_table(rows_of("acquisition-tables")),
    "asked for until sure": lambda: acquisition_tables.stopping_table(rows_of("acquisition-tables")),
    "tables of R": lambda: own_predictions.shown(rows_of("r-tables")).split("\n\n")[0],
    "wide tables": lambda: wide_tables.table(rows_of("wide-tables")),
    "rivals, 11 features": lambda: rivals_found(11),
    "rivals, 11 features, cost": lambda: rivals_cost(11),
    "rivals, 100 features": lambda: rivals_found(100),
    "rivals, 100 features, cost": lambda: rivals_cost(100),
}


def rewritten(text: str) -> str:
    """A page's text with its marked tables as the rows give them."""
    return MARKED.sub(lambda found: f"<!-- rows: {found[1]} -->\n\n{TABLES[found[1]]()}\n", text)


def main() -> None:
    """Say which pages differ from the rows; with --write, update them."""
    for page in PAGES:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        if (new := rewritten(text)) != text:
            print(f"{page} differs from the rows")
            if "--write" in sys.argv[1:]:
                path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
