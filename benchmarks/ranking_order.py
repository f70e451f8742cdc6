"""Whether the first features of a ranking are the best few: what is predicted from the first j of k, on real tables.

    SKLAR_DATA=... python benchmarks/ranking_order.py --jobs 16
    SKLAR_DATA=... python benchmarks/ranking_order.py --tables abalone --splits 1

One ranker a table and split (at most 8,000 rows to learn from). Its own predictor is shown the first j features of
`rank(X)` and, as rival, the j features of the largest scores, which was the order before: accuracy or R^2 of test rows,
in percent. Where k features are shown both are the same. `together`: of Adult, the share of rows that are given both
marital-status and relationship. `time`: `rank` against the same without the order, 100,000 rows. Rows go to --out;
those that are there are not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from measure import quickest
from one_fit import split
from rows import collect, known, missing

import sklar
from sklar.fitted import FittedModel
from sklar.model.honest_model import HonestModel

TABLES = {"abalone": 5, "adult": 2, "credit-g": 5, "phoneme": 4, "segment": 5, "spambase": 5, "wine-quality-white": 5}
KEY = ("table", "split", "k")
PAIR = ["marital-status", "relationship"]
TIMED_ROWS = 100_000


def measure(name: str, number: int, k: int, max_epochs: int | None) -> list[dict]:
    task, X, y, X_new, y_new = split(name, number)
    maker = sklar.CopulaRankerClassifier if task == "classification" else sklar.CopulaRankerRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = maker(k=k, random_state=number, device="cpu", max_epochs=max_epochs).fit(X, y).fitted_
    rows = fitted.read(X_new)

    def score(model: FittedModel) -> float:
        said = model.predictions(rows)
        right = (said == y_new).mean() if task == "classification" else 1 - np.mean((said - y_new) ** 2) / np.var(y_new)
        return round(100 * float(right), 2)

    unordered = without_order(fitted)
    row = {
        "ranked": [score(prefix(fitted, j)) for j in range(1, k + 1)],
        "scored": [score(prefix(unordered, j)) for j in range(1, k + 1)],
        "together": together(fitted, rows),
        "time": seconds(fitted, rows) / seconds(unordered, rows),
    }
    return [dict(zip(KEY, (name, number, k), strict=True)) | row]


def prefix(fitted: FittedModel, k: int) -> FittedModel:
    """The first k features of the fitted ranking."""
    return replace(fitted, priced=None).at(k=k)


def without_order(fitted: FittedModel) -> FittedModel:
    """The same, ranking by scores alone."""
    network = fitted.network
    assert isinstance(network, HonestModel)
    plain = HonestModel(replace(network.architecture, order_k=0), torch.Generator()).double().eval()
    plain.load_state_dict(
        {name: value for name, value in network.state_dict().items() if not name.startswith("order.")}
    )
    return replace(fitted, network=plain)


def together(fitted: FittedModel, rows: np.ndarray) -> float | None:
    """Percent of rows that are given both of a pair; None of tables without it."""
    if not set(PAIR) <= set(fitted.schema.names):
        return None
    pair = [list(fitted.schema.names).index(name) for name in PAIR]
    return float(100 * np.asarray(fitted.masks(rows))[:, pair].all(axis=1).mean())


def seconds(fitted: FittedModel, rows: np.ndarray) -> float:
    many = rows[np.arange(TIMED_ROWS) % rows.shape[0]]
    work: Callable[[], object] = lambda: fitted.ranks(many)  # noqa: E731
    return quickest([work], repeats=3)[0]


def table(rows: list[dict]) -> str:
    """Markdown: means over splits."""
    lines = [
        "| table | k | splits | from the first 1, 2, ... of the ranking | of the largest scores | together, % | time |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for name, k in sorted({(row["table"], row["k"]) for row in rows}):
        mine = [row for row in rows if (row["table"], row["k"]) == (name, k)]
        ours, rival = (
            " / ".join(f"{value:.1f}" for value in np.mean([row[side] for row in mine], axis=0))
            for side in ("ranked", "scored")
        )
        shares = [row["together"] for row in mine if row["together"] is not None]
        share = f"{np.mean(shares):.1f}" if shares else ""
        ratio = np.median([row["time"] for row in mine])
        lines.append(f"| {name} | {k} | {len(mine)} | {ours} | {rival} | {share} | {ratio:.1f}x |")
    return "\n".join(lines)


def main() -> None:
    args = parse()
    rows = known(args.out)
    asked = itertools.product(args.tables, range(args.splits))
    plans = [(name, number, args.k or TABLES.get(name, 3), args.max_epochs) for name, number in asked]
    rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table([row for row in rows if row["table"] in args.tables]))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), metavar="NAME")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--k", type=int, default=None, help="features a row; by default 5, of Adult 2, of phoneme 4")
    parser.add_argument("--max-epochs", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a thread each")
    parser.add_argument("--out", type=Path, default=Path("results/ranking-order.jsonl"))
    parser.add_argument("--quick", action="store_true", help="one table and few steps, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.tables, args.splits, args.max_epochs = ["diabetes"], 1, 3
    return args


if __name__ == "__main__":
    main()
