"""What the copula buys: redundant copies dropped, nothing lost elsewhere; the difference to independent gates.

    python benchmarks/dependence.py --device cuda --seeds 10
    python benchmarks/dependence.py --device cpu --seeds 10 --jobs 16

For each data set and kind of gates: how often more than one member of a redundant group is kept for a row that needs
one of them, whether one is, how often all are where all are needed, TPR and FDR, and the correlation of the group's
gates. Then the paired difference of the copula to independent gates with its 95% interval over seeds.

Only a copula's gates say which features exclude each other, so independent gates keep several. To tell the gates from
the rule that keeps one of several substitutes, independent gates are also given that rule for features whose values are
alike: as it stands for such features (`RULE`), and with the limits that only excluding gates have (`FREE_RULE`).

Copies of rankers: `dependence_ranking.py`. Rows go to --out; those that are there are not measured again, so take
another file for another version.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from rows import collect, known
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
COVARIANCES = (COPULA, ALONE)
ARMS = (*COVARIANCES, RULE, FREE_RULE)
RULE_COLUMNS = ("more_than_one", "tpr", "fdr")
# Of a column: its heading, and whether both means are given beside their difference.
COLUMNS = {
    "more_than_one": ("several kept, %: copula / independent, difference", True),
    "at_least_one": ("one kept, difference", False),
    "all_needed": ("all kept where all are needed, %", True),
    "tpr": ("TPR, difference", False),
    "fdr": ("FDR, difference", False),
    "accuracy": ("accuracy, difference", False),
}


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


def always_clear(after: Any, before: Any, folds: Any, unit: Any, clear: torch.Tensor, *more: Any) -> torch.Tensor:
    """`costs_little` with the limits of gates that exclude each other."""
    return LIMITS(after, before, folds, unit, torch.ones_like(clear), *more)


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
    rows = known(args.out)
    asked = [(name, seed) for name in args.names for seed in range(args.seeds)]
    stack = args.stack or (len(asked) if resolve_device(args.device).type == "cuda" else 1)
    plans = []
    for arm in args.arms:
        done = {(row["name"], row["seed"]) for row in rows if row["covariance"] == arm}
        tasks = [task for task in asked if task not in done]
        parts = (tasks[first : first + stack] for first in range(0, len(tasks), stack))
        plans += [(part, arm, args.rows, args.device) for part in parts]
    rows += collect(measure, plans, args.out, args.jobs)
    rows = [row for row in rows if row["name"] in args.names]
    print(table(rows), rule_table(rows), sep="\n\n")


def measure(tasks: list[tuple[str, int]], arm: str, n: int, device: str) -> list[dict]:
    makers = suites()
    data = [makers[name](n, 2 * seed) for name, seed in tasks]
    with gates_of(arm) as covariance:
        stacked = fit_honest_stack(data, {"covariance": covariance}, resolve_device(device), seed=tasks[0][1])
    rows = []
    for p, (name, seed) in enumerate(tasks):
        X, y, relevant, group = makers[name](n, 2 * seed + 1)
        answers = stacked.answers(p, X, y)
        row = {"name": name, "seed": seed, "covariance": arm, "rows": n, "accuracy": answers.accuracy}
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


def table(rows: list[dict]) -> str:
    """Markdown: means over the seeds that both covariances have, and paired differences with 95% intervals."""
    lines = ["| data | seeds | R | " + " | ".join(label for label, _ in COLUMNS.values()) + " |"]
    lines.append("|---|---|---|" + "---|" * len(COLUMNS))
    for name in (name for name in suites() if any(row["name"] == name for row in rows)):
        sides = [
            {row["seed"]: row for row in rows if (row["name"], row["covariance"]) == (name, one)} for one in COVARIANCES
        ]
        seeds = sorted(sides[0].keys() & sides[1].keys())
        values = {
            column: np.array([[side[seed].get(column, np.nan) for seed in seeds] for side in sides])
            for column in ("gate_correlation", *COLUMNS)
        }
        correlation = values.pop("gate_correlation")[0].mean()
        cells = [cell(values[column], whole) for column, (_, whole) in COLUMNS.items()]
        said = "" if np.isnan(correlation) else f"{correlation:.2f}"
        lines.append(f"| {name} | {len(seeds)} | {said} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rule_table(rows: list[dict]) -> str:
    """Markdown: of data with copies, several kept / TPR / FDR in percent of every arm, over the seeds that all have."""
    rows = [row for row in rows if "more_than_one" in row]
    lines = [
        "| data, several kept / TPR / FDR, % | seeds | " + " | ".join(ARMS) + " |",
        "|---|---|" + "---|" * len(ARMS),
    ]
    for name in (name for name in suites() if any(row["name"] == name for row in rows)):
        of_arm = [{row["seed"]: row for row in rows if (row["name"], row["covariance"]) == (name, arm)} for arm in ARMS]
        if seeds := sorted(set.intersection(*(set(found) for found in of_arm))):
            cells = [
                " / ".join(f"{np.mean([found[seed][what] for seed in seeds]):.1f}" for what in RULE_COLUMNS)
                for found in of_arm
            ]
            lines.append(f"| {name} | {len(seeds)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(pair: np.ndarray, whole: bool) -> str:
    """The covariances' means (2, seeds) and their difference, or the difference alone; empty where there are none."""
    if np.isnan(pair).all():
        return ""
    means = f"{pair[0].mean():.1f} / {pair[1].mean():.1f}, " if whole else ""
    return means + difference(pair[0] - pair[1])


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
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=ARMS, metavar="GATES", help="; ".join(ARMS))
    parser.add_argument("--stack", type=int, default=0, help="data sets side by side; 0: all on a GPU, one on a CPU")
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a thread each (on a CPU)")
    parser.add_argument("--out", type=Path, default=Path("results/dependence.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one tiny pair of fits, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.seeds, args.names = 200, 1, ["redundant 0.97"]
    return args


if __name__ == "__main__":
    main()
