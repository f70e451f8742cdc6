"""Whether boosted trees agree that one of two features would do: without either, and without both.

    SKLAR_DATA=... python benchmarks/stand_ins.py

LightGBM on all columns, on all but one of a pair, and on all but both: accuracy, or R^2, in percent, means of five
splits (80 to 20) with their standard errors. Of two that stand for each other either may go, and both may not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier, LGBMRegressor
from rows import collect, known, missing
from sklearn.model_selection import train_test_split

from sklar.datasets import load_table

PAIRS = (
    ("abalone", "whole weight", "shell weight"),
    ("abalone", "shucked weight", "whole weight"),
    ("abalone", "shucked weight", "shell weight"),
    ("segment", "exgreen-mean", "hue-mean"),
    ("wine-quality-white-value", "density", "alcohol"),
    ("adult", "marital-status", "relationship"),
)
KEY = ("table", "first", "second")
TREES = {"n_estimators": 150, "learning_rate": 0.05, "num_leaves": 15, "verbose": -1, "n_jobs": 1, "random_state": 0}


def measure(name: str, first: str, second: str, splits: int) -> list[dict]:
    known_table = load_table(name)
    X, y = known_table.X.copy(), np.asarray(known_table.y)
    for column in X.select_dtypes(exclude="number"):
        X[column] = X[column].astype("category")
    cls = LGBMClassifier if known_table.task == "classification" else LGBMRegressor
    left_out = {"all": [], "without_first": [first], "without_second": [second], "without_both": [first, second]}
    row: dict = dict(zip(KEY, (name, first, second), strict=True)) | {"splits": splits}
    for arm, columns in left_out.items():
        kept, scores = X.drop(columns=columns), []
        for split in range(splits):
            train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=split)
            scores.append(100 * cls(**TREES).fit(kept.iloc[train], y[train]).score(kept.iloc[test], y[test]))
        row |= {arm: round(float(np.mean(scores)), 2), f"{arm}_error": round(float(np.std(scores) / splits**0.5), 2)}
    return [row]


def table(rows: list[dict]) -> str:
    lines = [
        "| table | first | second | all columns | without the first | the second | both |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        arms = ("all", "without_first", "without_second", "without_both")
        cells = [f"{row[arm]:.1f} ± {row[f'{arm}_error']:.1f}" for arm in arms]
        lines.append("| " + " | ".join([*(row[name] for name in KEY), *cells]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="pairs side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/stand-ins.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one pair of a table at hand, to see that it runs")
    args = parser.parse_args()
    rows = known(args.out)
    pairs = (("breast-cancer", "worst radius", "worst area"),) if args.quick else PAIRS
    plans = [(*pair, args.splits) for pair in pairs]
    print(table(rows + collect(measure, missing(plans, rows, KEY), args.out, args.jobs)))


if __name__ == "__main__":
    main()
