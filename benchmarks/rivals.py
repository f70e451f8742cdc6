"""Every rival on Syn1-6: TPR, FDR, accuracy, CPU seconds to fit, milliseconds a row to select; and as published.

    python benchmarks/rivals.py --quick                         # a minute: does everything run?
    python benchmarks/rivals.py --preset one-core --out rows.jsonl
    python benchmarks/rivals.py --preset full --dimensions 11 100 --seeds 3 --out rows.jsonl
    python benchmarks/rivals.py --table rows.jsonl more.jsonl   # the tables of docs/baselines.md, from rows

One JSON row a fit is appended to --out; rows that are there already are not measured again. Train and test rows
are different draws. Methods that need the number of features are given it, as in the published tables.
On a GPU a network's fits of one dimension (and k) train side by side (--stack); a fit's seconds are then its share.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY
from sklar.paper.experiments.methods import TABNET
from sklar.paper.experiments.results import published as published_numbers
from sklar.paper.experiments.specs import spec_of
from sklar.paper.experiments.synthetic import NEEDS_K, NEEDS_K_AT_SELECT, NEEDS_TRUTH, Draw, K, rows_to_select
from sklar.paper.experiments.units import STACKED_BASELINES
from sklar.training.engine.runtime import DEVICES, resolve_device

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script
from rival_tables import tables

Rows = tuple[np.ndarray, np.ndarray]  # a table and its target

# Parameters by preset. "full" is every class's default, its authors' settings, and a price chosen on held-out rows
# where none is published for these data; INVASE and L2X have those of `sklar reproduce`, TabNet its paper's. "one-core"
# trains less long.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "full": {
        **{name: {"penalty": "auto"} for name in ("invase-minus", "stg", "realx", "lspin", "llspin")},
        **{name: {"batch_size": 512, "iterations": 10_000, "warmup": 4000} for name in ("gdfs", "dime")},
        "cae": {"tries": 1},
    },
    "one-core": {
        "invase": {"iterations": 3000},
        "invase-minus": {"iterations": 3000},
        "l2x": {"iterations": 1500},
        "stg": {"iterations": 1000},
        "cae": {"iterations": 1000, "tries": 2, "selector_learning_rate": 0.1},
        "realx": {"iterations": 2000, "warmup": 2000},
        **{name: {"iterations": 4000, "warmup": 2000, "batch_size": 500} for name in ("gdfs", "dime")},
        "nola": {"penalty": 0.003, "max_epochs": 150},
    },
    "quick": {
        **{name: {"iterations": 20} for name in ("invase", "invase-minus", "l2x", "stg")},
        "gradient-shap": {"iterations": 20},
        **{name: {"n_trees": 20} for name in ("lime", "shap")},
        "cae": {"iterations": 20, "tries": 1},
        "realx": {"iterations": 20, "warmup": 5},
        "gdfs": {"iterations": 20, "warmup": 5},
        "dime": {"iterations": 20, "warmup": 5},
        "suwr": {"iterations": 20, "exploration": 5},
        **{name: {"iterations": 20} for name in ("lspin", "llspin", "protogate", "tabnet")},
        "nola": {"penalty": 0.003, "max_epochs": 3},
        "treeshap": {"n_trees": 20},
        "tree": {"n_trees": 20},
        "forest": {"n_trees": 20},
        "boosting": {"n_trees": 20},
    },
}
# Train side by side. NOLA does not: its fits stop early, each at its own time.
STACKED = (*STACKED_BASELINES, "invase-minus", "realx", "suwr", "lspin", "llspin", "protogate", "tabnet")
WIDE = 50  # features from which the settings are those of 100
# rows to train on, rows to test on
SIZES = {"full": (10_000, 10_000), "one-core": (10_000, 10_000), "quick": (500, 500)}

# The copula paper took all rows but its own from the INVASE paper, whose Syn2 and Syn3 have other formulas.
PUBLISHED_TABLES = {11: "table-11d", 100: "table-100d"}


def published(method: str, dataset: str, d: int) -> tuple[float | None, float | None]:
    """The published TPR and FDR of one cell, or two Nones."""
    rows = {row.lower(): row for table, row, _ in published_numbers() if table == PUBLISHED_TABLES.get(d)}
    table, row = PUBLISHED_TABLES.get(d), rows.get(method)
    tpr, fdr = (published_numbers().get((table, row, f"{dataset} {what}")) for what in ("TPR", "FDR"))
    return tpr, fdr


class Cell(NamedTuple):
    """One fit that is wanted."""

    method: str
    dataset: str
    d: int
    seed: int


def params_of(cell: Cell, preset: str) -> dict[str, Any]:
    """The parameters of a baseline, but its seed and device."""
    given_k = {"k": K[cell.dataset]} if cell.method in NEEDS_K else {}
    of_table = spec_of("table-11d" if cell.d < WIDE else "table-100d")
    if preset == "full" and cell.method in ("invase", "l2x"):
        return {**of_table.method(cell.method).params_for(False, cell.dataset), **given_k}
    if preset == "full" and cell.method == "tabnet":
        return TABNET.params_for(False, cell.dataset)
    return {**PRESETS[preset].get(cell.method, {}), **given_k}


def groups(cells: list[Cell], preset: str, most: int) -> Iterator[list[Cell]]:
    """Cells to train side by side: of one method, dimension and parameters, at most so many; others alone."""
    together: dict[Any, list[Cell]] = {}
    for cell in cells:
        alike = str(params_of(cell, preset)) if cell.method in STACKED else (cell.dataset, cell.seed)
        together.setdefault((cell.method, cell.d, alike), []).append(cell)
    for group in together.values():
        yield from (group[first : first + most] for first in range(0, len(group), most))


class Fits(NamedTuple):
    """Fitted rivals, one a cell, and what one of them cost."""

    rivals: list[Any]
    device: str
    seconds: float  # by the clock
    cpu_seconds: float


def fit(group: list[Cell], train: list[Draw], preset: str, device: str) -> Fits:
    """Fit the rivals of one group: a single cell alone, several side by side."""
    method, seeds = group[0].method, [cell.seed for cell in group]
    params = params_of(group[0], preset)
    where = resolve_device(device).type if "device" in REGISTRY[method]().get_params(deep=False) else None
    rival = REGISTRY[method](random_state=seeds[0], **params, **({"device": where} if where else {}))
    start, cpu = time.perf_counter(), time.process_time()
    if len(group) > 1:
        rivals = rival.fit_problems([(X, y) for X, y, _ in train], seeds)
    else:
        ((X, y, truth),) = train
        rivals = [rival.fit(X, y, **({"relevant": truth} if method in NEEDS_TRUTH else {}))]
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return Fits(rivals, where or "cpu", seconds / len(group), cpu / len(group))


def measure(group: list[Cell], preset: str, device: str) -> Iterator[dict[str, Any]]:
    """Fit one rival on each data set of a group, and say how they did."""
    n_train, n_test = SIZES[preset]
    train = [make_synthetic(cell.dataset, n_train, cell.d, random_state=cell.seed) for cell in group]
    fits = fit(group, train, preset, device)
    if fits.device == "cuda":
        fits.rivals[0].select(train[0][0][:2])  # a GPU's first answer loads its kernels
    for cell, rival, (X, y, _) in zip(group, fits.rivals, train, strict=True):
        test = make_synthetic(cell.dataset, n_test, cell.d, random_state=10_000 + cell.seed)
        answers = scored(cell, rival, (X, y), test, quick=preset == "quick")
        printed_tpr, printed_fdr = published(cell.method, cell.dataset, cell.d)
        yield {
            **cell._asdict(),
            "preset": preset,
            "words": params_of(cell, preset),  # rows keep the name they began with
            **answers,
            "device": fits.device,
            "side_by_side": len(group),
            "fit_seconds": fits.seconds,
            "fit_cpu_seconds": fits.cpu_seconds,
            "published_tpr": printed_tpr,
            "published_fdr": printed_fdr,
        }


def scored(cell: Cell, rival: Any, train: Rows, test: Draw, quick: bool) -> dict[str, Any]:
    """How well a fitted rival selects and predicts on the test rows, and how long it takes to select."""
    unseen, target, relevant = test
    at_select = {"k": K[cell.dataset]} if cell.method in NEEDS_K_AT_SELECT else {}
    asked = rows_to_select(cell.method, quick)
    start = time.process_time()
    masks = rival.select(unseen[asked], **at_select)
    select_seconds = time.process_time() - start
    accuracy, whose = accuracy_of(rival, train, (unseen, target), at_select)
    return {
        "k": getattr(rival, "k", None) or at_select.get("k"),
        "tpr": true_positive_rate(relevant[asked], masks),
        "fdr": false_discovery_rate(relevant[asked], masks),
        "features": float(masks.sum(axis=1).mean()),
        "accuracy": 100 * accuracy,
        "accuracy_of": whose,
        "select_ms_per_row": 1000 * select_seconds / len(masks),
        "rows_asked": len(masks),
    }


def accuracy_of(rival: Any, train: Rows, test: Rows, at_select: dict[str, int]) -> tuple[float, str]:
    """Test accuracy, and whose: of the method's own predictor or, if it has none, of boosting on what it shows."""
    if hasattr(rival, "predict"):
        return rival.score(*test), "its own predictor"
    shown, unseen_shown = (X * rival.select(X, **at_select) for X, _ in (train, test))
    judge = HistGradientBoostingClassifier(random_state=0).fit(shown, train[1])
    return float(judge.score(unseen_shown, test[1])), "boosting refitted on its masks"


def line(row: dict[str, Any]) -> str:
    """A row for a person to read."""
    known = row["published_tpr"] is not None
    printed = f"published {row['published_tpr']:5.1f}/{row['published_fdr']:4.1f}" if known else ""
    return (
        f"{row['method']:15} {row['dataset']} d={row['d']:<4} seed={row['seed']} "
        f"TPR/FDR {row['tpr']:5.1f}/{row['fdr']:4.1f}  accuracy {row['accuracy']:4.1f}  "
        f"fit {row['fit_cpu_seconds']:7.1f} s  select {row['select_ms_per_row']:8.4f} ms  {printed}"
    )


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    options = parse(arguments)
    if options.table:
        print("\n\n".join(tables([row for path in options.table for row in rows_of(path)])))
        return []
    done = {key(row) for row in rows_of(options.out)}
    product = itertools.product(options.dimensions, options.methods, options.datasets, range(options.seeds))
    cells = [Cell(method, dataset, d, seed) for d, method, dataset, seed in product]
    wanted = [cell for cell in cells if (*cell, options.preset) not in done]
    most = options.stack or (len(cells) if resolve_device(options.device).type == "cuda" else 1)
    rows = []
    for group in groups(wanted, options.preset, most):
        for row in measure(group, options.preset, options.device):
            rows.append(row)
            print(line(row), flush=True)
            if options.out:
                with options.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    return rows


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=list(REGISTRY), choices=list(REGISTRY), metavar="NAME")
    parser.add_argument("--datasets", nargs="+", default=list(SYNTHETIC_NAMES), choices=SYNTHETIC_NAMES)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[11])
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--preset", choices=list(PRESETS), default="full")
    parser.add_argument("--device", choices=DEVICES, default="auto", help="for the rivals that have the word")
    parser.add_argument("--stack", type=int, default=0, help="data sets side by side; 0: all on a GPU, one on a CPU")
    parser.add_argument("--quick", action="store_true", help="the preset quick, on Syn1 and Syn4")
    parser.add_argument("--out", type=Path, help="file to append rows to, as JSON lines")
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE", help="only print tables of the rows of files")
    options = parser.parse_args(arguments)
    if options.quick:
        options.preset, options.datasets = "quick", [d for d in options.datasets if d in ("syn1", "syn4")]
    return options


def rows_of(path: Path | None) -> list[dict[str, Any]]:
    """The rows that a file holds; none if there is no such file."""
    if path is None or not path.exists():
        return []
    return [json.loads(text) for text in path.read_text().splitlines()]


def key(row: dict[str, Any]) -> tuple:
    """What tells a row from others."""
    return (*(row[name] for name in Cell._fields), row["preset"])


if __name__ == "__main__":
    main()
