"""What each idea of honest training is worth: default fits of Syn1-6 with one idea removed in turn.

    python benchmarks/ablation.py --device cuda --seeds 5

Each row of the table is the whole method without one idea (numbers are those of docs/method.md). Ideas are taken out
from outside, so that the method itself carries no switches for them.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.experiments.honest_stack import fit_honest_stack
from sklar.training.engine.runtime import resolve_device
from sklar.training.engine.team import Share
from sklar.training.honest import fit as honest
from sklar.training.honest import selector as selector_training
from sklar.training.honest.copula_flips import CopulaFlips
from sklar.training.honest.draws import Trial
from sklar.training.honest.scoring import PenaltyRange
from sklar.training.honest.settings import HonestSettings

EXACT_GAINS = selector_training.exact_gains
FROM_PARAMS = HonestSettings.from_params


def masks_of_the_row(
    mask: Tensor, alive: Tensor, bit_flips: float, generator: torch.Generator, k: int | None, share: Share
) -> Tensor:
    """Predictors learn from the masks drawn for the very rows they see: hiding a feature can be a message."""
    return mask * alive


def rows_of_all_folds(t: Tensor) -> Tensor:
    """Predictors learn from every row, also from those they judge."""
    return t.flatten(1, 2).unsqueeze(1).expand(-1, t.shape[1], *([-1] * (t.dim() - 2)))


def straight_through(trial: Trial, index: Tensor) -> tuple[Tensor, CopulaFlips | None]:
    """The slope of the loss in the mask as drawn, where a flip would measure the difference."""
    _, pairs = EXACT_GAINS(trial, index)  # for the correlation, which learns as before
    with torch.enable_grad():
        mask = trial.draw.mask.clone().requires_grad_()
        (slope,) = torch.autograd.grad(trial.loss(trial.judge(trial.x, mask), trial.y).sum(), mask)
    return -slope.gather(-1, index), pairs


def plain_gradient(gradient: Tensor, scores: Tensor, bound: float) -> Tensor:
    """With the factor p (1 - p), and no bound."""
    p = torch.sigmoid(scores)
    return gradient * p * (1 - p)


def settings(part: str, **changes: object) -> list:
    """Other constants of one part of the settings, for every fit."""

    def from_params(*args: object) -> HonestSettings:
        usual = FROM_PARAMS(*args)
        return replace(usual, **{part: replace(getattr(usual, part), **changes)})

    return [patch.object(HonestSettings, "from_params", from_params)]


IDEAS: dict[str, Callable[[], list]] = {
    "nothing (the method)": list,
    "1 masks that say nothing": lambda: [patch.object(selector_training, "teaching_masks", masks_of_the_row)],
    "2 cross-fitting": lambda: [patch("sklar.training.honest.predictors.of_other_folds", rows_of_all_folds)],
    "3 exact flips": lambda: [patch.object(selector_training, "exact_gains", straight_through)],
    "4 natural form, bound": lambda: [patch.object(selector_training, "inward_only", plain_gradient)],
    "5 bit flips": lambda: settings("selector", bit_flips=0.0),
    "6 sparse selector": lambda: settings("selector", sparsity=0.0),
    "6 sparse selector, decay .3": lambda: settings("selector", sparsity=0.0, weight_decay=0.3),
    "a calibrated predictors": lambda: settings("predictor", weight_decay=0.0, sparsity=0.0),
    "10 the level of the scores": lambda: settings("decisions", score_thresholds=(0.0,)),
    "b final training on the path": lambda: [
        patch.object(honest, "_range_of_last_training", lambda grid, chosen: PenaltyRange(chosen, chosen))
    ],
    "c the copula": lambda: settings("selector", covariance="independent"),
    "11 gates that sharpen": lambda: settings("selector", sharpest=1.0),
    "12 evidence beyond chance": lambda: settings("decisions", score_errors=-math.inf),
}


@contextmanager
def without(idea: str) -> Iterator[None]:
    """The method with one idea removed."""
    with ExitStack() as stack:
        for each in IDEAS[idea]():
            stack.enter_context(each)
        yield


def main() -> None:
    args = parse()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    tasks = [(name, seed) for name in args.names for seed in range(args.seeds)]
    rows = []
    with args.out.open("a") as file:
        for idea in args.ideas:
            with without(idea):
                for row in measure(tasks, idea, args):
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    print_table(rows)


def measure(tasks: list[tuple[str, int]], idea: str, args: argparse.Namespace) -> list[dict]:
    train, test = (
        [
            make_synthetic(name, args.rows, args.features, args.correlation, random_state=2 * seed + part)
            for name, seed in tasks
        ]
        for part in (0, 1)
    )
    device = resolve_device(args.device)
    stack = len(tasks) if device.type == "cuda" else 1
    rows = []
    for first in range(0, len(tasks), stack):
        fitted = fit_honest_stack(train[first : first + stack], {}, device, seed=0)
        for p, (name, seed) in enumerate(tasks[first : first + stack]):
            X, y, relevant = test[first + p]
            answers = fitted.answers(p, X, y)
            rows.append(
                {
                    "without": idea,
                    "name": name,
                    "seed": seed,
                    "features": args.features,
                    "correlation": args.correlation,
                    "tpr": true_positive_rate(relevant, answers.selected),
                    "fdr": false_discovery_rate(relevant, answers.selected),
                    "accuracy": answers.accuracy,
                }
            )
    return rows


def print_table(rows: list[dict]) -> None:
    names = list(dict.fromkeys(row["name"] for row in rows))
    print("| without | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    for idea in dict.fromkeys(row["without"] for row in rows):
        cells = []
        for name in names:
            mine = [row for row in rows if (row["without"], row["name"]) == (idea, name)]
            cells.append("/".join(f"{np.mean([row[key] for row in mine]):.1f}" for key in ("tpr", "fdr")))
        print(f"| {idea} | " + " | ".join(cells) + " |", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=11)
    parser.add_argument("--correlation", type=float, default=0.0)
    parser.add_argument("--names", nargs="+", default=list(SYNTHETIC_NAMES))
    parser.add_argument("--ideas", nargs="+", default=list(IDEAS), choices=list(IDEAS), metavar="IDEA")
    parser.add_argument("--out", type=Path, default=Path("results/ablation.jsonl"))
    parser.add_argument(
        "--quick", action="store_true", help="every idea removed from one tiny fit, to see that it runs"
    )
    args = parser.parse_args()
    if args.quick:
        args.rows, args.seeds, args.names = 200, 1, ["syn4"]
    return args


if __name__ == "__main__":
    main()
