"""Features asked for one by one on real tables: own predictions from the first k, ours beside GDFS and DIME.

    python benchmarks/acquisition_tables.py --jobs 2
    python benchmarks/acquisition_tables.py --tables spambase phoneme --splits 1 --methods sklar gdfs
    python benchmarks/acquisition_tables.py --table             # Markdown, from the rows

Each method is fitted once, for ten features (all but one where a table has fewer), and asked for fewer: none of the
three sees a value before it has asked for it, so that its own predictions are what counts. Scores are accuracy, or R^2
for values, in percent. Splits are those of `real_tables.py`. `sklar` gets the table as it is, the others numbers
(see `real_table_methods.py`). GDFS and DIME have the sizes that their authors give for tables, 128 units and batches of
128 rows (`experiments/tabular/run.py` of `iancovert/dynamic-selection`, `experiments/intub` of `suinleelab/DIME`), and
train until a sixth of the rows stops them. Rows that are there already are not measured again.

The same fits are asked with prices, which they hear of only then: each feature costs 1 to 5, drawn once a split, and
every row may spend a budget. All ask for the best feature that the budget still allows; GDFS does not know prices, and
DIME is fitted with them too, as its authors do (`dime-priced`). And they are stopped: `sklar` and DIME where a class is
probable enough (`confidence`), DIME also where no feature is worth a price, which its authors found best; GDFS has no
rule. Nobody asks for more than it was fitted for.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # also when it is not run as a script
from asking import Asker, Trail, predicted, trail, when_not_worth, when_sure
from real_table_methods import Split
from rows import collect, known, missing

import sklar
from sklar.paper.baselines import REGISTRY

OUT = Path("results/acquisition-tables.jsonl")
TABLES = ("spambase", "digits", "segment", "phoneme", "wine-quality-white", "breast-cancer", "credit-g", "abalone")
PLACES = (1, 2, 3, 5, 8, 10)
BUDGETS = (5, 10, 20)
CONFIDENCES = (0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
SHOWN_CONFIDENCES = (0.8, 0.9, 0.95)
WORTHS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3)  # prices of DIME's rule, in nats
KEY = ("table", "split", "method")
METHODS: dict[str, dict[str, Any]] = {
    "sklar": {},
    "gdfs": {"policy_hidden": 128, "predictor_hidden": 128},
    "dime": {"hidden": 128},
    "dime-priced": {"hidden": 128},
}
LABELS = {"sklar": '`sklar`, `chooses_from="shown"`', "gdfs": "GDFS", "dime": "DIME"}
QUICK: dict[str, dict[str, Any]] = {
    "sklar": {"max_epochs": 2},
    "gdfs": {"iterations": 20, "warmup": 5},
    "dime": {"iterations": 20, "warmup": 5},
    "dime-priced": {"iterations": 20, "warmup": 5},
}


def measure(table: str, number: int, method: str, quick: bool) -> list[dict[str, Any]]:
    """A row for each number of features, each budget and each rule for stopping."""
    split = Split.of(table, number)
    k, start = min(max(PLACES), split.n_features - 1), time.perf_counter()
    fit = fit_sklar if method == "sklar" else fit_baseline
    predict, asker = fit(split, method, k, {**METHODS[method], **(QUICK[method] if quick else {})})
    seconds = round(time.perf_counter() - start, 1)
    plan = dict(zip(KEY, (table, number, method), strict=True)) | {"fitted_for": k, "seconds": seconds}
    if method == "dime-priced":
        return [plan | row for row in with_prices(split, asker, k)]
    places = sorted({*(j for j in PLACES if j < k), k})
    rows = [{"k": j, "score": round(100 * score(split, predict(j)), 2)} for j in places]
    return [plan | row for row in [*rows, *with_prices(split, asker, k), *stopped(split, asker, k, method)]]


def fit_sklar(split: Split, method: str, k: int, parameters: dict[str, Any]) -> Any:
    """What a ranker that chooses from what it has shown predicts for test rows, by how many features it shows."""
    kind = sklar.CopulaRankerClassifier if split.is_classification else sklar.CopulaRankerRegressor
    ranker = kind(k=k, chooses_from="shown", random_state=split.number, **parameters)
    ranker.fit(split.X.iloc[split.train], split.y_train)
    rows = split.X.iloc[split.test]
    return lambda j: ranker.predict(rows, k=j), Asker.of_ranker(ranker, rows)


def fit_baseline(split: Split, method: str, k: int, parameters: dict[str, Any]) -> Any:
    """The same of a baseline."""
    name, _, priced = method.partition("-")
    costs = {"costs": prices_of(split)} if priced else {}
    model = REGISTRY[name](k=k, task=split.task, random_state=split.number, **costs, **parameters)
    model.fit(split.numbers[split.train], split.y_train)
    if priced:
        model.set_params(costs=None)  # an asker divides by prices itself
    rows = split.numbers[split.test]
    asker = Asker.of_baseline(model, rows, knows_prices=name == "dime")
    return lambda j: model.predict_masked(rows, np.asarray(model.select(rows, k=j))), asker


def prices_of(split: Split) -> np.ndarray:
    """1 to 5 for each column, the same for all methods."""
    return np.random.default_rng(split.number).integers(1, 6, split.n_features).astype(float)


def with_prices(split: Split, asker: Asker, k: int) -> list[dict[str, Any]]:
    """The scores of what budgets buy."""
    rows = []
    for budget in BUDGETS:
        found = trail(asker, k, prices_of(split), budget)
        rows.append({"budget": budget, **_outcome(split, asker, found, np.full(asker.n_rows, k))})
    return rows


def stopped(split: Split, asker: Asker, k: int, method: str) -> list[dict[str, Any]]:
    """The scores of what rules for stopping leave, which are for classes; GDFS has none."""
    if not split.is_classification or method == "gdfs":
        return []
    found = trail(asker, k)
    rows = [{"confidence": c, **_outcome(split, asker, found, when_sure(found, c))} for c in CONFIDENCES]
    worths = WORTHS if method == "dime" else ()
    return rows + [{"worth": w, **_outcome(split, asker, found, when_not_worth(found, w))} for w in worths]


def _outcome(split: Split, asker: Asker, found: Trail, asked: np.ndarray) -> dict[str, Any]:
    known = found.known[asked, np.arange(asker.n_rows)]
    of_all = 100 * score(split, predicted(asker, found, asked))
    return {"score": round(of_all, 2), "features": round(float(known.sum(axis=1).mean()), 2)}


def score(split: Split, predicted: np.ndarray) -> float:
    """Accuracy or R^2 of test rows."""
    if split.is_classification:
        return float(np.mean(predicted == split.y_test))
    wrong = np.mean((predicted - split.y_test) ** 2)
    return float(1 - wrong / np.var(split.y_test))


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: means over splits, and over tables with their lead."""
    lines = ["| table | splits | method |" + "".join(f" k = {k} |" for k in PLACES), "|---" * (3 + len(PLACES)) + "|"]
    for name in _names(rows):
        for method, label in LABELS.items():
            own = [row for row in rows if (row["table"], row["method"]) == (name, method)]
            if own:
                cells = "".join(f" {_mean(own, k)} |" for k in PLACES)
                lines.append(f"| {name} | {len({row['split'] for row in own})} | {label} |{cells}")
    for rival in ("gdfs", "dime"):
        leads = [_leads(rows, rival, k) for k in PLACES]
        cells = "".join(
            f" {np.mean(one):+.1f} ({sum(x > 0 for x in one)} of {len(one)}) |" if one else " |" for one in leads
        )
        lines.append(f"| mean | | ahead of {LABELS[rival]} (on so many tables) |{cells}")
    return "\n".join(lines)


def _mean(rows: list[dict[str, Any]], k: int) -> str:
    found = [row["score"] for row in rows if row.get("k") == k]
    return f"{np.mean(found):.1f}" if found else ""


def _leads(rows: list[dict[str, Any]], rival: str, k: int) -> list[float]:
    """By how much ours is ahead on each table, on the splits that both have."""
    scores = {(row["table"], row["split"], row["method"]): row["score"] for row in rows if row.get("k") == k}
    leads: dict[str, list[float]] = {}
    for (name, number, method), value in scores.items():
        if method == rival and (name, number, "sklar") in scores:
            leads.setdefault(name, []).append(scores[name, number, "sklar"] - value)
    return [float(np.mean(one)) for one in leads.values()]


def prices_table(rows: list[dict[str, Any]]) -> str:
    """Markdown: what each budget buys, ours / GDFS / DIME / DIME fitted with the prices."""

    def cell(name: str, budget: float) -> list[float]:
        return [_mean_at(rows, name, method, "budget", budget) for method in METHODS]

    def shown(name: str, budget: float) -> str:
        return " / ".join(f"{value:.1f}" for value in cell(name, budget))

    return _side_by_side([f"budget {b}" for b in BUDGETS], BUDGETS, _complete(rows, METHODS), cell, shown)


def stopping_table(rows: list[dict[str, Any]]) -> str:
    """Markdown: accuracy (features a row) when sure, ours / DIME / DIME stopped by worth at as many as ours."""

    def cell(name: str, confidence: float) -> list[float]:
        ours, dime = (_mean_at(rows, name, method, "confidence", confidence) for method in ("sklar", "dime"))
        return [ours, dime, _by_worth(rows, name, _mean_at(rows, name, "sklar", "confidence", confidence, "features"))]

    def shown(name: str, confidence: float) -> str:
        features = [_mean_at(rows, name, method, "confidence", confidence, "features") for method in ("sklar", "dime")]
        ours, dime, by_worth = cell(name, confidence)
        return f"{ours:.1f} ({features[0]:.1f}) / {dime:.1f} ({features[1]:.1f}) / {by_worth:.1f}"

    names = [name for name in _complete(rows, ("sklar", "dime")) if np.isfinite(cell(name, 0.8)).all()]
    return _side_by_side([f"P = {c}" for c in SHOWN_CONFIDENCES], SHOWN_CONFIDENCES, names, cell, shown)


def _side_by_side(
    heads: list[str],
    places: tuple[float, ...],
    names: list[str],
    cell: Callable[[str, float], list[float]],
    shown: Callable[[str, float], str],
) -> str:
    """A line for each table, and one of our mean lead over each of the others in a cell, on how many tables."""
    lines = ["| table |" + "".join(f" {head} |" for head in heads), "|---" * (1 + len(heads)) + "|"]
    lines += [f"| {name} |" + "".join(f" {shown(name, place)} |" for place in places) for name in names]
    leads = [np.array([cell(name, place) for name in names]) for place in places]
    texts = [
        " / ".join(f"{lead.mean():+.1f} ({(lead > 0).sum()} of {len(names)})" for lead in (of[:, :1] - of[:, 1:]).T)
        for of in leads
        if len(names)
    ]
    return "\n".join([*lines, "| our mean lead |" + "".join(f" {text} |" for text in texts)])


def _by_worth(rows: list[dict[str, Any]], name: str, features: float) -> float:
    """The accuracy of DIME, stopped where nothing is worth a price, at so many features a row."""
    pairs = [[_mean_at(rows, name, "dime", "worth", w, what) for what in ("features", "score")] for w in WORTHS]
    return float(np.interp(features, *zip(*sorted(pairs), strict=True)))


def _complete(rows: list[dict[str, Any]], methods: Iterable[str]) -> list[str]:
    """The tables that all these methods have rows of."""
    return [
        name for name in _names(rows) if all((name, m) in {(r["table"], r["method"]) for r in rows} for m in methods)
    ]


def _names(rows: list[dict[str, Any]]) -> list[str]:
    return [name for name in TABLES if any(row["table"] == name for row in rows)]


def _mean_at(rows: list[dict[str, Any]], name: str, method: str, rule: str, at: float, what: str = "score") -> float:
    """Over the splits; NaN where there are no rows."""
    found = [row[what] for row in rows if (row["table"], row["method"], row.get(rule)) == (name, method, at)]
    return float(np.mean(found)) if found else float("nan")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, a core each")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--table", action="store_true", help="print the table of the rows, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="a few steps, to see that it runs")
    args = parser.parse_args(arguments)
    rows = known(args.out)
    if not args.table:
        plans = [(t, s, m, args.quick) for s in range(args.splits) for t in args.tables for m in args.methods]
        rows += collect(measure, missing(plans, rows, KEY), args.out, args.jobs)
    print(table(rows), prices_table(rows), stopping_table(rows), sep="\n\n")


if __name__ == "__main__":
    main()
