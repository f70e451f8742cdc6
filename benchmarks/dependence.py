"""What the copula buys: redundant copies dropped, nothing lost elsewhere; the difference to independent gates.

    python benchmarks/dependence.py --device cuda --seeds 10

For each data set and kind of gates: how often more than one member of a redundant group is kept for a row that needs
one of them, whether one is, how often all are where all are needed, TPR and FDR, and the correlation of the group's
gates. Then the paired difference of the copula to each of the others with its 95% interval over seeds.

Only a copula's gates say which features exclude each other, so independent gates keep several. To tell the gates from
the rule that keeps one of several substitutes, independent gates are also given that rule for features whose values are
alike: as it stands for such features (`RULE`), and with the limits that only excluding gates have (`FREE_RULE`).

    python benchmarks/dependence.py --device cuda --seeds 10 --arms "independent, rule" "independent, free rule"

Copies of rankers: `dependence_ranking.py`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from scipy.stats import t as student

from sklar.datasets import (
    SYNTHETIC_NAMES,
    make_interaction,
    make_redundant,
    make_redundant_in_part,
    make_synthetic,
)
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.experiments.honest_stack import fit_honest_stack
from sklar.training.engine.runtime import resolve_device
from sklar.training.honest import deciding, substitutes

N_FEATURES = 12
COPULA, ALONE, RULE, FREE_RULE = "low-rank", "independent", "independent, rule", "independent, free rule"
ARMS = (COPULA, ALONE, RULE, FREE_RULE)


@dataclass(frozen=True)
class NoCorrelation:
    """Of gates that are independent, for a rule that asks for their correlation."""

    alive: torch.Tensor  # (P, d)

    def root(self) -> torch.Tensor:
        """R = root root^T off the diagonal: (P, d, 1)."""
        return torch.zeros_like(self.alive, dtype=torch.float32).unsqueeze(-1)


def of_alike_values(selector: Any, *words: Any) -> torch.Tensor:
    """`find_substitutes` of independent gates: features whose values are alike are tried."""
    return substitutes.find_substitutes(replace(selector, correlation=NoCorrelation(selector.alive)), *words)


def always_clear(after: Any, before: Any, folds: Any, unit: Any, clear: torch.Tensor, settings: Any) -> torch.Tensor:
    """`costs_little` with the limits of gates that exclude each other."""
    return LIMITS(after, before, folds, unit, torch.ones_like(clear), settings)


LIMITS = substitutes.costs_little


@contextmanager
def gates_of(arm: str) -> Iterator[str]:
    """The covariance of an arm, with its rule for substitutes."""
    rule = of_alike_values if arm in (RULE, FREE_RULE) else deciding.find_substitutes
    limits = always_clear if arm == FREE_RULE else LIMITS
    with patch.object(deciding, "find_substitutes", rule), patch.object(substitutes, "costs_little", limits):
        yield COPULA if arm == COPULA else ALONE


def suites() -> dict:
    """name -> a function of (rows, seed) that draws X, y, relevant and a group of columns (or None)."""
    made = {}
    for switch, where in ((True, ""), (False, " global")):
        for rho in (0.9, 0.97, 0.99):
            words = {"n_features": N_FEATURES, "copy_correlation": rho, "switch": switch}
            made[f"redundant {rho}{where}"] = maker(make_redundant, words)
        for order in (2, 3):
            words = {"n_features": N_FEATURES, "order": order, "switch": switch}
            made[f"interaction {order}{where}"] = maker(make_interaction, words)
    for rho in (0.97, 0.99):
        made[f"in part {rho}"] = maker(make_redundant_in_part, {"n_features": N_FEATURES, "copy_correlation": rho})
    for name in SYNTHETIC_NAMES:
        made[f"{name} correlated"] = maker(make_synthetic, {"name": name, "n_features": N_FEATURES, "correlation": 0.5})
    return made


def maker(function, words: dict):
    def draw(n: int, seed: int) -> tuple:
        made = function(n_samples=n, random_state=seed, **words)
        return made if len(made) == 4 else (*made, None)

    return draw


def main() -> None:
    args = parse()
    device = resolve_device(args.device)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    tasks = [(name, seed) for name in args.names for seed in range(args.seeds)]
    stack = args.stack or (len(tasks) if device.type == "cuda" else 1)
    rows = []
    with args.out.open("a") as file:
        for first in range(0, len(tasks), stack):
            for arm in args.arms:
                for row in measure(tasks[first : first + stack], arm, args.rows, device):
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    print_table(rows)


def measure(tasks: list[tuple[str, int]], arm: str, n: int, device: torch.device) -> list[dict]:
    makers = suites()
    data = [makers[name](n, 2 * seed) for name, seed in tasks]
    with gates_of(arm) as covariance:
        stacked = fit_honest_stack(data, {"covariance": covariance}, device, seed=tasks[0][1])
    rows = []
    for p, (name, seed) in enumerate(tasks):
        X, y, relevant, group = makers[name](n, 2 * seed + 1)
        answers = stacked.answers(p, X, y)
        row = {"name": name, "seed": seed, "covariance": arm, "accuracy": answers.accuracy}
        row |= {
            "tpr": true_positive_rate(relevant, answers.selected),
            "fdr": false_discovery_rate(relevant, answers.selected),
        }
        if group is not None:
            row |= of_group(answers.selected[:, group], relevant[:, group])
            row |= {"gate_correlation": float(answers.gate_correlation[group[0], group[1]])}
        rows.append(row)
    return rows


def of_group(selected: np.ndarray, relevant: np.ndarray) -> dict[str, float]:
    """What rows that need one of a group get of it, and what those get that need all: percent."""
    needs_all = relevant.all(axis=1)
    needs_one = relevant[:, 0] & ~needs_all if (~needs_all & relevant[:, 0]).any() else relevant[:, 0]
    kept = selected.sum(axis=1)
    row = {
        "more_than_one": float(100 * (kept[needs_one] > 1).mean()),
        "at_least_one": float(100 * (kept[needs_one] > 0).mean()),
    }
    return row | ({"all_needed": float(100 * selected[needs_all].all(axis=1).mean())} if needs_all.any() else {})


COLUMNS = ("more_than_one", "at_least_one", "all_needed", "gate_correlation", "tpr", "fdr", "accuracy")


def print_table(rows: list[dict]) -> None:
    print(f"{'':22} {'gates':22} " + " ".join(f"{column:>16}" for column in COLUMNS))
    for name in dict.fromkeys(row["name"] for row in rows):
        found = {arm: columns_of(rows, name, arm) for arm in ARMS}
        found = {arm: table for arm, table in found.items() if len(table["tpr"])}
        for arm, table in found.items():
            print(f"{name:22} {arm:22} " + " ".join(f"{table[column].mean():16.2f}" for column in COLUMNS))
        for arm, table in found.items():
            if arm != COPULA and COPULA in found:
                cells = [difference(found[COPULA][column] - table[column]) for column in COLUMNS]
                print(f"{'copula, difference to':>22} {arm:22} " + " ".join(f"{cell:>16}" for cell in cells))


def columns_of(rows: list[dict], name: str, arm: str) -> dict[str, np.ndarray]:
    mine = [row for row in rows if (row["name"], row["covariance"]) == (name, arm)]
    return {column: np.array([row.get(column, np.nan) for row in mine]) for column in COLUMNS}


def difference(values: np.ndarray) -> str:
    """Mean and half-width of the 95% interval of paired differences."""
    if len(values) < 2:
        return f"{values.mean():.2f}"
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    return f"{values.mean():.2f} ± {half:.2f}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--names", nargs="+", default=list(suites()), choices=list(suites()), metavar="NAME")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS, metavar="GATES", help=", ".join(ARMS))
    parser.add_argument("--stack", type=int, default=0, help="data sets side by side; 0: all on a GPU, one on a CPU")
    parser.add_argument("--out", type=Path, default=Path("results/dependence.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one tiny pair of fits, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.seeds, args.names = 200, 1, ["redundant 0.97"]
    return args


if __name__ == "__main__":
    main()
