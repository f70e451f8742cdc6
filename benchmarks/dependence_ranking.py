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
import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from dependence import difference

from sklar import CopulaRankerRegressor
from sklar.datasets import make_redundant_values
from sklar.paper.experiments.environment import commit

COVARIANCES = ("low-rank", "independent")
OBJECTIVES = ("honest", "joint")
COLUMNS = ("wasted", "all_found", "r2", "by_worth", "copy_correlation")
KEY = ("objective", "covariance", "k", "seed", "rows")


def measure(objective: str, covariance: str, k: int, seed: int, n: int, max_epochs: int | None) -> dict:
    """One fit, and what its ranking of as many new rows is like."""
    X, y, _, _ = make_redundant_values(n, random_state=2 * seed)
    words = {"objective": objective, "covariance": covariance, "random_state": seed, "max_epochs": max_epochs}
    ranker = CopulaRankerRegressor(k=k, device="cpu", **words).fit(X, y)
    X, y, worth, groups = make_redundant_values(n, random_state=2 * seed + 1)
    ranked = ranker.rank(X)
    found = np.stack([np.isin(ranked, group).any(axis=1) for group in groups], axis=1)
    weight, correlation = worth[ranked], ranker.correlation(X)
    return dict(zip(KEY, (objective, covariance, k, seed, n), strict=True)) | {
        "wasted": float((k - found.sum(axis=1)).mean()),
        "all_found": float(100 * (found.sum(axis=1) == min(k, len(groups))).mean()),
        "r2": float(ranker.score(X, y)),
        "by_worth": float(100 * (weight[:, 0] > weight[:, -1]).mean()),
        "copy_correlation": float(np.mean([correlation[g[0], copy] for g in groups for copy in g[1:]])),
    }


def plans(args: argparse.Namespace, done: set[tuple]) -> list[tuple]:
    asked = itertools.product(args.objectives, COVARIANCES, args.k, range(args.seeds), [args.rows])
    return [(*plan, args.max_epochs) for plan in asked if plan not in done]


def print_table(rows: list[dict]) -> None:
    print(f"{'':10} {'k':>2} {'gates':12} " + " ".join(f"{column:>18}" for column in COLUMNS))
    for objective, k in sorted({(row["objective"], row["k"]) for row in rows}):
        sides = []
        for covariance in COVARIANCES:
            mine = sorted(
                (r for r in rows if (r["objective"], r["covariance"], r["k"]) == (objective, covariance, k)),
                key=lambda row: row["seed"],
            )
            sides.append({column: np.array([row[column] for row in mine]) for column in COLUMNS})
            cells = " ".join(f"{sides[-1][column].mean():18.3f}" for column in COLUMNS)
            print(f"{objective:10} {k:2} {covariance:12} {cells}")
        cells = [difference(sides[0][column] - sides[1][column]) for column in COLUMNS]
        print(f"{'':10} {'':2} {'difference':12} " + " ".join(f"{cell:>18}" for cell in cells))


def main() -> None:
    args = parse()
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes below: one fit a core
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in args.out.open()] if args.out.exists() else []
    todo = plans(args, {tuple(row[key] for key in KEY) for row in rows})
    version = commit()
    with args.out.open("a") as file, ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        for row in pool.map(measure, *zip(*todo, strict=True)) if todo else ():
            rows.append(row)
            file.write(json.dumps(row | {"commit": version}) + "\n")
            file.flush()
    print_table([row for row in rows if row["rows"] == args.rows])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--k", type=int, nargs="+", default=[4, 3])
    parser.add_argument("--objectives", nargs="+", default=list(OBJECTIVES), choices=OBJECTIVES)
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
