"""From an estimator's words to a trained model: the one place where words meet settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.model.blocks import correlated_blocks
from sklar.model.ensemble import EnsembleModel
from sklar.model.gates import Gates
from sklar.model.selection import Architecture, GateModel
from sklar.training.engine.loop import LoopSettings, Record, progress_bar
from sklar.training.engine.runtime import spawn_seeds
from sklar.training.honest.fit import Schedule, fit_honest
from sklar.training.honest.predictors import PredictorSettings
from sklar.training.honest.stage import SelectorSettings
from sklar.training.joint.fit import Split, fit_joint
from sklar.training.penalty_path import PenaltyPath
from sklar.training.tasks import Task

# What a word left at None stands for, by objective. Joint training has the paper's widths.
DEFAULTS: dict[str, dict[str, Any]] = {
    "honest": {"predict_hidden": 64, "learning_rate": 1e-2, "weight_decay": 0.1, "max_epochs": None},
    "joint": {"predict_hidden": 200, "learning_rate": 1e-3, "weight_decay": 1e-3, "max_epochs": 1000},
}
# Fewer rows than this are all needed for training: none is kept aside.
FEWEST_ROWS_TO_SPLIT = 50
# Rows for which honest training takes all its steps; fewer rows take fewer: more would learn their noise.
ROWS_OF_FULL_SCHEDULE = 3_000
SMALLEST_SHARE_OF_SCHEDULE = 0.03


class Rows(NamedTuple):
    """What there is to learn from."""

    x: Tensor  # scaled, (n, D)
    y: Tensor  # encoded, (n,)
    weight: Tensor | None  # (n,)
    gates: Gates


class Fitted(NamedTuple):
    """What training leaves an estimator with."""

    model: GateModel
    union: list[int]  # the features (gates) that the model reads
    penalty: float
    path: PenaltyPath
    history: list[Record]


def train(
    words: dict[str, Any],
    x: Tensor,
    y: Tensor,
    task: Task,
    k: int | None,
    seed: int,
    gates: Gates,
    weight: Tensor | None = None,
) -> Fitted:
    """Train on scaled rows x (n, D), encoded targets y (n,) and weights (n,) as an estimator's words say."""
    words, rows = _with_defaults(words), Rows(x, y, weight, gates)
    if words["objective"] == "honest" and not gates.known:
        return _combined(_train_honest(words, rows, task, k, seed, words["n_models"]))
    # What is known about gates is of one union: members that screen for themselves train one after the other.
    seeds = spawn_seeds(seed, words["n_models"]) if words["n_models"] > 1 else [seed]
    if words["objective"] == "honest":
        return _combined([_train_honest(words, rows, task, k, s, 1)[0] for s in seeds])
    return _combined([_train_joint(words, rows, task, k, s) for s in seeds])


def _combined(fits: list[Fitted]) -> Fitted:
    """One fit as it is; several as an ensemble, with the means of their penalties and paths."""
    if len(fits) == 1:
        return fits[0]
    model, union = EnsembleModel.of([fit.model for fit in fits], [fit.union for fit in fits])
    paths = [fit.path for fit in fits if fit.path]
    path = {key: np.mean([p[key] for p in paths], axis=0).tolist() for key in paths[0]} if paths else {}
    history: list[Record] = [{**record, "model": i} for i, fit in enumerate(fits) for record in fit.history]
    return Fitted(model, union, float(np.mean([fit.penalty for fit in fits])), path, history)


def _with_defaults(words: dict[str, Any]) -> dict[str, Any]:
    defaults = DEFAULTS[words["objective"]]
    return {name: defaults.get(name) if value is None else value for name, value in words.items()}


def honest_schedule(n: int, batch_size: int, max_epochs: int | None) -> Schedule:
    """All steps for 3,000 rows and more, fewer for fewer, and at most `max_epochs` passes over the rows."""
    full = Schedule()
    share = min(1.0, max(SMALLEST_SHARE_OF_SCHEDULE, n / ROWS_OF_FULL_SCHEDULE))
    if max_epochs is not None:
        share = min(share, max_epochs * -(-n // batch_size) / full.total)
    return full.scaled(share)


def honest_words(words: dict[str, Any], n: int, k: int | None) -> dict[str, Any]:
    """The keyword arguments of `fit_honest` that an estimator's words stand for, with n rows."""
    words = _with_defaults(words)
    settings = SelectorSettings(
        hidden=words["choice_hidden"],
        activation=words["activation"],
        learning_rate=words["learning_rate"],
        weight_decay=words["weight_decay"],
        covariance=words["covariance"],
        n_factors=words["n_factors"],
        k=k,
        min_features=words.get("min_features", 0),
        predictor=PredictorSettings(hidden=words["predict_hidden"], batch_size=words["batch_size"], k=k),
    )
    return {
        "penalty": words.get("penalty", 0.0),
        "settings": settings,
        "schedule": honest_schedule(n, words["batch_size"], words["max_epochs"]),
        "n_folds": words["n_folds"],
        "held_fraction": words["validation_fraction"],
    }


def _train_honest(
    words: dict[str, Any], rows: Rows, task: Task, k: int | None, seed: int, n_models: int
) -> list[Fitted]:
    """All models side by side, as replicas: each has its own folds, weights and draws."""
    arguments = honest_words(words, len(rows.x), k)
    x, y = (value.expand(n_models, *value.shape) for value in (rows.x, rows.y))
    weight = None if rows.weight is None else rows.weight.expand(n_models, -1)
    task = task.to(rows.x.device)
    steps = arguments["schedule"].steps_for(rows.gates.n, k)
    with progress_bar(steps, "training", bool(words["verbose"])) as bar:
        fit = fit_honest(x, y, task, **arguments, seed=seed, gates=rows.gates, weight=weight, report=bar.update)
    paths = [choice.path if choice else {} for choice in fit.choices]
    return [Fitted(fit.model(i), fit.union(i), fit.penalty(i), paths[i], fit.history[i]) for i in range(n_models)]


def _train_joint(words: dict[str, Any], rows: Rows, task: Task, k: int | None, seed: int) -> Fitted:
    x, gates, d = rows.x, rows.gates, rows.gates.n
    of_input = None if gates.of_input is None else gates.of_input.numpy()
    architecture = Architecture(
        n_features=d,
        n_outputs=task.n_outputs,
        output_kind=task.kind,
        k=k,
        covariance=words["covariance"],
        n_factors=min(words["n_factors"], d),
        blocks=correlated_blocks(x.cpu().numpy(), of_input=of_input) if words["covariance"] == "block" else (),
        temperature=float(words["temperature"]),
        choice_hidden=words["choice_hidden"],
        predict_hidden=words["predict_hidden"],
        activation=words["activation"],
        loadings_activation=words["loadings_activation"],
        gate_of_input=() if of_input is None else tuple(of_input.tolist()),
        forced=() if gates.forced is None else tuple(torch.nonzero(gates.forced).squeeze(1).tolist()),
        min_features=words.get("min_features", 0),
    )
    if k is not None:
        architecture = replace(
            architecture,
            step_exponent=float(words["step_exponent"]),
            correlation_strength=float(words["correlation_strength"]),
        )
    settings = LoopSettings(
        max_epochs=words["max_epochs"],
        batch_size=words["batch_size"],
        learning_rate=words["learning_rate"],
        weight_decay=words["weight_decay"],
        patience=words["patience"],
        verbose=bool(words["verbose"]),
    )
    split = _split(rows, words["validation_fraction"], seed)
    cost = None if gates.cost is None else gates.cost.to(x.device)
    fit = fit_joint(split, task.to(x.device), architecture, words.get("penalty", 0.0), settings, seed, cost)
    return Fitted(fit.model, list(range(d)), fit.penalty, fit.path, fit.history)


def _split(rows: Rows, fraction: float, seed: int) -> Split:
    x, y, weight = rows.x, rows.y, rows.weight
    n_held = round(fraction * len(x)) if len(x) >= FEWEST_ROWS_TO_SPLIT else 0
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed)).to(x.device)
    held, kept = order[:n_held], order[n_held:]
    of_kept, of_held = (None if weight is None else weight[part] for part in (kept, held))
    return Split(x[kept], y[kept], x[held], y[held], of_kept, of_held)
