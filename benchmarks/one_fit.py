"""What one fit gives at every price and every k, beside fits of their own.

    SKLAR_DATA=... python benchmarks/one_fit.py                 # all tables, 2 splits
    SKLAR_DATA=... python benchmarks/one_fit.py --tables phoneme syn4 --kinds k --splits 1 --jobs 2
    python benchmarks/one_fit.py --table                        # the rows as Markdown

`k`: one ranker of k = 5 (4 for phoneme), asked for fewer; `prefix` is the first features of its own ranking. `penalty`:
one selector with penalty="auto", asked along its path. Scores are of test rows by the model's own predictor: accuracy,
or R^2, in percent. One JSON row per fit goes to --out; rows that are there are not measured again.
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

TABLES = ("spambase", "phoneme", "wine-quality-white", "segment", "credit-g", "abalone", "adult", "syn4", "syn6")
MOST_TRAINING_ROWS, MOST_TEST_ROWS = 8_000, 8_000
FEWER = (1, 2, 3)  # of a ranker's k


def split(name: str, number: int) -> tuple[str, Any, np.ndarray, Any, np.ndarray]:
    """Task, and rows to learn from and to test on with their targets."""
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


def measure(name: str, number: int, kind: str, asked: float | None) -> dict[str, Any]:
    """One fit: with `asked` one of its own at that penalty or k, else one that is asked at all of them."""
    torch.set_num_threads(1)
    task, X, y, X_new, y_new = split(name, number)
    maker = ("Ranker" if kind == "k" else "Selector") + ("Classifier" if task == "classification" else "Regressor")
    given = {kind: asked} if asked is not None else ({"k": _largest(name)} if kind == "k" else {})
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = getattr(sklar, f"Copula{maker}")(**given, random_state=number, device="cpu").fit(X, y).fitted_
    seconds = time.process_time() - start
    rows = fitted.read(X_new)

    def answer(model: FittedModel) -> dict[str, float]:
        said, size = model.predictions(rows), float(model.masks(rows).sum(1).mean())
        score = (said == y_new).mean() if task == "classification" else 1 - np.mean((said - y_new) ** 2) / np.var(y_new)
        return {"score": round(100 * float(score), 2), "features": round(size, 2)}

    row = {"table": name, "split": number, "kind": kind, "asked": asked, "cpu_s": round(seconds, 1), **answer(fitted)}
    if asked is None and kind == "k":
        row["at"] = {str(k): answer(fitted.at(k=k)) for k in FEWER}
        row["prefix"] = {str(k): answer(replace(fitted, priced=None).at(k=k)) for k in FEWER}
    elif asked is None:
        row["at"] = {f"{p:.6g}": answer(fitted.at(penalty=p)) for p in fitted.path["penalty"]}
    return row


def _largest(name: str) -> int:
    return 4 if name == "phoneme" else 5  # it has five features


def own_fits(first: dict[str, Any]) -> list[tuple[str, int, str, float]]:
    """The fits to compare with one that was asked at all prices: every k, and every other penalty."""
    where = first["table"], first["split"], first["kind"]
    asked = [int(k) for k in first["at"]] if first["kind"] == "k" else [float(p) for p in list(first["at"])[2::2]]
    return [(*where, one) for one in asked]


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: one fit beside those of its own, means over splits and, for penalties, over the path."""
    own = {_key(row): row for row in rows if row["asked"] is not None}
    lines = ["| table | asked | one fit | features | own fit | features | prefix |", "|---|---|---|---|---|---|---|"]
    pairs: dict[tuple[str, str], list[list[float]]] = {}
    for row in (row for row in rows if row["asked"] is None):
        for place, (name, number, kind, asked) in enumerate(own_fits(row)):
            other = own.get((name, number, kind, asked))
            if other is None:
                continue
            text = str(asked) if kind == "k" else f"{asked:.6g}"
            one, prefix = row["at"][text], row.get("prefix", {}).get(text, {"score": np.nan})
            label = f"k = {text}" if kind == "k" else f"price {2 * place + 3} of 8"
            values = [one["score"], one["features"], other["score"], other["features"], prefix["score"]]
            pairs.setdefault((name, label), []).append(values)
    for (name, label), values in sorted(pairs.items()):
        cells = ["" if np.isnan(v) else f"{v:.2f}" for v in np.mean(values, axis=0)]
        lines.append(f"| {name} | {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["table"], row["split"], row["kind"], row["asked"]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--kinds", nargs="+", default=("k", "penalty"))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/one-fit.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the rows of --out")
    args = parser.parse_args(arguments)
    rows = [json.loads(line) for line in args.out.read_text().splitlines()] if args.out.exists() else []
    if args.table:
        print(table(rows))
        return
    wanted: list[Any] = [(t, s, k, None) for s in range(args.splits) for k in args.kinds for t in args.tables]
    while True:  # fits that are asked at all prices first: they say which others there are to be
        done = {_key(row) for row in rows}
        missing = [one for one in wanted if one not in done]
        if not missing:
            break
        with args.out.open("a") as file:
            for row in Parallel(args.jobs, return_as="generator_unordered")(delayed(measure)(*one) for one in missing):
                rows.append(row)
                print(json.dumps(row), file=file, flush=True)
        firsts = [row for row in rows if row["asked"] is None and _key(row) in set(wanted)]
        wanted += [one for row in firsts for one in own_fits(row) if one not in set(wanted)]
    print(table(rows))


if __name__ == "__main__":
    main()
