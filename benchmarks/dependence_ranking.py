"""Places that rankers waste on copies, with and without a copula: honest training and the paper's own.

    python benchmarks/dependence_ranking.py --seeds 10 --jobs 16

y = 3 x1 + 1.5 x2 + .8 x3 + .5 x4 and noise, two copies at .97 of x1 and of x2, four more columns that say nothing. For
k = 4 and 3: places of a row that go to a second of one group or to nothing ("wasted"), rows that get one of each
group ("all found"), R2 of the predictions, and rows whose first feature weighs more than their last ("by worth"). Then
the paired difference of the two covariances with its 95% interval over seeds. Rows go to --out; those that are there
are not measured again.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
from dependence import difference
from rows import collect, known, missing

from sklar import CopulaRankerRegressor
from sklar.datasets import make_redundant_values

COVARIANCES = ("low-rank", "independent")
OBJECTIVES = ("honest", "joint")
COLUMNS = {
    "wasted": "wasted places per row",
    "all_found": "all found, % of rows",
    "r2": "R²",
    "by_worth": "first outweighs last, % of rows",
    "copy_correlation": "R of copies",
}
KEY = ("objective", "covariance", "k", "seed", "rows")


def measure(objective: str, covariance: str, k: int, seed: int, n: int, max_epochs: int | None) -> list[dict]:
    """One fit, and what its ranking of as many new rows is like."""
    X, y, _, _ = make_redundant_values(n, random_state=2 * seed)
    words = {"objective": objective, "covariance": covariance, "random_state": seed, "max_epochs": max_epochs}
    ranker = CopulaRankerRegressor(k=k, device="cpu", **words).fit(X, y)
    X, y, worth, groups = make_redundant_values(n, random_state=2 * seed + 1)
    ranked = ranker.rank(X)
    found = np.stack([np.isin(ranked, group).any(axis=1) for group in groups], axis=1)
    weight, correlation = worth[ranked], ranker.correlation(X)
    row = {
        "wasted": float((k - found.sum(axis=1)).mean()),
        "all_found": float(100 * (found.sum(axis=1) == min(k, len(groups))).mean()),
        "r2": float(ranker.score(X, y)),
        "by_worth": float(100 * (weight[:, 0] > weight[:, -1]).mean()),
        "copy_correlation": float(np.mean([correlation[g[0], copy] for g in groups for copy in g[1:]])),
    }
    return [dict(zip(KEY, (objective, covariance, k, seed, n), strict=True)) | row]


def table(rows: list[dict]) -> str:
    """Markdown: means over seeds, and the paired difference of the covariances with its 95% interval."""
    lines = ["| training | k | gates | " + " | ".join(COLUMNS.values()) + " |", "|---|---|---|" + "---|" * len(COLUMNS)]
    for objective, k in sorted({(row["objective"], row["k"]) for row in rows}, key=lambda one: (one[0], -one[1])):
        sides = [of_seed(rows, objective, covariance, k) for covariance in COVARIANCES]
        for covariance, side in zip(COVARIANCES, sides, strict=True):
            if side:
                means = np.mean(list(side.values()), axis=0)
                lines.append(f"| {objective} | {k} | {covariance} | " + " | ".join(f"{v:.3f}" for v in means) + " |")
        if both := sorted(sides[0].keys() & sides[1].keys()):
            changes = np.array([[a - b for a, b in zip(sides[0][s], sides[1][s], strict=True)] for s in both])
            cells = " | ".join(difference(values) for values in changes.T)
            lines.append(f"| | | difference, {len(both)} seeds | {cells} |")
    return "\n".join(lines)


def of_seed(rows: list[dict], objective: str, covariance: str, k: int) -> dict[int, list[float]]:
    """Seed -> what was measured, by column."""
    mine = (row for row in rows if (row["objective"], row["covariance"], row["k"]) == (objective, covariance, k))
    return {row["seed"]: [row[column] for column in COLUMNS] for row in mine}


def main() -> None:
    args = parse()
    rows = known(args.out)
    asked = itertools.product(
        args.objectives, args.covariances, args.k, range(args.seeds), [args.rows], [args.max_epochs]
    )
    rows += collect(measure, missing(asked, rows, KEY), args.out, args.jobs)
    print(table([row for row in rows if row["rows"] == args.rows]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--k", type=int, nargs="+", default=[4, 3])
    parser.add_argument("--objectives", nargs="+", default=list(OBJECTIVES), choices=OBJECTIVES)
    parser.add_argument("--covariances", nargs="+", default=list(COVARIANCES), choices=COVARIANCES)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--max-epochs", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("results/dependence-ranking.jsonl"))
    parser.add_argument("--quick", action="store_true", help="tiny fits, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.seeds, args.max_epochs, args.k = 200, 1, 2, [3]
    return args


if __name__ == "__main__":
    main()
