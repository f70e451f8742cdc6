"""Few rows of many features: what default fits predict for rows that they did not see, with and without one set.

    SKLAR_DATA=... python benchmarks/wide_tables.py --jobs 2
    python benchmarks/wide_tables.py --data colon genes --seeds 0 --arms with      # some of it
    python benchmarks/wide_tables.py --table                                      # Markdown, from the rows

Tables of 60 to 200 rows (`colon`, `allaml`, `genes`) are split five-fold for each seed; of the others 300 rows are
drawn, and 2,000 that are not among them are predicted. `genes` and `genes-correlated` are drawn by `genes()`: four
classes, each of which shifts 40 of 3,000 features, and ten latent factors of little or much weight. With one set,
rehearsals try the features most related to the target alone for all rows too (docs/method.md); without, they do not.
Beside them two simple rivals with one set for all rows: logistic regression on the 20 features of the largest F, and
L1 logistic regression whose strength cross-validation chooses. Rows that are in --out are not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script
from rows import collect, known, missing

from sklar import CopulaSelectorClassifier
from sklar.datasets import load_table, make_synthetic
from sklar.paper.data import load_images, load_isolet
from sklar.training.honest import rehearsal

FOLDED = ("colon", "allaml", "genes", "genes-correlated")
FACTORS = {"genes": 0.5, "genes-correlated": 1.0}
DRAWN = ("syn1", "syn4", "isolet", "mnist")
ARMS = ("with", "without", "filter", "l1")
NAMES = {"with": "`sklar`", "without": "`sklar`, one set not tried", "filter": "20 by F, logistic", "l1": "L1 logistic"}
KEY = ("data", "seed", "arm")
ROWS, NEW_ROWS, FEATURES = 300, 2_000, 400  # of what is drawn; features of synthetic data


def genes(seed: int, factors: float) -> tuple[np.ndarray, np.ndarray]:
    """160 rows of 3,000 features, of which each of four classes shifts 40 by 1.2; latent factors have that weight."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 160)
    X = rng.standard_normal((160, 3000)) + factors * rng.standard_normal((160, 10)) @ rng.standard_normal((10, 3000))
    for label in range(4):
        X[np.ix_(y == label, rng.choice(3000, 40, replace=False))] += 1.2
    return X, y


def splits(data: str, seed: int) -> list[tuple[np.ndarray, ...]]:
    """(X, y, X_new, y_new) of each split."""
    if data in FOLDED:
        X, y = genes(seed, FACTORS[data]) if data in FACTORS else (load_table(data).X, load_table(data).y)
        folds = StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y)
        return [(X[train], y[train], X[test], y[test]) for train, test in folds]
    if data.startswith("syn"):
        X, y, _ = make_synthetic(data, ROWS + NEW_ROWS, n_features=FEATURES, random_state=seed)
    else:
        X, y = load_isolet(random_state=seed)[:2] if data == "isolet" else load_images(data)
        chosen = np.random.default_rng(seed).permutation(len(X))[: ROWS + NEW_ROWS]
        X, y = X[chosen], y[chosen]
    return [(X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:])]


class Found(NamedTuple):
    """What a fit says of new rows."""

    probabilities: np.ndarray  # (n, classes)
    sizes: np.ndarray  # features of each row, (n,)
    one_set: list[bool]  # whether one set was taken, where it was tried


def ours(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, seed: int, arm: str) -> Found:
    usual = rehearsal.tries_one_set
    rehearsal.tries_one_set = usual if arm == "with" else lambda *_: False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that nothing can be shown
            model = CopulaSelectorClassifier(random_state=seed).fit(X, y)
    finally:
        rehearsal.tries_one_set = usual
    chosen = [one["chosen"] for one in model.history_ if one["part"] == "one set"]
    return Found(model.predict_proba(X_new), np.asarray(model.select(X_new)).sum(axis=1), chosen)


def rival(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, seed: int, arm: str) -> Found:
    """Logistic regression on one set for all rows, after an F-test or by L1."""
    if arm == "filter":
        steps = StandardScaler(), SelectKBest(f_classif, k=20), OneVsRestClassifier(LogisticRegression(max_iter=2_000))
    else:
        words = {"solver": "liblinear", "l1_ratios": (1.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
        steps = StandardScaler(), OneVsRestClassifier(LogisticRegressionCV(Cs=8, random_state=seed, **words))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a column is constant, or a path's end did not converge
        model = make_pipeline(*steps).fit(X, y)
    used = np.any([one.coef_[0] != 0 for one in model[-1].estimators_], axis=0).sum()
    return Found(model.predict_proba(X_new), np.full(len(X_new), used), [])


def measure(data: str, seed: int, arm: str) -> list[dict[str, Any]]:
    labels, found, seconds = [], [], 0.0
    for X, y, X_new, y_new in splits(data, seed):
        start = time.perf_counter()
        found.append((rival if arm in ("filter", "l1") else ours)(X, y, X_new, seed, arm))
        seconds += time.perf_counter() - start
        labels.append(y_new)
    y, p = np.concatenate(labels), np.concatenate([one.probabilities for one in found])
    classes, chosen = np.unique(y), [taken for one in found for taken in one.one_set]
    row = {
        "balanced_accuracy": round(100 * balanced_accuracy_score(y, classes[p.argmax(axis=1)]), 1),
        "log_loss": round(log_loss(y, p, labels=classes), 4),
        "features": round(float(np.concatenate([one.sizes for one in found]).mean()), 1),
        "one_set": f"{sum(chosen)} of {len(chosen)}",
        "seconds": round(seconds / len(labels), 1),
    }
    return [dict(zip(KEY, (data, seed, arm), strict=True)) | row]


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each kind of data and arm, means over seeds."""
    lines = ["| data | seeds | method | balanced accuracy | log loss | features | one set taken | seconds |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for data, arm in itertools.product((*FOLDED, *DRAWN), ARMS):
        these = [row for row in rows if (row["data"], row["arm"]) == (data, arm)]
        if not these:
            continue
        accuracy, loss, features, seconds = (
            np.mean([row[name] for row in these]) for name in ("balanced_accuracy", "log_loss", "features", "seconds")
        )
        taken, of = (sum(int(row["one_set"].split(" of ")[at]) for row in these) for at in (0, 1))
        cells = f"{accuracy:.1f} | {loss:.3f} | {features:.1f} | {f'{taken} of {of}' if of else ''} | {seconds:.1f}"
        lines.append(f"| {data} | {len(these)} | {NAMES[arm]} | {cells} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=(*FOLDED, *DRAWN), default=[*FOLDED, *DRAWN])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=Path("results/wide-tables.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of the rows, and measure nothing")
    args = parser.parse_args(arguments)
    rows = known(args.out)
    if not args.table:
        plans = list(itertools.product(args.data, args.seeds, args.arms))
        rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table(rows))


if __name__ == "__main__":
    main()
