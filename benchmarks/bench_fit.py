"""Line 7: time of a default fit against the paper's joint training and INVASE, each with one penalty, LassoNet's path,
TabNet's defaults and tuned boosted trees with TreeSHAP.

    python benchmarks/bench_fit.py

CPU time on one thread, where threads that wait for each other cannot burn any (--threads gives more), and time by the
clock. With TPR and FDR of what each selects for rows it was not fitted on (LassoNet and TabNet: see their functions).
Joint training's epochs, INVASE's iterations and TabNet's epochs are all alike: they are timed on a share and the rest
is multiplied up (--share 1 runs all; only then are TPR and FDR theirs). Ours chooses its penalty within its time; joint
training and INVASE need theirs given, or so many more fits as cross-validation asks for.
LassoNet and TabNet come from the packages `lassonet` and `pytorch-tabnet`, where installed.
TreeSHAP is what our penalty path is compared with: LightGBM, tuned over 20 settings by 5 folds as its users tune it,
and then the Shapley values of all training rows.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from measure import line, table
from sklearn.model_selection import KFold, RandomizedSearchCV

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.base import above_average
from sklar.paper.experiments.methods import PAPER_SYNTHETIC

INVASE_ITERATIONS = 10_000
JOINT_PENALTY = 0.03  # any: it does not change the time
TABNET_EPOCHS = 100  # its default
TREESHAP_SETTINGS, TREESHAP_FOLDS = 20, 5
TREESHAP_GRID = {
    "n_trees": [50, 100, 200, 400],
    "learning_rate": [0.02, 0.05, 0.1],
    "n_leaves": [7, 15, 31, 63],
    "min_leaf": [10, 20, 50],
}
# What ours may take at most, of each rival's time: (width, rival) -> ratio.
TARGETS = {(11, "INVASE"): 0.5, (100, "INVASE"): 1.0, (100, "LassoNet"): 1.0, (100, "TabNet"): 1.0}


class Seconds(NamedTuple):
    cpu: float
    clock: float

    def times(self, factor: float) -> Seconds:
        return Seconds(self.cpu * factor, self.clock * factor)


Fit = tuple[Seconds, Any]  # of all of it, and a function of rows that gives masks, or None


def sklar_fit(X: np.ndarray, y: np.ndarray, share: float) -> Fit:
    model = CopulaSelectorClassifier(device="cpu", random_state=0)
    return seconds_of(lambda: model.fit(X, y)), model.select


def joint_fit(X: np.ndarray, y: np.ndarray, share: float) -> Fit:
    """The paper's settings, all epochs."""
    words = {**dict(PAPER_SYNTHETIC), "objective": "joint", "penalty": JOINT_PENALTY, "validation_fraction": 0.0}
    epochs = max(1, round(share * words["max_epochs"]))
    model = CopulaSelectorClassifier(**{**words, "max_epochs": epochs}, device="cpu", random_state=0)
    seconds = seconds_of(lambda: model.fit(X, y)).times(words["max_epochs"] / epochs)
    return seconds, model.select if share >= 1 else None


def invase_fit(X: np.ndarray, y: np.ndarray, share: float) -> Fit:
    iterations = max(2, round(share * INVASE_ITERATIONS))
    model = REGISTRY["invase"](iterations=iterations, activation="selu", device="cpu", random_state=0)
    seconds = seconds_of(lambda: model.fit(X, y)).times(INVASE_ITERATIONS / iterations)
    return seconds, model.select if share >= 1 else None


def lassonet_fit(X: np.ndarray, y: np.ndarray, share: float) -> Fit:
    """The whole path at the package's defaults, as its cross-validation walks it; the best of the held-out path."""
    from lassonet import LassoNetClassifier

    model = LassoNetClassifier(random_state=0, torch_seed=0, device=torch.device("cpu"), verbose=0)
    held = len(X) // 5
    history: list = []

    def fit() -> None:
        history.extend(model.path(X[held:].astype(np.float32), y[held:], return_state_dicts=True))

    seconds = seconds_of(fit)
    scores = []
    for member in history:
        model.load(member)
        scores.append(model.score(X[:held].astype(np.float32), y[:held]))
    mask = history[int(np.argmax(scores))].selected.cpu().numpy()
    return seconds, lambda rows: np.broadcast_to(mask, rows.shape)


def tabnet_fit(X: np.ndarray, y: np.ndarray, share: float) -> Fit:
    """Its defaults, all epochs; selected is where a row's attention exceeds its mean."""
    from pytorch_tabnet.tab_model import TabNetClassifier

    epochs = max(1, round(share * TABNET_EPOCHS))
    state = np.random.get_state()  # noqa: NPY002 - its constructor seeds the global generators
    with torch.random.fork_rng():
        model = TabNetClassifier(verbose=0, device_name="cpu")
        seconds = seconds_of(lambda: model.fit(X, y, max_epochs=epochs)).times(TABNET_EPOCHS / epochs)
    np.random.set_state(state)  # noqa: NPY002
    return seconds, (lambda rows: above_average(model.explain(rows)[0])) if share >= 1 else None


def treeshap_fit(X: np.ndarray, y: np.ndarray, share: float) -> Fit:
    """20 settings by 5 folds (fewer, multiplied up, only to see that it runs), then the values of all rows.

    Selected is where a row's |value| exceeds its mean.
    """
    settings = max(1, min(TREESHAP_SETTINGS, round(TREESHAP_SETTINGS * share / 0.05)))
    folds = KFold(TREESHAP_FOLDS, shuffle=True, random_state=0)
    trees = REGISTRY["treeshap"](random_state=0)
    search = RandomizedSearchCV(trees, TREESHAP_GRID, n_iter=settings, cv=folds, refit=True, random_state=0)
    tuning = seconds_of(lambda: search.fit(X, y)).times(TREESHAP_SETTINGS / settings)
    values = seconds_of(lambda: search.best_estimator_.scores(X))
    return Seconds(tuning.cpu + values.cpu, tuning.clock + values.clock), search.best_estimator_.select


RIVALS: dict[str, tuple[Callable[..., Fit], str | None]] = {
    "joint": (joint_fit, None),
    "INVASE": (invase_fit, None),
    "LassoNet": (lassonet_fit, "lassonet"),
    "TabNet": (tabnet_fit, "pytorch_tabnet"),
    "TreeSHAP": (treeshap_fit, "lightgbm"),
}


def seconds_of(work: Callable[[], object]) -> Seconds:
    cpu, clock = time.process_time(), time.perf_counter()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        work()
    return Seconds(time.process_time() - cpu, time.perf_counter() - clock)


def quality(select: Any, rows: np.ndarray, relevant: np.ndarray) -> str:
    if select is None:
        return "not run whole"
    masks = np.asarray(select(rows))
    return f"{true_positive_rate(relevant, masks):.1f}/{false_discovery_rate(relevant, masks):.1f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.05, help="of joint training's, INVASE's and TabNet's steps")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--widths", type=int, nargs="+", default=[11, 100])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=list(RIVALS))
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    args = parser.parse_args(arguments)
    if args.quick:
        args.share, args.rows, args.widths = 0.0005, 200, [11]
    torch.set_num_threads(args.threads)
    columns = ("features", "method", "CPU s", "ours to it", "clock, s", "ours to it", "TPR/FDR", "target")
    shares = f"{args.share:g} of joint training, INVASE and TabNet run"
    table(f"7. Fitting Syn4, {args.rows} rows, cpu, threads: {args.threads}, {shares}", columns)
    for width in args.widths:
        X, y, _ = make_synthetic("syn4", args.rows, width, random_state=0)
        rows, _, relevant = make_synthetic("syn4", args.rows, width, random_state=1)
        ours, select = sklar_fit(X, y, 1.0)
        line(width, "sklar", f"{ours.cpu:.1f}", "1x", f"{ours.clock:.1f}", "1x", quality(select, rows, relevant), "-")
        for name in args.rivals:
            fit, package = RIVALS[name]
            if package and importlib.util.find_spec(package) is None:
                line(width, name, f"not run: package {package!r} is not installed", *[""] * 5)
                continue
            theirs, select = fit(X, y, args.share)
            cells = [f"{value:.1f}" for value in theirs]
            ratios = [f"{mine / other:.2f}x" for mine, other in zip(ours, theirs, strict=True)]
            target = TARGETS.get((width, name))
            asked = f"at most {target:g}x" if target else "-"
            times = (cells[0], ratios[0], cells[1], ratios[1])
            line(width, name, *times, quality(select, rows, relevant), asked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory of the process: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
