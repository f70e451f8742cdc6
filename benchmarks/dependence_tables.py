"""What the copula costs and saves on real tables: own held-out score and features per row, against independent gates.

    python benchmarks/dependence_tables.py --jobs 16                          # 5 splits of every table
    python benchmarks/dependence_tables.py --tables autos wine --splits 3
    python benchmarks/dependence_tables.py --tables --csv housing.csv:MEDV    # a table of one's own, and its target
    python benchmarks/dependence_tables.py --tables adult abalone --covariances low-rank    # what is interchangeable

Splits are 80 to 20, with the split's number as seed of the split and of both fits; accuracy for classes, R^2 for
values. Differences are paired, with their standard errors over splits. The claim: not behind by more than one standard
error on any table, with fewer features in the mean. Then which features the copula's fits call interchangeable, and in
how many splits. Rows go to --out; those that are there are not measured again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np
from rows import collect, known, missing
from sklearn.model_selection import train_test_split

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.datasets import load_table, table_names

COVARIANCES = ("low-rank", "independent")
QUICK = {"max_epochs": 5}
KEY = ("table", "split", "covariance", "quick")


def read(given: str) -> tuple:
    """X, y and the estimator of a table by name, or of FILE:TARGET."""
    if given in table_names():
        found = load_table(given)
        return found.X, found.y, estimator(found.task == "classification")
    import pandas

    path, target = given.rsplit(":", 1)
    frame = pandas.read_csv(path)
    y = frame.pop(target).to_numpy()
    return frame, y, estimator(y.dtype.kind != "f")


def named(given: str) -> str:
    """The table's name in the rows."""
    return given if given in table_names() else Path(given.rsplit(":", 1)[0]).stem


def estimator(classes: bool) -> type:
    return CopulaSelectorClassifier if classes else CopulaSelectorRegressor


def measure(name: str, split: int, covariance: str, quick: bool, given: str, device: str) -> list[dict]:
    X, y, kind = read(given)
    classes = y if kind is CopulaSelectorClassifier else None
    rows = train_test_split(np.arange(len(y)), test_size=0.2, random_state=split, stratify=classes)
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    train, test = map(take, rows)
    start = time.perf_counter()
    model = kind(covariance=covariance, random_state=split, device=device, **(QUICK if quick else {}))
    model.fit(train, y[rows[0]])
    row = {
        "score": float(100 * model.score(test, y[rows[1]])),
        "features": float(np.asarray(model.select(test)).sum(axis=1).mean()),
        "interchangeable": [list(group) for group in model.interchangeable()],
        "seconds": round(time.perf_counter() - start, 1),
    }
    return [dict(zip(KEY, (name, split, covariance, quick), strict=True)) | row]


def compared(rows: list[dict]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each table, score and features by split of the splits that both covariances have: with and without."""
    found = {}
    for name in sorted({row["table"] for row in rows}):
        sides = [
            {row["split"]: row for row in rows if (row["table"], row["covariance"]) == (name, one)}
            for one in COVARIANCES
        ]
        both = sorted(sides[0].keys() & sides[1].keys())
        if both:
            pairs = ([(side[split]["score"], side[split]["features"]) for split in both] for side in sides)
            found[name] = (np.array(next(pairs)), np.array(next(pairs)))
    return found


def table(rows: list[dict]) -> str:
    """Markdown: means over splits, and paired differences with their standard errors."""
    lines = [
        "| table | splits | score, copula | independent | difference | features, copula | independent | difference |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for name, (ours, rival) in compared(rows).items():
        change, error = ours - rival, error_of(ours - rival)
        cells = [
            f"{a:.2f} | {b:.2f} | {c:+.2f} ± {e:.2f}"
            for a, b, c, e in zip(ours.mean(0), rival.mean(0), change.mean(0), error, strict=True)
        ]
        lines.append(f"| {name} | {len(ours)} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def error_of(values: np.ndarray) -> np.ndarray:
    """Standard errors of means over splits (splits, 2): (2,)."""
    return values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.full(2, np.nan)


def groups_table(rows: list[dict]) -> str:
    """Markdown: which features are called interchangeable, and in how many of the splits."""
    lines = ["| table | splits | interchangeable (splits) |", "|---|---|---|"]
    for name in sorted({row["table"] for row in rows}):
        listed = [row["interchangeable"] for row in rows if (row["table"], row["covariance"]) == (name, COVARIANCES[0])]
        count = Counter(", ".join(group) for groups in listed for group in groups)
        said = "; ".join(f"{group} ({n})" for group, n in count.most_common())
        lines.append(f"| {name} | {len(listed)} | {said or 'none'} |")
    return "\n".join(lines)


def verdict(rows: list[dict]) -> str:
    """The claim, in one line."""
    changes = {name: ours - rival for name, (ours, rival) in compared(rows).items()}
    behind = [name for name, change in changes.items() if change[:, 0].mean() < -error_of(change)[0]]
    fewer = np.mean([change[:, 1].mean() for change in changes.values()] or [np.nan])
    return (
        f"behind by more than one standard error: {', '.join(behind) or 'none'}; "
        f"features per row, mean difference over tables: {fewer:+.2f}"
    )


def main() -> None:
    args = parse()
    rows, asked = known(args.out), [*args.tables, *args.csv]
    plans = [
        (named(given), split, covariance, args.quick, given, args.device)
        for given in asked
        for split in range(args.splits)
        for covariance in args.covariances
    ]
    rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    rows = [row for row in rows if row["table"] in set(map(named, asked)) and row["quick"] == args.quick]
    print(table(rows), verdict(rows), groups_table(rows), sep="\n\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tables", nargs="*", default=table_names(), choices=table_names(), metavar="NAME")
    parser.add_argument("--covariances", nargs="+", default=list(COVARIANCES), choices=COVARIANCES)
    parser.add_argument("--csv", nargs="*", default=[], metavar="FILE:TARGET")
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a thread each")
    parser.add_argument("--out", type=Path, default=Path("results/dependence-tables.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one table and few steps, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.splits, args.tables = 2, ["diabetes"]
    return args


if __name__ == "__main__":
    main()
