"""What one fit gives at every price and every k, beside fits of their own.

    SKLAR_DATA=... python benchmarks/one_fit.py                 # all tables, 2 splits
    SKLAR_DATA=... python benchmarks/one_fit.py --tables phoneme syn4 --kinds k --splits 1 --jobs 2
    SKLAR_DATA=... python benchmarks/one_fit.py --tables phoneme --kinds k --wide-steps 400   # another length
    SKLAR_DATA=... python benchmarks/one_fit.py --tables mnist --kinds k --splits 1 --device cuda
    python benchmarks/one_fit.py --table                        # the rows as Markdown

`k`: one ranker of k = 5 (phoneme: 4, MNIST: 40), asked for fewer; `prefix` is the first features of its own ranking.
`penalty`: one selector with penalty="auto", asked along its path. Scores are of test rows by the model's own predictor:
accuracy, or R^2, in percent. Seconds are of CPU time, on a GPU of the clock; `time` is those of the fit with what
answers at other prices to those without. One JSON row per fit goes to --out, and is not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed

import sklar
from sklar.datasets import load_table, make_synthetic
from sklar.fitted import FittedModel
from sklar.paper.data import load_images
from sklar.training.honest import fit as honest
from sklar.training.honest.settings import BESIDE, HonestSettings, Schedule

TABLES = ("spambase", "phoneme", "wine-quality-white", "segment", "credit-g", "abalone", "adult", "syn4", "syn6")
MOST_TRAINING_ROWS, MOST_TEST_ROWS = 8_000, 8_000
STEPS = {"k": Schedule().count_steps, "penalty": Schedule().wide_steps}  # of what answers elsewhere
Split = tuple[str, Any, np.ndarray, Any, np.ndarray]


def largest(name: str) -> int:
    """The k of the ranker that is asked for fewer."""
    return {"phoneme": 4, "mnist": 40}.get(name, 5)  # phoneme has five features


def fewer(name: str) -> tuple[int, ...]:
    """What it is asked for."""
    return (10, 20, 30) if name == "mnist" else (1, 2, 3)


def split(name: str, number: int) -> Split:
    """Task, and rows to learn from and to test on with their targets."""
    if name == "mnist":
        return ("classification", *load_images(name, "train"), *load_images(name, "test"))
    if name.startswith("syn"):
        (X, y, _), (X_new, y_new, _) = (make_synthetic(name, 10_000, random_state=2 * number + i) for i in (0, 1))
        return "classification", X, y, X_new, y_new
    table = load_table(name)
    order = np.random.default_rng(number).permutation(len(table.y))
    n = min(round(0.7 * len(order)), MOST_TRAINING_ROWS)
    parts = order[:n], order[n : n + MOST_TEST_ROWS]
    (X, y), (X_new, y_new) = ((_rows(table.X, part), table.y[part]) for part in parts)
    return table.task, X, y, X_new, y_new


def _rows(X: Any, part: np.ndarray) -> Any:
    if isinstance(X, dict):
        return {name: values[part] for name, values in X.items()}
    return X.iloc[part] if hasattr(X, "iloc") else X[part]


def measure(name: str, number: int, kind: str, asked: float | None, steps: int, **how: Any) -> dict[str, Any]:
    """One fit: with `asked` one of its own at that penalty or k, else one that is asked at all of them."""
    torch.set_num_threads(1)
    task, X, y, X_new, y_new = split(name, number)
    maker = ("Ranker" if kind == "k" else "Selector") + ("Classifier" if task == "classification" else "Regressor")
    given = {kind: asked} if asked is not None else ({"k": largest(name)} if kind == "k" else {})
    estimator = getattr(sklar, f"Copula{maker}")(**given, random_state=number, device=how["device"])
    estimator.set_params(max_epochs=how["epochs"])
    fitted, seconds, beside = timed_fit(estimator, X, y, steps / STEPS[kind])
    rows = fitted.read(X_new)

    def answer(model: FittedModel) -> dict[str, float]:
        said, size = model.predictions(rows), float(model.masks(rows).sum(1).mean())
        score = (said == y_new).mean() if task == "classification" else 1 - np.mean((said - y_new) ** 2) / np.var(y_new)
        return {"score": round(100 * float(score), 2), "features": round(size, 2)}

    where = {"table": name, "split": number, "kind": kind, "asked": asked, "wide_steps": steps}
    row = {**where, **how, "seconds": round(seconds, 1), "beside": round(beside, 1), **answer(fitted)}
    if asked is None and kind == "k":
        row["at"] = {str(k): answer(fitted.at(k=k)) for k in fewer(name)}
        row["prefix"] = {str(k): answer(replace(fitted, priced=None).at(k=k)) for k in fewer(name)}
    elif asked is None:
        row["at"] = {f"{p:.6g}": answer(fitted.at(penalty=p)) for p in fitted.path["penalty"]}
    return row


def timed_fit(estimator: Any, X: Any, y: np.ndarray, times: float) -> tuple[FittedModel, float, float]:
    """The model, the seconds of its fit, and how many of them went to what answers at other prices."""
    clock = time.perf_counter if estimator.device == "cuda" else time.process_time
    beside, trainers = 0.0, (honest.train_counts, honest.train_prices)

    def timed(train: Any) -> Any:
        def run(*given: Any) -> Any:
            nonlocal beside
            start = clock()
            found = train(*(longer(one, times) if isinstance(one, HonestSettings) else one for one in given))
            beside += clock() - start
            return found

        return run

    honest.train_counts, honest.train_prices = map(timed, trainers)
    start = clock()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return estimator.fit(X, y).fitted_, clock() - start, beside
    finally:
        honest.train_counts, honest.train_prices = trainers


def longer(settings: HonestSettings, times: float) -> HonestSettings:
    """The settings of a fit whose second selector, or ranker, is trained so many times as long."""
    steps = {name: max(2, round(getattr(settings.schedule, name) * times)) for name in BESIDE}
    return replace(settings, schedule=replace(settings.schedule, **steps))


def own_fits(first: dict[str, Any]) -> list[tuple[str, int, str, float]]:
    """The fits to compare with one that was asked at all prices: every k, and every other penalty."""
    where = first["table"], first["split"], first["kind"]
    asked = [int(k) for k in first["at"]] if first["kind"] == "k" else [float(p) for p in list(first["at"])[2::2]]
    return [(*where, one) for one in asked]


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: one fit beside those of its own, means over splits."""
    own = {_key(row)[:4]: row for row in rows if row["asked"] is not None}
    columns = ("table", "asked", "steps", "one fit", "features", "own fit", "features", "prefix", "time")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    pairs: dict[tuple[str, str, int], list[list[float]]] = {}
    for row in (row for row in rows if row["asked"] is None):
        for place, key in enumerate(own_fits(row)):
            if key in own:
                label = f"k = {key[3]}" if key[2] == "k" else f"price {2 * place + 3} of 8"
                pairs.setdefault((key[0], label, row["wide_steps"]), []).append(_beside(row, own[key]))
    for where, values in sorted(pairs.items()):
        cells = ["" if np.isnan(v) else f"{v:.2f}" for v in np.mean(values, axis=0)]
        lines.append(f"| {' | '.join(map(str, where))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _beside(row: dict[str, Any], other: dict[str, Any]) -> list[float]:
    """Of a fit that was asked at all prices, beside one of its own."""
    asked = f"{other['asked']:.6g}"
    one, prefix = row["at"][asked], row.get("prefix", {}).get(asked, {"score": np.nan})
    time_of = row["seconds"] / (row["seconds"] - row["beside"])
    return [one["score"], one["features"], other["score"], other["features"], prefix["score"], time_of]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What is measured once; how long the second selector learns is nothing to a fit of its own."""
    where = row["table"], row["split"], row["kind"], row["asked"]
    return (*where, row["wide_steps"]) if row["asked"] is None else where


def _missing(firsts: list[Any], rows: list[dict[str, Any]]) -> list[Any]:
    """What is not measured yet, of fits that are asked at all prices and of those to compare them with."""
    own = [one for row in rows if _key(row) in firsts for one in own_fits(row)]
    done = {_key(row) for row in rows}
    return [one for one in dict.fromkeys([*firsts, *own]) if one not in done]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--kinds", nargs="+", default=("k", "penalty"))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--wide-steps", type=int, help="of what answers at other prices; default: as many as it takes")
    parser.add_argument("--epochs", type=int, help="of the fits; default: as many as they take")
    parser.add_argument("--out", type=Path, default=Path("results/one-fit.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the rows of --out")
    args = parser.parse_args(arguments)
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    if args.table:
        print(table(rows))
        return
    how = {"device": args.device, "epochs": args.epochs}
    steps = {kind: args.wide_steps or usual for kind, usual in STEPS.items()}
    firsts = [(t, s, k, None, steps[k]) for s in range(args.splits) for k in args.kinds for t in args.tables]
    while missing := _missing(firsts, rows):  # first those asked at all prices: they say which others there are to be
        work = (delayed(measure)(*one[:4], steps[one[2]], **how) for one in missing)
        with args.out.open("a") as file:
            for row in Parallel(args.jobs, return_as="generator_unordered")(work):
                rows.append(row)
                print(json.dumps(row), file=file, flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
