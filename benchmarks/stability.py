"""How far the selections of fits from different seeds agree: column by column, and with stand-ins counted as one.

    SKLAR_DATA=... python benchmarks/stability.py --tables adult --seeds 3

Default selectors are fitted to the same rows of a table, with another seed each, and asked about other rows. Agreement
is the mean Jaccard index of a row's features, over all pairs of fits; features that either fit found to stand for each
other count as one in the second number. The rival of both is one fixed set for all rows: the mean features that a fit
selects, drawn at random.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations

import numpy as np
from measure import line, table

import sklar
from sklar.datasets import load_table
from sklar.fitted import FittedModel
from sklar.stability import jaccard, stand_ins

COLUMNS = ("table", "rows", "fits", "features a row", "agreement", "stand-ins as one", "at random", "counted as one")


def fits(name: str, n_rows: int, seeds: int, epochs: int | None) -> tuple[list[FittedModel], list[np.ndarray], int]:
    """The models, their masks of rows that none was fitted to, and how many rows they were fitted to."""
    known = load_table(name)
    order = np.random.default_rng(0).permutation(len(known.y))
    n = min(n_rows, len(order) // 2)
    train, unseen = order[:n], order[n : 2 * n]
    maker = "CopulaSelectorClassifier" if known.task == "classification" else "CopulaSelectorRegressor"
    words = {"max_epochs": epochs, "device": "cpu"}
    makers = [getattr(sklar, maker)(random_state=seed, **words) for seed in range(seeds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [one.fit(known.X.iloc[train], known.y[train]).fitted_ for one in makers]
    return models, [one.masks(one.read(known.X.iloc[unseen])) for one in models], n


def agreement(models: list[FittedModel], masks: list[np.ndarray]) -> tuple[float, float]:
    """Mean over pairs of fits, in percent: column by column, and with stand-ins as one."""
    pairs = list(combinations(range(len(models)), 2))
    plain = [jaccard(masks[a], masks[b]) for a, b in pairs]
    grouped = [jaccard(masks[a], masks[b], stand_ins([models[a], models[b]])) for a, b in pairs]
    return float(np.mean(plain)), float(np.mean(grouped))


def at_random(masks: list[np.ndarray], groups: list[list[int]]) -> float:
    """The same of features drawn anew for each fit, one set for all rows, as many as rows get, stand-ins as one."""
    rng, d = np.random.default_rng(0), masks[0].shape[1]
    size = round(float(np.mean([mask.sum(axis=1).mean() for mask in masks])))
    drawn = np.stack([rng.permutation(d) < size for _ in range(2000)])
    return jaccard(drawn[::2], drawn[1::2], groups)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["adult"])
    parser.add_argument("--rows", type=int, default=10_000, help="to fit, and as many others to select for")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=None, help="of a fit; default: as many as it takes")
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.tables, args.rows, args.seeds, args.epochs = ["diabetes"], 200, 2, 1
    table("Agreement of the selections of fits from different seeds, percent", COLUMNS)
    for name in args.tables:
        models, masks, n = fits(name, args.rows, args.seeds, args.epochs)
        groups = stand_ins(models)
        names = models[0].schema.names
        said = "; ".join(", ".join(names[j] for j in group) for group in groups) or "none"
        numbers = (*agreement(models, masks), at_random(masks, groups))
        size = np.mean([mask.sum(axis=1).mean() for mask in masks])
        line(name, f"{n:,}", args.seeds, f"{size:.1f}", *(f"{number:.1f}" for number in numbers), said)


if __name__ == "__main__":
    main()
