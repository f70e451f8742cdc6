"""TPR and FDR of a default fit on Syn1-6: 10,000 train rows, 10,000 other test rows, penalty="auto".

    python benchmarks/quality.py --jobs 16 --seeds 5 --variants paper --out results/quality-default.jsonl
    python benchmarks/quality.py --device cuda --seeds 10

Writes one JSON row for each data set and seed, and prints the means. With --jobs the fits are those of
`CopulaSelectorClassifier()`, a core each. Without, many data sets train side by side as problems of one stack
(--stack), by the same training, but that all predictors read numbers as they are. `evalx`, of stacks, is the accuracy
of predictors that learned from random masks alone (on the columns that the model reads), shown what was selected;
`truth` is the same, shown the truly relevant features. Test rows choose nothing.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from rows import collect, known, missing

from sklar import CopulaSelectorClassifier
from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.experiments.honest_stack import fit_honest_stack
from sklar.selection_scores import EVALX_STEPS
from sklar.training.engine.runtime import resolve_device
from sklar.training.honest.evalx import evalx_outputs
from sklar.training.tasks import Task

SETTINGS = {"d=11": (11, 0.0), "d=100": (100, 0.0), "d=100 correlated": (100, 0.5)}
KEY = ("name", "seed", "setting", "variant", "covariance", "rows")
TARGETS = {  # TPR at least, FDR at most, for Syn1-3 and Syn4-6
    "d=11": ((99.5, 0.5), (99.0, 2.0)),
    "d=100": ((99.5, 0.5), (98.0, 3.0)),
    "d=100 correlated": ((99.0, 1.0), (97.0, 4.0)),
}


def main() -> None:
    args = parse()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    tasks = [(name, args.first_seed + i) for name in args.names for i in range(args.seeds)]
    if args.jobs:
        plans = [
            (*task, setting, variant, args.covariance, args.rows)
            for setting in args.settings
            for variant in args.variants
            for task in tasks
        ]
        rows = known(args.out)
        rows += collect(measure_default, missing(plans, rows, KEY), args.out, args.jobs)
        for setting, variant in dict.fromkeys((row["setting"], row["variant"]) for row in rows):
            print_table(
                [row for row in rows if (row["setting"], row["variant"]) == (setting, variant)], setting, variant
            )
        return
    stack = args.stack or (len(tasks) if resolve_device(args.device).type == "cuda" else 1)
    with args.out.open("a") as file:
        for variant in args.variants:
            for setting in args.settings:
                rows = []
                for first in range(0, len(tasks), stack):
                    for row in measure(tasks[first : first + stack], setting, variant, args):
                        rows.append(row)
                        file.write(json.dumps(row) + "\n")
                        file.flush()
                print_table(rows, setting, variant)


def measure_default(name: str, seed: int, setting: str, variant: str, covariance: str, n: int) -> list[dict]:
    """One default fit, scored on other rows."""
    d, correlation = SETTINGS[setting]
    (X, y, _), (X_test, y_test, relevant) = (
        make_synthetic(name, n, d, correlation, variant, random_state=2 * seed + part) for part in (0, 1)
    )
    start, cpu = time.perf_counter(), time.process_time()
    model = CopulaSelectorClassifier(covariance=covariance, device="cpu", random_state=seed).fit(X, y)
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    selected = model.select(X_test)
    tried = [record for record in model.history_ if record["part"] == "predictors" and record["chosen"]]
    return [
        {
            **dict(zip(KEY, (name, seed, setting, variant, covariance, n), strict=True)),
            "tpr": true_positive_rate(relevant, selected),
            "fdr": false_discovery_rate(relevant, selected),
            "accuracy": 100 * model.score(X_test, y_test),
            "penalty": model.penalty_,
            "mean_features": float(selected.sum(1).mean()),
            "n_bins": tried[0]["n_bins"] if tried else None,
            **spent,
        }
    ]


def measure(tasks: list[tuple[str, int]], setting: str, variant: str, args: argparse.Namespace) -> list[dict]:
    """Fit a stack of data sets side by side and score each on its own test rows."""
    d, correlation = SETTINGS[setting]
    train, test = (
        [make_synthetic(name, args.rows, d, correlation, variant, random_state=2 * seed + part) for name, seed in tasks]
        for part in (0, 1)
    )
    stacked = fit_honest_stack(train, {"covariance": args.covariance}, resolve_device(args.device), seed=tasks[0][1])
    rows, selected = [], []
    for p, (name, seed) in enumerate(tasks):
        X, y, relevant = test[p]
        answers = stacked.answers(p, X, y)
        selected.append(answers.selected)
        row = {"name": name, "seed": seed, "setting": setting, "variant": variant, "covariance": args.covariance}
        row |= {
            "tpr": true_positive_rate(relevant, answers.selected),
            "fdr": false_discovery_rate(relevant, answers.selected),
            "accuracy": answers.accuracy,
            "penalty": stacked.fit.penalty(p),
            "mean_features": float(answers.selected.sum(1).mean()),
            "rows": args.rows,
            "seconds": stacked.seconds / len(tasks),
            "cpu_seconds": stacked.cpu_seconds / len(tasks),
        }
        rows.append(row)
    if args.evalx:
        unions = [np.array(stacked.fit.union(p)) for p in range(len(tasks))]
        scaled = [stacked.scalings[p].apply(X) for p, (X, _, _) in enumerate(test)]
        masks = {"evalx": selected, "truth": [relevant for _, _, relevant in test]}
        read = {name: only(tables, unions) for name, tables in masks.items()}
        labels = np.stack([y for _, y, _ in test])
        for name, accuracies in evalx(only(scaled, unions), labels, read, resolve_device(args.device)).items():
            for row, accuracy in zip(rows, accuracies, strict=True):
                row[name] = accuracy
    return rows


def only(tables: list[np.ndarray], unions: list[np.ndarray]) -> np.ndarray:
    """The columns that each model reads, as its audit does; models that read fewer are filled up with zeros."""
    result = np.zeros((len(tables), len(tables[0]), max(map(len, unions))), dtype=tables[0].dtype)
    for p, (table, union) in enumerate(zip(tables, unions, strict=True)):
        result[p, :, : len(union)] = table[:, union]
    return result


def evalx(x: np.ndarray, y: np.ndarray, masks: dict[str, np.ndarray], device: torch.device) -> dict[str, list[float]]:
    """Accuracies of EVAL-X for each mask, cross-fitted on the test rows: no row is judged by one that saw it."""
    rows, labels = (torch.from_numpy(each).to(device) for each in (x, y))
    shown = [torch.from_numpy(each).to(device) for each in masks.values()]
    outputs = evalx_outputs(rows.float(), labels, shown, Task(2), EVALX_STEPS, seed=0)
    hits = [100 * (output.argmax(-1) == labels).double().mean(1) for output in outputs]
    return {name: hit.tolist() for name, hit in zip(masks, hits, strict=True)}


def print_table(rows: list[dict], setting: str, variant: str) -> None:
    columns = ("tpr", "fdr", "accuracy", "evalx", "truth")
    print(f"\n{setting}, variant={variant}: mean over seeds")
    print(f"{'':6} {'seeds':>5} " + " ".join(f"{column:>8}" for column in columns) + "  target")
    for name in dict.fromkeys(row["name"] for row in rows):
        mine = [row for row in rows if row["name"] == name]
        mean = {column: np.mean([row.get(column, np.nan) for row in mine]) for column in columns}
        tpr, fdr = TARGETS[setting][name >= "syn4"]
        verdict = "met" if mean["tpr"] >= tpr and mean["fdr"] <= fdr else "missed"
        cells = " ".join(f"{mean[column]:8.2f}" for column in columns)
        print(f"{name:6} {len(mine):5d} {cells}  >= {tpr}, <= {fdr}: {verdict}")
    print(f"seconds a fit: {np.mean([row['seconds'] for row in rows]):.1f}", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--names", nargs="+", default=list(SYNTHETIC_NAMES))
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--variants", nargs="+", default=["paper", "invase"])
    parser.add_argument("--covariance", default="low-rank")
    parser.add_argument("--jobs", type=int, default=0, help="default fits side by side, a core each, instead of stacks")
    parser.add_argument("--stack", type=int, default=0, help="data sets side by side; 0: all on a GPU, one on a CPU")
    parser.add_argument("--evalx", action="store_true", help="measure EVAL-X accuracies too")
    parser.add_argument("--out", type=Path, default=Path("results/quality.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one tiny fit, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.seeds, args.names, args.settings, args.variants = 200, 1, ["syn4"], ["d=11"], ["paper"]
    return args


if __name__ == "__main__":
    main()
