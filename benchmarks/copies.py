"""What copies of rows do to a fit: a table as it is, each row three times, and a bootstrap sample of it.

    SKLAR_DATA=... python benchmarks/copies.py --jobs 2
    python benchmarks/copies.py --table                         # Markdown, from the rows

Default selectors; 70% of the rows to learn from, their copies among them, the others to score on: accuracy, or R^2, in
percent, by the model's own predictor. `seen` is the score of the different rows that were learned from: far above that
of the others, a fit has judged its choices by what it had learned by heart. `mixed` is drawn: y = x1 + x2 x3 + noise,
600 rows of 8 features. Rows hold their commit; those that are in --out are not measured again.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rows import collect, known, missing
from sklearn.model_selection import train_test_split

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.datasets import load_table

DATA = ("mixed", "credit-g", "segment", "abalone")
ARMS = ("once", "three times", "bootstrap")
KEY = ("data", "arm", "version")


def read(name: str) -> tuple[Any, np.ndarray, bool]:
    """Rows, targets, and whether these are classes."""
    if name != "mixed":
        table = load_table(name)
        return table.X, np.asarray(table.y), table.task == "classification"
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 8))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(len(X)), False


def measure(name: str, arm: str, version: str, max_epochs: int | None) -> list[dict]:
    X, y, classes = read(name)
    share = 0.3 if name == "mixed" else 0.7
    train, test = train_test_split(np.arange(len(y)), train_size=share, random_state=0, stratify=y if classes else None)
    rng = np.random.default_rng(1)
    drawn = {"once": train, "three times": train.repeat(3), "bootstrap": rng.choice(train, len(train))}[arm]
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    cls = CopulaSelectorClassifier if classes else CopulaSelectorRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(random_state=0, max_epochs=max_epochs).fit(take(drawn), y[drawn])
    different = np.unique(drawn)
    seen, score = (100 * model.score(take(rows), y[rows]) for rows in (different, test))
    features = float(np.asarray(model.select(take(test))).sum(axis=1).mean())
    numbers = {"features": round(features, 2), "seen": round(seen, 1), "score": round(score, 1)}
    return [dict(zip(KEY, (name, arm, version), strict=True)) | numbers]


def table(rows: list[dict]) -> str:
    lines = ["| data | rows | version | features | score, seen rows | score, others |", "|---|---|---|---|---|---|"]
    order = {name: place for place, name in enumerate((*DATA, *ARMS))}
    for row in sorted(rows, key=lambda row: (order[row["data"]], order[row["arm"]], row["version"])):
        cells = (row["data"], row["arm"], row["version"], row["features"], row["seen"], row["score"])
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--version", default="now", help="a name for what is measured, in the rows")
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/copies.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the rows, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="one tiny fit, to see that it runs")
    args = parser.parse_args()
    rows = known(args.out)
    plans = [(name, arm, args.version, None) for name in args.data for arm in ARMS]
    if args.quick:
        plans = [("mixed", "bootstrap", args.version, 2)]
    if not args.table:
        rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table(rows))


if __name__ == "__main__":
    main()
