"""Baselines on the data of their own papers or repositories, beside the number printed there.

    python benchmarks/fidelity.py --quick                       # does it run?
    python benchmarks/fidelity.py --cases invase l2x tabnet     # minutes to an hour on one core
    python benchmarks/fidelity.py --cases realx --device cuda   # MNIST: needs a GPU, and SKLAR_DATA
    python benchmarks/fidelity.py --table                       # for docs/baselines.md, from rows

One row is one number of one fit. Rows that are there already are not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from sklar.datasets import SYNTHETIC_NAMES, make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY
from sklar.paper.data import load_images
from sklar.paper.experiments.environment import commit
from sklar.paper.experiments.methods import TABNET
from sklar.paper.experiments.results import published
from sklar.paper.experiments.specs import spec_of
from sklar.paper.experiments.synthetic import NEEDS_K, K

N_ROWS = 10_000
# AUC on Syn1-6, table 1 of TabNet's paper.
TABNET_AUC = dict(zip(SYNTHETIC_NAMES, (0.682, 0.892, 0.897, 0.776, 0.789, 0.878), strict=True))
OF_INVASE = "INVASE's paper, table 1"
K_OF_INVASE = {**K, "syn2": 4}  # x3..x6 there


class Found(NamedTuple):
    """A number, and the one that was printed."""

    metric: str
    value: float
    printed: float
    source: str


def synthetic(method: str, name: str, options: argparse.Namespace) -> Iterator[Found]:
    """TPR and FDR on the INVASE authors' version of the data, as their paper prints them."""
    fitted, X, _, relevant = _on_synthetic(method, name, options)
    masks = fitted.select(X)
    for what, measure in (("TPR", true_positive_rate), ("FDR", false_discovery_rate)):
        printed = published()["table-11d", {"invase": "INVASE", "l2x": "L2X"}[method], f"{name} {what}"]
        yield Found(what, measure(relevant, masks), printed, OF_INVASE)


def tabnet(name: str, options: argparse.Namespace) -> Iterator[Found]:
    """AUC on the same data."""
    fitted, X, y, _ = _on_synthetic("tabnet", name, options)
    yield Found("AUC", roc_auc_score(y, fitted.predict_proba(X)[:, 1]), TABNET_AUC[name], "TabNet's paper, table 1")


def _on_synthetic(method: str, name: str, options: argparse.Namespace) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """A method at its settings, fitted to one draw, and another draw."""
    rows = options.rows or N_ROWS
    train, test = (
        make_synthetic(name, rows, variant="invase", random_state=2 * options.seed + part) for part in (0, 1)
    )
    method_of_paper = TABNET if method == "tabnet" else spec_of("table-11d").method(method)
    known = method_of_paper.params_for(False, name)
    given_k = {"k": K_OF_INVASE[name]} if method in NEEDS_K else {}
    return (_fit(method, *train[:2], options, **known, **given_k), *test)


def llspin(options: argparse.Namespace) -> Iterator[Found]:
    """R2 of the two linear groups of Demo0: around 1, y = -2 x1 + x2; around -1, y = x3 - 2 x4."""
    rng = np.random.default_rng(options.seed)
    first = rng.permutation(1000) < 500
    X = np.where(first, 1, -1)[:, None] + 0.5 * rng.standard_normal((1000, 4))
    y = (X * np.where(first[:, None], [-2, 1, 0, 0], [0, 0, 1, -2])).sum(axis=1)
    y = (y - y.min()) / np.ptp(y)
    words = {"selector_hidden": 10, "batch_size": 800, "iterations": 10_000, "scale": False}
    price = 5e-3 / y[:800].var()  # the baseline's target has variance 1
    fitted = _fit("llspin", X[:800], y[:800], options, penalty=price, **words)
    yield Found("R2", fitted.score(X[900:], y[900:]), 0.989, "Demo0 of jcyang34/lspin")


def lspin(options: argparse.Namespace) -> Iterator[Found]:
    """Accuracy on experiment 4: around 1 x1 x2 > .9 decides, around -1 x3^2 + x4^2 > 2.5; 46 columns say nothing."""
    rng = np.random.default_rng(options.seed)
    first = rng.permutation(1000) < 500
    X = np.where(first, 1, -1)[:, None] + 0.5 * rng.standard_normal((1000, 4))
    y = np.where(first, X[:, 0] * X[:, 1] < 0.9, (X[:, 2:] ** 2).sum(axis=1) < 2.5).astype(int)
    X = np.concatenate([X, 0.5 * rng.standard_normal((1000, 46))], axis=1)
    words = {"penalty": 1.34, "predictor_hidden": 200, "batch_size": 855, "iterations": 5000}  # by Adam, at 1e-3
    fitted = _fit("lspin", X[:855], y[:855], options, **words)
    yield Found("accuracy", 100 * fitted.score(X[855:], y[855:]), 94.0, "nonlinear example of jcyang34/lspin: 94 to 98")


def realx(options: argparse.Namespace) -> Iterator[Found]:
    """Accuracy on MNIST by its own predictor: 500 epochs of each network, lambda 5."""
    (X, y), (unseen, target) = (load_images("mnist", part) for part in ("train", "test"))
    words = {"penalty": 5.0, "iterations": 30_000, "warmup": 30_000, "learning_rate": 1e-4, "scale": False}
    fitted = _fit("realx", X, y, options, **words)
    yield Found("accuracy", 100 * fitted.score(unseen, target), 97.1, "example.ipynb of rajesh-lab/realx")


def _fit(method: str, X: np.ndarray, y: np.ndarray, options: argparse.Namespace, **words: Any) -> Any:
    if options.quick:
        words |= {"iterations": 3, "batch_size": 50} | ({"warmup": 3} if method == "realx" else {})
    return REGISTRY[method](random_state=options.seed, device=options.device, **words).fit(X, y)


CASES: dict[str, dict[str, Callable[[argparse.Namespace], Iterator[Found]]]] = {
    "invase": {name: (lambda options, name=name: synthetic("invase", name, options)) for name in SYNTHETIC_NAMES},
    "l2x": {name: (lambda options, name=name: synthetic("l2x", name, options)) for name in SYNTHETIC_NAMES},
    "tabnet": {name: (lambda options, name=name: tabnet(name, options)) for name in SYNTHETIC_NAMES},
    "llspin": {"two linear groups": llspin},
    "lspin": {"experiment 4": lspin},
    "realx": {"mnist": realx},
}


def measure(method: str, case: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of one fit."""
    start = time.perf_counter()
    found = list(CASES[method][case](options))
    about = {"method": method, "case": case, "seed": options.seed, "device": options.device, "commit": commit()}
    return [{**about, **number._asdict(), "seconds": time.perf_counter() - start} for number in found]


def table(rows: list[dict[str, Any]]) -> str:
    """Printed and measured, the mean over seeds; several numbers of a fit with a stroke between them."""
    lines = ["| method | data | number | printed | where | ours | seeds |", "|---|---|---|---|---|---|---|"]
    for method, case in dict.fromkeys((row["method"], row["case"]) for row in rows):
        mine = [row for row in rows if (row["method"], row["case"]) == (method, case)]
        of_metric = {metric: [row for row in mine if row["metric"] == metric] for metric in _names(mine, "metric")}
        printed, ours = (
            "/".join(_text(metric, float(np.mean([row[what] for row in some]))) for metric, some in of_metric.items())
            for what in ("printed", "value")
        )
        seeds = len(_names(mine, "seed"))
        cells = [f"`{method}`", case, "/".join(of_metric), printed, mine[0]["source"], ours, str(seeds)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _names(rows: list[dict[str, Any]], field: str) -> list[Any]:
    return list(dict.fromkeys(row[field] for row in rows))


def _text(metric: str, value: float) -> str:
    """Shares with three decimals, percent with one."""
    return f"{value:.3f}" if metric in ("AUC", "R2") else f"{value:.1f}"


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; none where there is no such file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Measure what is missing, or print the table of rows."""
    options = parse(arguments)
    rows = rows_of(options.out)
    done = {(row["method"], row["case"], row["seed"]) for row in rows}
    wanted = [(method, case) for method in options.cases for case in CASES[method] if case in (options.data or [case])]
    for method, case in wanted if not options.table else []:
        if (method, case, options.seed) in done:
            continue
        new = measure(method, case, options)
        rows += new
        print(table(new).splitlines()[-1], f"{new[0]['seconds']:.0f} s", flush=True)
        with options.out.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in new)
    print(table(rows))
    return rows


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--data", nargs="+", help="of these cases, only the data sets named")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("results/fidelity.jsonl"))
    parser.add_argument("--table", action="store_true", help="only print the table of the rows in --out")
    parser.add_argument("--quick", action="store_true", help="a few steps on few rows")
    options = parser.parse_args(arguments)
    options.rows = 200 if options.quick else None
    return options


if __name__ == "__main__":
    main()
