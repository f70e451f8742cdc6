"""What a default fit selects where there is nothing to find, and where labels have no noise.

    python benchmarks/noise.py                       # everything, 10 draws each
    python benchmarks/noise.py --cases 300x200 decided-by-2 --draws 3 --jobs 2
    python benchmarks/noise.py --table               # the rows as Markdown

Cases RxC are pure noise, R rows of C features, with classes and with values: nothing should be selected. In cases
`decided-by-M` the first M of 9 columns decide the class without noise, 1,500 rows: these and no others should be
selected. One JSON row per fit goes to --out; rows that are there are not measured again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor

NOISE = ("300x200", "50x5000", "1000x50")
DECIDED = ("decided-by-1", "decided-by-2", "decided-by-3")
FIRST_SEED = 2000  # the draws from 1000 on chose the level of the test and the rule for strengths


def draw(case: str, target: str, number: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows, their target, and how many of the first columns decide it."""
    rng = np.random.default_rng(FIRST_SEED + number)
    if case in NOISE:
        n, d = map(int, case.split("x"))
        return rng.standard_normal((n, d)), rng.integers(0, 2, n) if target == "classes" else rng.standard_normal(n), 0
    deciding = int(case[-1])
    if deciding == 1:
        y = rng.integers(0, 2, 1500)
        return np.column_stack([2 * y - 1, rng.standard_normal((1500, 8))]), y, 1
    X = rng.standard_normal((1500, 9))
    return X, (X[:, :deciding].sum(axis=1) > 0).astype(int), deciding


def measure(case: str, target: str, number: int) -> dict[str, Any]:
    """One fit: how often the columns that decide are selected, and any others."""
    torch.set_num_threads(1)
    X, y, deciding = draw(case, target, number)
    estimator = CopulaSelectorClassifier if target == "classes" else CopulaSelectorRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing can be shown
        shares = estimator(random_state=number).fit(X, y).select(X).mean(axis=0)
    return {
        "case": case,
        "target": target,
        "draw": number,
        "deciding": [round(float(share), 4) for share in shares[:deciding]],
        "others": round(float(shares[deciding:].sum()), 4),
    }


def as_it_should_be(row: dict[str, Any]) -> bool:
    """The deciding columns for 95% of the rows and more, and hardly anything else."""
    return all(share >= 0.95 for share in row["deciding"]) and row["others"] <= (0.05 if row["deciding"] else 0.0)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: fits as they should be, of all."""
    lines = ["| case | target | fits | as they should be |", "|---|---|---|---|"]
    for case, target in sorted({(row["case"], row["target"]) for row in rows}):
        these = [row for row in rows if (row["case"], row["target"]) == (case, target)]
        lines.append(f"| {case} | {target} | {len(these)} | {sum(map(as_it_should_be, these))} |")
    return "\n".join(lines)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[*NOISE, *DECIDED], choices=[*NOISE, *DECIDED])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/noise.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the rows, and measure nothing")
    args = parser.parse_args(arguments)
    if not args.table:
        done = {(row["case"], row["target"], row["draw"]) for row in rows_of(args.out)}
        targets = {case: ("classes", "values") if case in NOISE else ("classes",) for case in args.cases}
        wanted = [(c, t, i) for c in args.cases for t in targets[c] for i in range(args.draws) if (c, t, i) not in done]
        fits = Parallel(n_jobs=args.jobs, return_as="generator_unordered")(delayed(measure)(*one) for one in wanted)
        for row in fits:
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    print(table(rows_of(args.out)))


if __name__ == "__main__":
    main()
