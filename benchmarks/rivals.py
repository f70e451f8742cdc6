"""Every rival on Syn1-6: TPR, FDR, accuracy, CPU seconds to fit, milliseconds a row to select; and as published.

    python benchmarks/rivals.py --quick                         # a minute: does everything run?
    python benchmarks/rivals.py --preset one-core --out rows.jsonl
    python benchmarks/rivals.py --preset full --dimensions 11 100 --seeds 3 --out rows.jsonl

One JSON row a fit is appended to --out; rows that are there already are not measured again. Train and test rows
are different draws. Methods that need the number of features are told it (K below), as in the published tables.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from sklar.baselines import REGISTRY
from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.experiments.results import published as told
from sklar.experiments.synthetic import SLOW_TO_ASK, TOLD_K, TOLD_K_AT_SELECT, TOLD_TRUTH, K
from sklar.metrics import false_discovery_rate, true_positive_rate

Rows = tuple[np.ndarray, np.ndarray]  # a table and its target

# Words by preset. "full" is every class's default: the published settings. "one-core" trains for less long.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "full": {},
    "one-core": {
        "invase": {"iterations": 3000},
        "invase-minus": {"iterations": 3000},
        "l2x": {"iterations": 1500},
        "stg": {"iterations": 1000},
        "cae": {"iterations": 1000, "tries": 2},
        "realx": {"iterations": 2000, "warmup": 700},
        "gdfs": {"iterations": 800, "warmup": 500},
        "nola": {"penalty": 0.003, "max_epochs": 150},
    },
    "quick": {
        **{name: {"iterations": 20} for name in ("invase", "invase-minus", "l2x", "stg", "lime", "shap")},
        "cae": {"iterations": 20, "tries": 1},
        "realx": {"iterations": 20, "warmup": 5},
        "gdfs": {"iterations": 20, "warmup": 5},
        "nola": {"penalty": 0.003, "max_epochs": 3},
        "tree": {"n_trees": 20},
        "forest": {"n_trees": 20},
        "boosting": {"n_trees": 20},
    },
}
# rows to train on, rows to test on
SIZES = {"full": (10_000, 10_000), "one-core": (10_000, 10_000), "quick": (500, 500)}

# The copula paper took all rows but its own from the INVASE paper, whose Syn2 and Syn3 have other formulas.
PUBLISHED_TABLES = {11: "table-11d", 100: "table-100d"}


def published(method: str, dataset: str, d: int) -> tuple[float | None, float | None]:
    """The published TPR and FDR of one cell, or two Nones."""
    rows = {row.lower(): row for table, row, _ in told() if table == PUBLISHED_TABLES.get(d)}
    cells = [told().get((PUBLISHED_TABLES.get(d), rows.get(method), f"{dataset} {what}")) for what in ("TPR", "FDR")]
    return cells[0], cells[1]


def measure(method: str, dataset: str, d: int, seed: int, preset: str) -> dict[str, Any]:
    """Fit one rival on one data set, and say how it did."""
    n_train, n_test = SIZES[preset]
    X, y, truth = make_synthetic(dataset, n_train, d, random_state=seed)
    unseen, target, relevant = make_synthetic(dataset, n_test, d, random_state=10_000 + seed)
    words = dict(PRESETS[preset].get(method, {}))
    if method in TOLD_K:
        words["k"] = K[dataset]
    at_select = {"k": K[dataset]} if method in TOLD_K_AT_SELECT else {}
    rival = REGISTRY[method](random_state=seed, **words)
    start = time.process_time()
    rival.fit(X, y, **({"relevant": truth} if method in TOLD_TRUTH else {}))
    fit_seconds = time.process_time() - start
    asked = slice(0, SLOW_TO_ASK.get(method) if preset != "quick" else 20 if method in SLOW_TO_ASK else None)
    start = time.process_time()
    masks = rival.select(unseen[asked], **at_select)
    select_seconds = time.process_time() - start
    accuracy, whose = accuracy_of(rival, (X, y), (unseen, target), at_select)
    told_tpr, told_fdr = published(method, dataset, d)
    return {
        "method": method,
        "dataset": dataset,
        "d": d,
        "seed": seed,
        "preset": preset,
        "words": words,
        "k": words.get("k", at_select.get("k")),
        "tpr": true_positive_rate(relevant[asked], masks),
        "fdr": false_discovery_rate(relevant[asked], masks),
        "features": float(masks.sum(axis=1).mean()),
        "accuracy": 100 * accuracy,
        "accuracy_of": whose,
        "fit_cpu_seconds": fit_seconds,
        "select_ms_per_row": 1000 * select_seconds / len(masks),
        "rows_asked": len(masks),
        "published_tpr": told_tpr,
        "published_fdr": told_fdr,
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
    told = f"published {row['published_tpr']:5.1f}/{row['published_fdr']:4.1f}" if known else ""
    return (
        f"{row['method']:15} {row['dataset']} d={row['d']:<4} seed={row['seed']} "
        f"TPR/FDR {row['tpr']:5.1f}/{row['fdr']:4.1f}  accuracy {row['accuracy']:4.1f}  "
        f"fit {row['fit_cpu_seconds']:7.1f} s  select {row['select_ms_per_row']:8.4f} ms  {told}"
    )


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", default=list(REGISTRY), choices=list(REGISTRY), metavar="NAME")
    parser.add_argument("--datasets", nargs="+", default=list(SYNTHETIC_NAMES), choices=SYNTHETIC_NAMES)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[11])
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--preset", choices=list(PRESETS), default="full")
    parser.add_argument("--quick", action="store_true", help="the preset quick, on Syn1 and Syn4")
    parser.add_argument("--out", type=Path, help="file to append rows to, as JSON lines")
    options = parser.parse_args(arguments)
    if options.quick:
        options.preset, options.datasets = "quick", [d for d in options.datasets if d in ("syn1", "syn4")]
    done = done_cells(options.out)
    rows = []
    for dataset in options.datasets:
        for d in options.dimensions:
            for seed in range(options.seeds):
                for method in options.methods:
                    if (method, dataset, d, seed, options.preset) in done:
                        continue
                    rows.append(measure(method, dataset, d, seed, options.preset))
                    print(line(rows[-1]), flush=True)
                    if options.out:
                        with options.out.open("a") as file:
                            file.write(json.dumps(rows[-1]) + "\n")
    return rows


def done_cells(path: Path | None) -> set[tuple]:
    """What the file holds already."""
    if path is None or not path.exists():
        return set()
    cells = (json.loads(text) for text in path.read_text().splitlines())
    return {(row["method"], row["dataset"], row["d"], row["seed"], row["preset"]) for row in cells}


if __name__ == "__main__":
    main()
