"""Few rows: what selectors find and predict with other numbers of folds and other predictors' regularisation.

    python benchmarks/few_rows.py --jobs 2                                        # 4 and 10 folds
    python benchmarks/few_rows.py --data syn4-1000 credit-g --folds 8 --regularisation 0.3 --seeds 21 22 23
    python benchmarks/few_rows.py --table                                         # Markdown, from the rows

`syn4-1000` is 1,000 rows of Syn4 with 11 features, and is judged on 5,000 others; of a table only the training rows of
split 0 of `real_tables.py` are looked at, split anew. The loss is log loss, for values the squared error over the
variance. Rows that are in --out are not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script
from rows import collect, known, missing
from strengths import training_rows

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate

SYNTHETIC = tuple(f"{name}-{rows}" for rows in (500, 1000, 2000) for name in ("syn4", "syn6"))
TABLES = ("breast-cancer", "credit-g", "diabetes", "wine", "segment")
SEEDS = {True: (11, 12, 13), False: (500, 501, 502)}  # of synthetic data, of tables
KEY = ("data", "seed", "n_folds", "regularisation", "max_epochs")


def measure(data: str, seed: int, n_folds: int, regularisation: float | str, max_epochs: int | None) -> list[dict]:
    if data.startswith("syn"):
        name, rows = data.split("-")
        X, y, _ = make_synthetic(name, int(rows), n_features=11, random_state=seed)
        X_new, y_new, relevant = make_synthetic(name, 5000, n_features=11, random_state=seed + 1000)
        kind = CopulaSelectorClassifier
    else:
        X, y, kind, (X_new, y_new) = training_rows(data, seed)
        relevant = None
    given = {"n_folds": n_folds, "predictor_regularization": regularisation, "max_epochs": max_epochs}
    start = time.perf_counter()
    model = kind(random_state=seed, **given).fit(X, y)
    seconds = time.perf_counter() - start
    masks = np.asarray(model.select(X_new))
    row = {
        "tpr": None if relevant is None else float(true_positive_rate(relevant, masks)),
        "fdr": None if relevant is None else float(false_discovery_rate(relevant, masks)),
        "features": float(masks.sum(axis=1).mean()),
        "loss": _loss(model, X_new, y_new),
        "score": float(100 * model.score(X_new, y_new)),
        "seconds": round(seconds, 1),
    }
    return [dict(zip(KEY, (data, seed, n_folds, regularisation, max_epochs), strict=True)) | row]


def _loss(model, X, y) -> float:
    if hasattr(model, "classes_"):
        return float(log_loss(y, model.predict_proba(X), labels=model.classes_))
    return float(np.mean((y - model.predict(X)) ** 2) / np.var(y))


def table(rows: list[dict]) -> str:
    """Markdown: every arm of a data set beside the default, 4 folds, on the seeds that both have."""
    lines = ["| data | seeds | folds | regularisation | TPR / FDR | default | loss | default | score | default |"]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    arms: dict[tuple, dict[int, dict]] = {}
    for row in rows:
        arms.setdefault((row["data"], row["n_folds"], row["regularisation"]), {})[row["seed"]] = row
    for (data, n_folds, regularisation), arm in arms.items():
        default = arms.get((data, 4, "auto"), {})
        seeds = sorted(arm.keys() & default.keys())
        if (n_folds, regularisation) == (4, "auto") or not seeds:
            continue
        cells = [f"{one} | {other}" for one, other in zip(_cells(arm, seeds), _cells(default, seeds), strict=True)]
        lines.append(f"| {data} | {len(seeds)} | {n_folds} | {regularisation} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(arm: dict[int, dict], seeds: list[int]) -> tuple[str, str, str]:
    """TPR / FDR, loss and score, means over seeds."""
    mean = {name: np.mean([arm[seed][name] for seed in seeds]) for name in ("loss", "score")}
    found = ""
    if arm[seeds[0]]["tpr"] is not None:
        found = " / ".join(f"{np.mean([arm[seed][name] for seed in seeds]):.1f}" for name in ("tpr", "fdr"))
    return found, f"{mean['loss']:.3f}", f"{mean['score']:.1f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=[*SYNTHETIC, *TABLES])
    parser.add_argument("--folds", nargs="+", type=int, default=[4, 10])
    parser.add_argument("--regularisation", type=float, help="of the predictors; left out, rows choose")
    parser.add_argument("--seeds", nargs="+", type=int, help="other ones than those of the page")
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/few-rows.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of the rows, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    args = parser.parse_args(arguments)
    rows = known(args.out)
    if not args.table:
        regularisation = "auto" if args.regularisation is None else args.regularisation
        plans = [
            (data, seed, n_folds, regularisation, 2 if args.quick else None)
            for data, n_folds in itertools.product(args.data, args.folds)
            for seed in args.seeds or SEEDS[data.startswith("syn")]
        ]
        rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table(rows))


if __name__ == "__main__":
    main()
