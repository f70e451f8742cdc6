"""Features asked for one by one on real tables: own predictions from the first k, ours beside GDFS and DIME.

    python benchmarks/acquisition_tables.py --jobs 2
    python benchmarks/acquisition_tables.py --tables spambase phoneme --splits 1 --methods sklar gdfs
    python benchmarks/acquisition_tables.py --table             # Markdown, from the rows

Each method is fitted once, for ten features (all but one where a table has fewer), and asked for fewer: none of the
three sees a value before it has asked for it, so that its own predictions are what counts. Scores are accuracy, or R^2
for values, in percent. Splits are those of `real_tables.py`. `sklar` gets the table as it is, the others numbers
(see `real_table_methods.py`). GDFS and DIME have the sizes that their authors give for tables, 128 units and batches of
128 rows (`experiments/tabular/run.py` of `iancovert/dynamic-selection`, `experiments/intub` of `suinleelab/DIME`), and
train until a sixth of the rows stops them. Rows that are there already are not measured again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script
from real_table_methods import Split
from rows import collect, known, missing

import sklar
from sklar.paper.baselines import REGISTRY

OUT = Path("results/acquisition-tables.jsonl")
TABLES = ("spambase", "digits", "segment", "phoneme", "wine-quality-white", "breast-cancer", "credit-g", "abalone")
PLACES = (1, 2, 3, 5, 8, 10)
KEY = ("table", "split", "method")
METHODS: dict[str, dict[str, Any]] = {
    "sklar": {},
    "gdfs": {"policy_hidden": 128, "predictor_hidden": 128},
    "dime": {"hidden": 128},
}
LABELS = {"sklar": '`sklar`, `chooses_from="shown"`', "gdfs": "GDFS", "dime": "DIME"}
QUICK: dict[str, dict[str, Any]] = {
    "sklar": {"max_epochs": 2},
    "gdfs": {"iterations": 20, "warmup": 5},
    "dime": {"iterations": 20, "warmup": 5},
}


def measure(table: str, number: int, method: str, quick: bool) -> list[dict[str, Any]]:
    """A row for each number of features."""
    split = Split.of(table, number)
    k, start = min(max(PLACES), split.n_features - 1), time.perf_counter()
    fit = fit_sklar if method == "sklar" else fit_baseline
    predict = fit(split, method, k, {**METHODS[method], **(QUICK[method] if quick else {})})
    seconds = round(time.perf_counter() - start, 1)
    plan = dict(zip(KEY, (table, number, method), strict=True)) | {"fitted_for": k, "seconds": seconds}
    places = sorted({*(j for j in PLACES if j < k), k})
    return [{**plan, "k": j, "score": round(100 * score(split, predict(j)), 2)} for j in places]


def fit_sklar(split: Split, method: str, k: int, parameters: dict[str, Any]) -> Any:
    """What a ranker that chooses from what it has shown predicts for test rows, by how many features it shows."""
    kind = sklar.CopulaRankerClassifier if split.is_classification else sklar.CopulaRankerRegressor
    ranker = kind(k=k, chooses_from="shown", random_state=split.number, **parameters)
    ranker.fit(split.X.iloc[split.train], split.y_train)
    return lambda j: ranker.predict(split.X.iloc[split.test], k=j)


def fit_baseline(split: Split, method: str, k: int, parameters: dict[str, Any]) -> Any:
    """The same of a baseline."""
    model = REGISTRY[method](k=k, task=split.task, random_state=split.number, **parameters)
    model.fit(split.numbers[split.train], split.y_train)
    rows = split.numbers[split.test]
    return lambda j: model.predict_masked(rows, np.asarray(model.select(rows, k=j)))


def score(split: Split, predicted: np.ndarray) -> float:
    """Accuracy or R^2 of test rows."""
    if split.is_classification:
        return float(np.mean(predicted == split.y_test))
    wrong = np.mean((predicted - split.y_test) ** 2)
    return float(1 - wrong / np.var(split.y_test))


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: means over splits, and over tables with their lead."""
    lines = ["| table | splits | method |" + "".join(f" k = {k} |" for k in PLACES), "|---" * (3 + len(PLACES)) + "|"]
    names = [name for name in TABLES if any(row["table"] == name for row in rows)]
    for name in names:
        for method, label in LABELS.items():
            own = [row for row in rows if (row["table"], row["method"]) == (name, method)]
            if own:
                cells = "".join(f" {_mean(own, k)} |" for k in PLACES)
                lines.append(f"| {name} | {len({row['split'] for row in own})} | {label} |{cells}")
    for rival in ("gdfs", "dime"):
        leads = [_leads(rows, rival, k) for k in PLACES]
        cells = "".join(
            f" {np.mean(one):+.1f} ({sum(x > 0 for x in one)} of {len(one)}) |" if one else " |" for one in leads
        )
        lines.append(f"| mean | | ahead of {LABELS[rival]} (on so many tables) |{cells}")
    return "\n".join(lines)


def _mean(rows: list[dict[str, Any]], k: int) -> str:
    found = [row["score"] for row in rows if row["k"] == k]
    return f"{np.mean(found):.1f}" if found else ""


def _leads(rows: list[dict[str, Any]], rival: str, k: int) -> list[float]:
    """By how much ours is ahead on each table, on the splits that both have."""
    scores = {(row["table"], row["split"], row["method"]): row["score"] for row in rows if row["k"] == k}
    leads: dict[str, list[float]] = {}
    for (name, number, method), value in scores.items():
        if method == rival and (name, number, "sklar") in scores:
            leads.setdefault(name, []).append(scores[name, number, "sklar"] - value)
    return [float(np.mean(one)) for one in leads.values()]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="print the table of the rows, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    args = parser.parse_args(arguments)
    rows = known(args.out)
    if not args.table:
        plans = [(t, s, m, args.quick) for s in range(args.splits) for t in args.tables for m in args.methods]
        rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table(rows))


if __name__ == "__main__":
    main()
