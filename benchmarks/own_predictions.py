"""Own predictions: what a default selector predicts from its few features, against boosted trees on all of them.

    python benchmarks/own_predictions.py                                  # 5 splits of every table
    python benchmarks/own_predictions.py --tables phoneme adult --splits 1 --jobs 2
    python benchmarks/own_predictions.py --table                          # Markdown, from the rows

One default fit a split: its networks alone are the selector with predictor="networks", which selects the same.
Scores are accuracy or R^2, in percent. Splits and LightGBM are those of `real_tables.py`. Rows that are there are not
measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
from real_table_methods import Split, all_features_score

import sklar
from sklar.atomic import replace_file
from sklar.datasets import table_names
from sklar.datasets.store import DataError
from sklar.paper.experiments.environment import commit

OUT = Path("results/own-predictions.jsonl")
OFFICIAL_SPLIT = ("adult",)
FEW_TEST_ROWS = ("colon", "allaml")  # two dozen test rows and thousands of features: `real_tables.py` has them


def measure(table: str, number: int, quick: bool) -> dict[str, Any] | None:
    """One split of one table; None where the table is not there."""
    torch.set_num_threads(1)
    try:
        split = Split.of(table, number)
    except DataError as error:
        print(f"{table}: {error}", file=sys.stderr)
        return None
    kind = sklar.CopulaSelectorClassifier if split.is_classification else sklar.CopulaSelectorRegressor
    start = time.perf_counter()
    model = kind(random_state=number, **{"max_epochs": 2} if quick else {})
    model.fit(split.X.iloc[split.train], split.y_train)
    seconds = time.perf_counter() - start
    test = split.X.iloc[split.test]
    auto, fitted = 100 * model.score(test, split.y_test), model.fitted_
    masks = np.asarray(model.select(test))
    model.fitted_ = replace(fitted, predictor=None)
    return {
        **{"table": table, "split": number, "quick": quick, "task": split.task},
        **{"train_rows": len(split.train), "n_features": split.n_features},
        "features": float(masks.sum(axis=1).mean()),
        "networks": 100 * model.score(test, split.y_test),
        "auto": auto,
        "chosen": fitted.history[-1].get("predictor", "networks"),
        "all_features": all_features_score(split),
        "seconds": round(seconds, 1),
        "commit": commit(),
    }


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def shown(rows: list[dict[str, Any]]) -> str:
    """Means over splits, and the mean over tables."""
    lines = ["| table | rows | features per row | networks | auto | chosen | LightGBM, all features | auto ahead by |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    ahead = []
    for table in dict.fromkeys(row["table"] for row in rows):
        own = [row for row in rows if row["table"] == table]
        mean = {name: np.mean([row[name] for row in own]) for name in ("features", "networks", "auto", "all_features")}
        ahead.append([mean[name] - mean["all_features"] for name in ("networks", "auto")])
        chosen = ", ".join(
            f"{name} {n}"
            for name, n in zip(*np.unique([row["chosen"] for row in own], return_counts=True), strict=True)
        )
        lines.append(
            f"| {table} | {own[0]['train_rows']:,} | {mean['features']:.1f} of {own[0]['n_features']} | "
            f"{mean['networks']:.1f} | {mean['auto']:.1f} | {chosen} | {mean['all_features']:.1f} | "
            f"{ahead[-1][1]:+.1f} |"
        )
    found = np.array(ahead)
    lines.append(
        f"\nAhead of LightGBM on all features, mean (least) over tables: networks {found[:, 0].mean():+.2f} "
        f"({found[:, 0].min():+.1f}), auto {found[:, 1].mean():+.2f} ({found[:, 1].min():+.1f}) points."
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=[name for name in table_names() if name not in FEW_TEST_ROWS])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="print the table of the rows, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    asked = parser.parse_args(arguments)
    rows = rows_of(asked.out)
    if not asked.table:
        done = {(row["table"], row["split"], row["quick"]) for row in rows}
        plans = [(t, s) for s in range(asked.splits) for t in asked.tables if not (s and t in OFFICIAL_SPLIT)]
        plans = [(t, s, asked.quick) for t, s in plans if (t, s, asked.quick) not in done]
        with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
            for row in pool.map(measure, *zip(*plans, strict=True)) if plans else ():
                rows += [] if row is None else [row]
                asked.out.parent.mkdir(parents=True, exist_ok=True)
                replace_file(asked.out, "".join(json.dumps(row) + "\n" for row in rows))
    print(shown([row for row in rows if row["quick"] == asked.quick]))


if __name__ == "__main__":
    main()
