"""Substitutes for some rows, both needed by others, beyond the case that `dependence.py` measures.

    python benchmarks/in_part.py --jobs 2
    python benchmarks/in_part.py --table                        # Markdown, from the rows

Default selectors, 8,000 rows to learn from and as many others. `threshold` is `make_redundant_in_part`: x7 repeats x2
where x10 < 0. `values` are the same rows with a value for a target; in `band` a feature repeats another where a third
is within .7 of 0, and elsewhere they work against each other. Shares of rows in percent: of those that need one of the
two and get both, and of those that need both and do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rows import collect, known, missing

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.datasets import make_redundant_in_part

CASES = ("threshold", "values", "band")
KEY = ("case", "seed")
ROWS = 16_000


def draw(case: str, seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """X, y, which rows need both, and the two features."""
    if case != "band":
        X, y, _, group = make_redundant_in_part(n, copy_correlation=0.97, random_state=seed)
        both = X[:, 9] >= 0
        if case == "values":
            value = np.where(both, 2 * X[:, 1] + 2 * X[:, 6], 3 * X[:, 1])
            y = value + np.random.default_rng(seed + 50).standard_normal(n)
        return X, y, both, group
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 15))
    both = np.abs(X[:, 5]) >= 0.7
    X[~both, 9] = 0.98 * X[~both, 3] + np.sqrt(1 - 0.98**2) * X[~both, 9]
    log_odds = np.where(both, 2 * X[:, 3] - 2 * X[:, 9], 3 * X[:, 3])
    y = rng.random(n) < 1 / (1 + np.exp(-log_odds))
    return X, y.astype(int), both, [3, 9]


def measure(case: str, seed: int, n: int, max_epochs: int | None) -> list[dict]:
    X, y, both, group = draw(case, seed, n)
    cls = CopulaSelectorRegressor if case == "values" else CopulaSelectorClassifier
    model = cls(random_state=seed, max_epochs=max_epochs).fit(X[: n // 2], y[: n // 2])
    X, y, both = X[n // 2 :], y[n // 2 :], both[n // 2 :]
    kept = model.select(X)[:, group]
    shares = {"both_kept": kept[~both].all(1), "one_kept": kept[~both].any(1), "both_shown": kept[both].all(1)}
    row = {name: round(100 * float(share.mean()), 2) for name, share in shares.items()}
    return [dict(zip(KEY, (case, seed), strict=True)) | row | {"score": round(100 * model.score(X, y), 1)}]


def table(rows: list[dict]) -> str:
    """Means over seeds."""
    lines = [
        "| case | seeds | one would do, both kept | one kept | both needed and shown | score |",
        "|---|---|---|---|---|---|",
    ]
    for case in CASES:
        if of_case := [row for row in rows if row["case"] == case]:
            columns = ("both_kept", "one_kept", "both_shown", "score")
            means = [f"{np.mean([row[column] for row in of_case]):.1f}" for column in columns]
            lines.append(f"| {case} | {len(of_case)} | " + " | ".join(means) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/in-part.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the rows, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="tiny fits, to see that it runs")
    args = parser.parse_args()
    rows = known(args.out)
    size = (400, 2) if args.quick else (ROWS, None)
    plans = [(case, seed, *size) for case in CASES for seed in range(args.seeds)]
    if not args.table:
        rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table(rows))


if __name__ == "__main__":
    main()
