"""How clearly the features of default fits say something, by score and by gain: those that decide, and others.

    python benchmarks/evidence.py --jobs 16      # rows in results/evidence.jsonl
    python benchmarks/evidence.py --table

Of every feature that a selector of Syn1-6 or of `branches.py` gives to rows, in standard errors out of fold: the score
of what it changes (docs/method.md, idea 12) and what it gains in loss. `DecisionSettings.score_errors` stands between
those that decide and the others.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import branches
import torch
from rows import collect, known, missing

from sklar import CopulaSelectorClassifier
from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.training.honest import decisions

KEY = ("data", "features", "correlation", "seed", "rows", "max_epochs")
SETTINGS = ((100, 0.5), (100, 0.0), (11, 0.0))
BRANCHES = ((100, 0.0), (15, 0.5), (15, 0.0))
_evidence_of = decisions._evidence_of  # the one place where a fit asks what a feature says


def measure(data: str, d: int, correlation: float, seed: int, n: int, max_epochs: int | None) -> list[dict]:
    """One default fit: a row for all features that were asked about."""
    if data in SYNTHETIC_NAMES:
        X, y, relevant = make_synthetic(data, n, d, correlation, random_state=seed)
    else:
        X, y, relevant = branches.draw(data, n, d, correlation, seed)
    found: list[dict] = []

    def asked(predictors, mask, i, stand_ins):  # type: ignore[no-untyped-def]
        score = _evidence_of(predictors, mask, i, stand_ins)
        shown = mask * ~stand_ins[:, i][:, None, None]
        without = shown * (torch.arange(mask.shape[-1]) != i)
        lost = predictors.out_of_fold_losses(without) - predictors.out_of_fold_losses(shown)
        gain, error = decisions.mean_and_error(lost * mask[..., i].flatten(1), None)
        inputs = predictors.folds.inputs
        column = i if inputs is None else int(inputs[0, i])
        one = {"column": column, "score": float(score), "gain": float(gain / error), "rows": int(mask[..., i].sum())}
        found.append(one | {"decides": bool(relevant[:, column].any())})
        return score

    with mock.patch.object(decisions, "_evidence_of", asked):
        model = CopulaSelectorClassifier(device="cpu", predictor="networks", max_epochs=max_epochs, random_state=seed)
        model.fit(X, y)
    cut = [one["n_bins"] for one in model.history_ if one["part"] == "predictors" and one["chosen"]]
    return [
        dict(zip(KEY, (data, d, correlation, seed, n, max_epochs), strict=True)) | {"n_bins": cut[0], "asked": found}
    ]


def table(rows: list[dict]) -> str:
    """Markdown: the least score and gain of features that decide, the largest of others, by data."""
    lines = ["| data | fits | least score, deciding | least gain | largest score, others |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == name]
        asked = [one for row in mine for one in row["asked"]]
        cells = [
            extreme(min, [one["score"] for one in asked if one["decides"]]),
            extreme(min, [one["gain"] for one in asked if one["decides"]]),
            extreme(max, [one["score"] for one in asked if not one["decides"]]),
        ]
        lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def extreme(of: Callable[[list[float]], float], values: list[float]) -> str:
    return f"{of(values):.1f}" if values else "none"


def main() -> None:
    args = parse()
    rows = known(args.out)
    if not args.table:
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        plans = [*itertools.product(SYNTHETIC_NAMES, SETTINGS, seeds)]
        plans += itertools.product(("rare", "three", "four"), BRANCHES, seeds)
        if args.quick:
            plans = [("syn4", (11, 0.0), args.first_seed)]
        wanted = [(data, *setting, seed, args.rows, args.max_epochs) for data, setting, seed in plans]
        rows += collect(measure, missing(wanted, rows, KEY), args.out, args.jobs)
    print(table(rows))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=7100)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--max-epochs", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/evidence.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the rows as Markdown, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="one short fit, to see that it runs")
    args = parser.parse_args()
    if args.quick:
        args.rows, args.max_epochs = 6_000, 40
    return args


if __name__ == "__main__":
    main()
