"""The paper's joint training on Syn1-6: what each choice does that the paper leaves open, at every lambda.

    python benchmarks/joint_ablation.py --quick                                      # a minute: does it run?
    python benchmarks/joint_ablation.py --readings all --seeds 2 --out rows.jsonl    # one choice changed at a time
    python benchmarks/joint_ablation.py --readings paper --folds --out rows.jsonl    # and lambda by 5-fold CV
    python benchmarks/joint_ablation.py --table rows.jsonl                           # for docs/reproduction.md

One row is one model: a reading of the paper, a version of the data, a data set, a seed and a lambda, with TPR and FDR
on other rows and, with --folds, the held-out loss of 5-fold cross-validation. All models of a reading train side by
side. Rows that are there already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.experiments.joint_stack import JOINT_DEFAULTS, JointStack, fold_losses, stacked, trained
from sklar.paper.experiments.methods import PAPER_SYNTHETIC
from sklar.paper.experiments.results import published
from sklar.training.engine.runtime import DEVICES, resolve_device
from sklar.training.joint.fit import Rows
from sklar.training.penalty_path import penalty_grid

# What is changed of the first reading.
READINGS: dict[str, dict[str, Any]] = {
    "paper": {},
    "rounded mask": {"mask": "rounded"},
    "ReLU": {"activation": "relu"},
    "t = 5": {"temperature": 5.0},
    "one hidden layer": {"n_layers": 1},
    "full-rank": {"covariance": "full"},
    "no copula": {"covariance": "independent"},
    "rounded mask, ReLU": {"mask": "rounded", "activation": "relu"},
}
SETTINGS = {"d=11": (11, 0.0), "d=100": (100, 0.0), "d=100 correlated": (100, 0.5)}
PUBLISHED = {"d=11": "table-11d", "d=100": "table-100d", "d=100 correlated": "table-correlated"}
FORMULAS = {"paper": "the paper's formulas", "invase": "INVASE's formulas"}
LAMBDA = {"cv": "cross-validated", "hindsight": "in hindsight"}
N_PENALTIES = 8
CLOSE = 5.0  # points of TPR and of FDR

Cell = tuple[float, float]  # TPR, FDR


class Problem(NamedTuple):
    """One draw of one data set."""

    variant: str  # the paper's formulas, or those of the INVASE authors' code
    dataset: str
    seed: int


def params_of(reading: str, epochs: int) -> dict[str, Any]:
    """The parameters of a reading: the paper's appendix, and one choice."""
    return {**JOINT_DEFAULTS, **dict(PAPER_SYNTHETIC), **READINGS[reading], "max_epochs": epochs}


def measure(reading: str, setting: str, problems: list[Problem], options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for every problem and lambda."""
    device, params = resolve_device(options.device), params_of(reading, options.epochs)
    train, test = ([draw(problem, setting, options.rows, part) for problem in problems] for part in (0, 1))
    start = time.perf_counter()
    scalings, rows, task = stacked([(X, y) for X, y, _ in train], params, device)
    grid = penalty_grid(float(np.log(2)), N_PENALTIES)
    every = Rows(*(part.repeat_interleave(len(grid), 0) for part in (rows.x, rows.y)))
    model = trained(every, task, grid * len(problems), params, options.first_seed).eval()
    stack = JointStack(model, [s for s in scalings for _ in grid], grid * len(problems), 0.0)
    held = fold_losses(rows, task, params, grid, options.first_seed) if options.folds else None
    if device.type == "cuda":
        torch.cuda.synchronize()
    common = {"reading": reading, "setting": setting, "epochs": options.epochs, "rows": options.rows}
    common |= {"device": device.type, "side_by_side": len(every.x), "seconds": time.perf_counter() - start}
    found = []
    for (p, problem), (g, penalty) in product(enumerate(problems), enumerate(grid)):
        X, y, relevant = test[p]
        answers = stack.answers(p * len(grid) + g, X, y)
        found.append(
            {
                **common,
                **problem._asdict(),
                "penalty": penalty,
                "tpr": true_positive_rate(relevant, answers.selected),
                "fdr": false_discovery_rate(relevant, answers.selected),
                "features": float(answers.selected.sum(1).mean()),
                "accuracy": answers.accuracy,
                "cv_loss": None if held is None else float(held[p, g]),
            }
        )
    return found


def draw(problem: Problem, setting: str, n_rows: int, part: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows to train on (part 0) or to test on (1), of other draws."""
    d, correlation = SETTINGS[setting]
    seed = 2 * problem.seed + part
    return make_synthetic(problem.dataset, n_rows, d, correlation, variant=problem.variant, random_state=seed)


def chosen(rows: list[dict[str, Any]], by: str) -> dict[str, Any]:
    """Of the lambdas of one problem that of the lowest cross-validated loss or, in hindsight, the largest TPR - FDR."""
    key = (lambda row: row["cv_loss"]) if by == "cv" else (lambda row: row["fdr"] - row["tpr"])
    return min(rows, key=key)


def table(rows: list[dict[str, Any]]) -> str:
    """TPR/FDR by setting, data and reading, the mean over seeds, with lambda by CV and in hindsight.

    The last column counts the data sets on which neither is more than 5 points worse than what the paper prints.
    """
    heads = ["data", "reading", "lambda", "seeds", *map(str.capitalize, SYNTHETIC_NAMES), "at most 5 points worse"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for setting, variant in dict.fromkeys((row["setting"], row["variant"]) for row in rows):
        printed = published_cells(setting)
        data = f"{setting.replace('=', ' = ')}, {FORMULAS[variant]}"
        lines.append(f"| {data} | *published* | | | " + " | ".join(map(text_of, printed)) + " | |")
        here = [row for row in rows if (row["setting"], row["variant"]) == (setting, variant)]
        for reading, by in product(dict.fromkeys(row["reading"] for row in here), LAMBDA):
            some = [row for row in here if row["reading"] == reading and (by != "cv" or row["cv_loss"] is not None)]
            if some:
                cells = [cell([row for row in some if row["dataset"] == name], by) for name in SYNTHETIC_NAMES]
                start = f"| {data} | {reading} | {LAMBDA[by]} | {len({row['seed'] for row in some})} | "
                lines.append(start + " | ".join(map(text_of, cells)) + f" | {n_reached(cells, printed)} |")
    return "\n".join(lines)


def published_cells(setting: str) -> list[Cell]:
    """TPR and FDR of the paper's own row."""
    numbers = published()
    of_row = [(PUBLISHED[setting], "Ours", name) for name in SYNTHETIC_NAMES]
    return [(numbers[table, row, f"{name} TPR"], numbers[table, row, f"{name} FDR"]) for table, row, name in of_row]


def cell(rows: list[dict[str, Any]], by: str) -> Cell | None:
    """Mean TPR and FDR over the seeds of one data set."""
    if not rows:
        return None
    seeds = dict.fromkeys(row["seed"] for row in rows)
    best = [chosen([row for row in rows if row["seed"] == seed], by) for seed in seeds]
    tpr, fdr = (float(np.mean([row[what] for row in best])) for what in ("tpr", "fdr"))
    return tpr, fdr


def text_of(cell: Cell | None) -> str:
    """TPR/FDR as printed."""
    return "" if cell is None else f"{cell[0]:.1f}/{cell[1]:.1f}"


def n_reached(cells: list[Cell | None], printed: list[Cell]) -> str:
    """On how many of the data sets measured neither number is much worse than the one printed."""
    measured = [(mine, theirs) for mine, theirs in zip(cells, printed, strict=True) if mine is not None]
    reached = [mine[0] >= theirs[0] - CLOSE and mine[1] <= theirs[1] + CLOSE for mine, theirs in measured]
    return f"{sum(reached)} of {len(reached)}"


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure what is missing, or print the table of rows."""
    options = parse(arguments)
    if options.table:
        print(table([row for path in options.table for row in rows_of(path)]))
        return []
    done = {key(row) for row in rows_of(options.out)}
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    problems = [Problem(*one) for one in product(options.data, options.datasets, seeds)]
    rows = []
    for setting, reading in product(options.settings, options.readings):
        wanted = [one for one in problems if (reading, setting, options.folds, *one) not in done]
        for part in (wanted[i : i + options.stack] for i in range(0, len(wanted), options.stack)):
            rows += measure(reading, setting, part, options)
            print(f"{setting}, {reading}: {len(part)} problems, {rows[-1]['seconds']:.0f} s", flush=True)
            if options.out:
                with options.out.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows[-len(part) * N_PENALTIES :])
    print(table(rows))
    return rows


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readings", nargs="+", default=["all"], choices=[*READINGS, "all"], metavar="READING")
    parser.add_argument("--settings", nargs="+", default=["d=11"], choices=list(SETTINGS))
    parser.add_argument("--data", nargs="+", default=["paper", "invase"], choices=["paper", "invase"])
    parser.add_argument("--datasets", nargs="+", default=list(SYNTHETIC_NAMES), choices=SYNTHETIC_NAMES)
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--folds", action="store_true", help="cross-validate lambda too: five more models each")
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=10_000, help="to train on, and as many to test on")
    parser.add_argument("--stack", type=int, default=10_000, help="problems side by side, at most")
    parser.add_argument("--device", choices=DEVICES, default="auto")
    parser.add_argument("--quick", action="store_true", help="Syn1 and Syn4, 300 rows, 2 epochs")
    parser.add_argument("--out", type=Path, help="file to append rows to, as JSON lines")
    parser.add_argument("--table", nargs="+", type=Path, metavar="FILE", help="only print their table")
    options = parser.parse_args(arguments)
    if options.quick:
        options.epochs, options.rows, options.datasets = 2, 300, ["syn1", "syn4"]
    if "all" in options.readings:
        options.readings = list(READINGS)
    return options


def rows_of(path: Path | None) -> list[dict[str, Any]]:
    """The rows that a file holds; none if there is no such file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []


def key(row: dict[str, Any]) -> tuple:
    """What tells a problem's rows from others."""
    return row["reading"], row["setting"], row["cv_loss"] is not None, row["variant"], row["dataset"], row["seed"]


if __name__ == "__main__":
    main()
