"""Which strength of the selector's group lasso held-out rows prefer, on Syn1-6 and on real tables.

    python benchmarks/strengths.py --jobs 2
    python benchmarks/strengths.py --data syn4 wine-quality-white --seeds 3
    python benchmarks/strengths.py --table                                     # Markdown, from the rows

One default selector a line, and what its `history_` says of both strengths: loss of held-out rows and features per row
(of one that was given up half-way as it was then). Syn1-6 have 10,000 rows of 11 features, and 2,000 of syn4 and syn6;
of a table only the training rows of split 0 of `real_tables.py` are looked at, split anew. Rows that are in --out are
not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script
from real_table_methods import Split
from rows import collect, known, missing

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.datasets import SYNTHETIC_NAMES, make_synthetic

SMALL = ("syn4-2000", "syn6-2000")
TABLES = ("wine-quality-white", "spambase", "phoneme", "segment", "abalone", "digits", "credit-g", "breast-cancer")
FIRST_SEED = 500
KEY = ("data", "seed", "max_epochs")


def training_rows(data: str, seed: int) -> tuple:
    """X, y, the estimator, and other rows that nothing is learned from."""
    if data.startswith("syn"):
        name, _, n_rows = data.partition("-")
        train, test = (make_synthetic(name, int(n_rows or 10_000), random_state=s)[:2] for s in (seed, seed + 1000))
        return *train, CopulaSelectorClassifier, test
    split = Split.of(data, 0)
    classes = split.y_train if split.is_classification else None
    train, test = train_test_split(split.train, test_size=0.3, random_state=seed, stratify=classes)
    kind = CopulaSelectorClassifier if split.is_classification else CopulaSelectorRegressor
    return split.X.iloc[train], split.y[train], kind, (split.X.iloc[test], split.y[test])


def measure(data: str, seed: int, max_epochs: int | None) -> list[dict]:
    X, y, kind, (X_new, y_new) = training_rows(data, seed)
    model = kind(random_state=seed, max_epochs=max_epochs).fit(X, y)
    masks = np.asarray(model.select(X_new))
    tried = [one for one in model.history_ if one["part"] == "strength"]
    row = {
        "tried": [{key: one[key] for key in ("strength", "loss", "mean_features", "chosen")} for one in tried],
        "features": float(masks.sum(axis=1).mean()),
        "distinct_masks": len(np.unique(masks, axis=0)),
        "score": float(100 * model.score(X_new, y_new)),
    }
    return [dict(zip(KEY, (data, seed, max_epochs), strict=True)) | row]


def table(rows: list[dict]) -> str:
    """Markdown, a line a fit: the full strength, the weaker one, and what was chosen."""
    lines = ["| data | seed | loss, full / weak | features, full / weak | chosen | features | masks | score |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for row in rows:
        full, weak = (next(t for t in row["tried"] if (t["strength"] == 1) == is_full) for is_full in (True, False))
        chosen = "full" if full["chosen"] else "weak"
        lines.append(
            f"| {row['data']} | {row['seed']} | {full['loss']:.4f} / {weak['loss']:.4f} | "
            f"{full['mean_features']:.2f} / {weak['mean_features']:.2f} | {chosen} | {row['features']:.1f} | "
            f"{row['distinct_masks']:,} | {row['score']:.1f} |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*SYNTHETIC_NAMES, *SMALL, *TABLES])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/strengths.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of the rows, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    args = parser.parse_args(arguments)
    rows = known(args.out)
    if not args.table:
        seeds = range(FIRST_SEED, FIRST_SEED + args.seeds)
        plans = itertools.product(args.data, seeds, [2 if args.quick else None])
        rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table(rows))


if __name__ == "__main__":
    main()
