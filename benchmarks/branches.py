"""TPR and FDR of default fits on tables of the kind of Syn4-6, with other functions and up to four branches.

    python benchmarks/branches.py --seeds 1

A branch is chosen by the quantiles of the last feature (for "rare", by whether it exceeds 1.3), and has a function of
features of its own. 10,000 rows to train on and as many others to test on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.stats import norm

from sklar import CopulaSelectorClassifier
from sklar.metrics import false_discovery_rate, true_positive_rate

FUNCTIONS: tuple[tuple[int, Callable], ...] = (
    (2, lambda a, b: 2 * a * b),
    (3, lambda a, b, c: a**2 + b**2 + c**2 - 3),
    (2, lambda a, b: 2 * np.sin(2 * a) + 1.5 * b),
    (2, lambda a, b: 2 * np.abs(a) - 1.6 + b),
)
THRESHOLDS = {"two": [0.0], "rare": [1.3], "three": norm.ppf([1 / 3, 2 / 3]), "four": norm.ppf([0.25, 0.5, 0.75])}
TABLES = {"15": (15, 0.0), "15 correlated": (15, 0.5), "100": (100, 0.0)}  # features, correlation of neighbours


def draw(kind: str, n: int, d: int, correlation: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y and which features decide each row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + (1 - correlation**2) ** 0.5 * X[:, j]
    branch = np.searchsorted(THRESHOLDS[kind], X[:, -1])
    logit, relevant, first = np.zeros(n), np.zeros((n, d), dtype=bool), 0
    relevant[:, -1] = True
    for number in range(len(THRESHOLDS[kind]) + 1):
        width, function = FUNCTIONS[number]
        rows, columns = np.flatnonzero(branch == number), np.arange(first, first + width)
        logit[rows] = function(*X[np.ix_(rows, columns)].T)
        relevant[np.ix_(rows, columns)] = True
        first += width
    return X, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int), relevant


def main() -> None:
    args = parse()
    print("| branches | features | seed | TPR/FDR |\n|---|---|---|---|")
    for kind in args.kinds:
        for table in args.tables:
            for seed in range(args.seeds):
                X, y, relevant = draw(kind, 2 * args.rows, *TABLES[table], seed)
                model = CopulaSelectorClassifier(random_state=seed).fit(X[: args.rows], y[: args.rows])
                chosen, truth = model.select(X[args.rows :]), relevant[args.rows :]
                found = f"{true_positive_rate(truth, chosen):.1f}/{false_discovery_rate(truth, chosen):.1f}"
                print(f"| {kind} | {table} | {seed} | {found} |", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--kinds", nargs="+", default=list(THRESHOLDS), choices=list(THRESHOLDS))
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--quick", action="store_true", help="one tiny fit, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.kinds, args.tables = 200, ["four"], ["15"]
    return args


if __name__ == "__main__":
    main()
