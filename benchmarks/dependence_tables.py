"""What the copula costs and saves on real tables: own held-out score and features per row, against independent gates.

    python benchmarks/dependence_tables.py                                    # 5 splits of every table
    python benchmarks/dependence_tables.py --tables autos wine --splits 3
    python benchmarks/dependence_tables.py --tables --csv housing.csv:MEDV    # a table of one's own, and its target

Splits are 80 to 20, with the split's number as seed of the split and of both fits; accuracy for classes, R^2 for
values. Differences are paired, with their standard errors over splits. The claim: not behind by more than one standard
error on any table, with fewer features in the mean.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import train_test_split

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.datasets import load_table, table_names
from sklar.paper.experiments.environment import commit

COVARIANCES = ("low-rank", "independent")
QUICK = {"max_epochs": 5}


def tables(args: argparse.Namespace) -> Iterator[tuple]:
    """(name, X, y, estimator class) of each table."""
    for name in args.tables:
        table = load_table(name)
        yield name, table.X, table.y, estimator(table.task == "classification")
    for given in args.csv:
        import pandas

        path, target = given.rsplit(":", 1)
        frame = pandas.read_csv(path)
        y = frame.pop(target).to_numpy()
        yield Path(path).stem, frame, y, estimator(y.dtype.kind != "f")


def estimator(classes: bool) -> type:
    return CopulaSelectorClassifier if classes else CopulaSelectorRegressor


def measure(name: str, X, y: np.ndarray, kind: type, split: int, args: argparse.Namespace) -> Iterator[dict]:
    classes = y if kind is CopulaSelectorClassifier else None
    rows = train_test_split(np.arange(len(y)), test_size=0.2, random_state=split, stratify=classes)
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    train, test = map(take, rows)
    for covariance in COVARIANCES:
        start = time.perf_counter()
        model = kind(covariance=covariance, random_state=split, device=args.device, **(QUICK if args.quick else {}))
        model.fit(train, y[rows[0]])
        yield {
            **{"table": name, "split": split, "covariance": covariance, "commit": commit(), "quick": args.quick},
            "score": float(100 * model.score(test, y[rows[1]])),
            "features": float(np.asarray(model.select(test)).sum(axis=1).mean()),
            "interchangeable": [list(group) for group in model.interchangeable()],
            "seconds": round(time.perf_counter() - start, 1),
        }


def print_table(rows: list[dict]) -> None:
    print("| table | splits | score, copula | independent | difference | features, copula | independent | difference |")
    print("|---|---|---|---|---|---|---|---|")
    behind, fewer = [], []
    for name in dict.fromkeys(row["table"] for row in rows):
        ours, rival = (
            np.array(
                [(row["score"], row["features"]) for row in rows if (row["table"], row["covariance"]) == (name, one)]
            )
            for one in COVARIANCES
        )
        difference = ours - rival
        error = difference.std(axis=0, ddof=1) / len(ours) ** 0.5 if len(ours) > 1 else np.full(2, np.nan)
        cells = [
            f"{a:.2f} | {b:.2f} | {c:+.2f} ± {e:.2f}"
            for a, b, c, e in zip(ours.mean(0), rival.mean(0), difference.mean(0), error, strict=True)
        ]
        print(f"| {name} | {len(ours)} | {cells[0]} | {cells[1]} |")
        behind += [name] if difference[:, 0].mean() < -error[0] else []
        fewer.append(difference[:, 1].mean())
    print(f"\nbehind by more than one standard error: {', '.join(behind) or 'none'}; ", end="")
    print(f"features per row, mean difference over tables: {np.mean(fewer):+.2f}")


def main() -> None:
    args = parse()
    torch.set_num_threads(1)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in args.out.open()] if args.out.is_file() else []
    done = {(row["table"], row["split"]) for row in known if row["covariance"] == COVARIANCES[-1]}
    rows = []
    with args.out.open("a") as file:
        for name, X, y, kind in tables(args):
            for split in range(args.splits):
                if (name, split) in done:
                    continue
                for row in measure(name, X, y, kind, split, args):
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    asked = {*args.tables, *(Path(given.rsplit(":", 1)[0]).stem for given in args.csv)}
    print_table([row for row in known if row["table"] in asked and (row["table"], row["split"]) in done] + rows)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--tables", nargs="*", default=table_names(), choices=table_names(), metavar="NAME")
    parser.add_argument("--csv", nargs="*", default=[], metavar="FILE:TARGET")
    parser.add_argument("--out", type=Path, default=Path("results/dependence-tables.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one table and few steps, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.splits, args.tables = 2, ["diabetes"]
    return args


if __name__ == "__main__":
    main()
