"""The paper's training: ChoiceNet and PredictNet minimise one loss together.

It can leak: ChoiceNet may tell PredictNet the answer through its choice of features. It is kept as the paper's
method and as the rival of the honest objective. Models train side by side as replicas: a user's fit is one problem with
a path of penalties, the bench's many problems.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.model.blocks import correlated_blocks
from sklar.model.gates import Gates
from sklar.model.selection import Architecture, SelectionModel
from sklar.training.data import Trained, TrainingData, combined, with_defaults
from sklar.training.engine.checkpoint import Checkpoint
from sklar.training.engine.loop import LoopSettings, Record, train
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import generator_on, spawn_seeds
from sklar.training.engine.team import Team
from sklar.training.penalty_path import HIGHEST_PRICE, PathChoice, choose_penalty, penalty_grid
from sklar.training.tasks import Task, joint_loss, mean_loss, noiseless_loss

# What an estimator's parameter left at None stands for; the widths are the paper's.
DEFAULTS: dict[str, Any] = {"predict_hidden": 200, "learning_rate": 1e-3, "weight_decay": 1e-3, "max_epochs": 1000}
# Fewer rows than this are all needed for training: none is kept aside.
FEWEST_ROWS_TO_SPLIT = 50


class Rows(NamedTuple):
    """Rows of R replicas, or those that all replicas share."""

    x: Tensor  # (R or 1, n, D)
    y: Tensor  # (R, n) or (n,)
    weight: Tensor | None = None  # (n,); None is 1

    def __len__(self) -> int:
        return self.x.shape[1]


def train_joint(
    params: dict[str, Any],
    data: TrainingData,
    task: Task,
    k: int | None,
    seed: int,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train as an estimator's parameters say; `n_models` of them become one ensemble."""
    if Team.current().size > 1:
        raise ValueError('objective="joint" trains in one process: a batch is normalised whole; use "honest", or one')
    params, task = with_defaults(params, DEFAULTS), task.to(data.x.device)
    seeds = spawn_seeds(seed, params["n_models"]) if params["n_models"] > 1 else [seed]
    run = Run(checkpoint=checkpoint)
    return combined([_train_one(params, data, task, k, each, run) for each in seeds])


def _train_one(params: dict[str, Any], data: TrainingData, task: Task, k: int | None, seed: int, run: Run) -> Trained:
    """One problem; with penalty="auto" a path of penalties as replicas, one of which is kept."""
    gates, union = data.gates, list(range(data.gates.n))
    rows, held = _split(data, params["validation_fraction"], seed)
    of_input = None if gates.of_input is None else gates.of_input.numpy()
    is_block = params["covariance"] == "block"
    blocks = correlated_blocks(data.x.cpu().numpy(), of_input=of_input) if is_block else ()
    penalty = params.get("penalty", 0.0)
    penalties = _path_of(rows, held, task) if penalty == "auto" else [float(penalty)]
    cost = None if gates.cost is None else gates.cost.to(data.x.device)
    architecture, settings = joint_architecture(params, task, k, gates, blocks), loop_settings(params)
    rounded = params["mask"] == "rounded"
    model, history = fit_replicas(rows, task, architecture, penalties, settings, seed, held, cost, run, rounded)
    if len(penalties) == 1:
        return Trained(model, union, penalties[0], {}, history)
    (choice,) = choose_penalties(model, held, task, penalties)
    return Trained(model.replica(choice.member), union, penalties[choice.member], choice.path, history)


def fit_replicas(
    rows: Rows,
    task: Task,
    architecture: Architecture,
    penalties: list[float],
    settings: LoopSettings,
    seed: int,
    held: Rows | None = None,
    cost: Tensor | None = None,
    run: Run | None = None,
    rounded: bool = False,
    network: type[SelectionModel] = SelectionModel,
) -> tuple[SelectionModel, list[Record]]:
    """Train one replica for each of R penalties, side by side; with `held` rows, stop early by their loss.

    Feature i has the price penalty * cost_i; no `cost` (d,) is 1. Masks are relaxed, or `rounded` (see `joint_loss`).
    """
    model = network(replace(architecture, replicas=len(penalties)), torch.Generator().manual_seed(seed))
    model.to(rows.x.device)
    if rows.weight is not None and task.n_classes:  # begin from what the weights alone say
        shares = torch.bincount(rows.y, rows.weight, task.n_classes) / rows.weight.sum()
        model.predict.last.bias.data.copy_(shares.clamp_min(1e-12).log().expand_as(model.predict.last.bias))
    generator = generator_on(rows.x.device, seed)
    price = torch.tensor(penalties, device=rows.x.device).clamp_max(HIGHEST_PRICE).unsqueeze(1)  # (R, 1)
    if cost is not None:
        cost = cost.clamp_max(HIGHEST_PRICE / max(float(price.min()), 1e-12))

    def step_loss(batch: Tensor) -> Tensor:
        weight = None if rows.weight is None else rows.weight[batch]
        return joint_loss(model, task, rows.x[:, batch], rows.y[..., batch], price, generator, cost, weight, rounded)

    def held_loss() -> Tensor:
        assert held is not None
        return mean_loss(noiseless_loss(model, task, held.x, held.y, price, cost), held.weight).sum()

    validation_loss = held_loss if held and len(held) else None
    return model, train(model, step_loss, len(rows), settings, generator, validation_loss, run)


@torch.no_grad()
def choose_penalties(
    model: SelectionModel, held: Rows, task: Task, penalties: list[float], n_problems: int = 1
) -> list[PathChoice]:
    """The penalty of each problem by held rows; replicas are ordered by problem, then by penalty."""
    mask = model.decide(model.scores(held.x)).to(held.x.dtype)
    losses = task.batch_loss(model.output(held.x, mask), held.y).unflatten(0, (n_problems, -1)).cpu().numpy()
    sizes = mask.sum(-1).mean(-1).view(n_problems, -1).cpu().numpy()
    weight = None if held.weight is None else held.weight.cpu().numpy()
    return [choose_penalty(penalties, losses[p], sizes[p], weight) for p in range(n_problems)]


def joint_architecture(
    params: dict[str, Any], task: Task, k: int | None, gates: Gates, blocks: tuple[tuple[int, ...], ...] = ()
) -> Architecture:
    """The networks that parameters stand for."""
    return Architecture(
        n_features=gates.n,
        n_outputs=task.n_outputs,
        output_kind=task.kind,
        k=k,
        covariance=params["covariance"],
        n_factors=min(params["n_factors"], gates.n),
        blocks=blocks,
        temperature=float(params["temperature"]),
        step_exponent=float(params.get("step_exponent", 0.0)),
        correlation_strength=float(params.get("correlation_strength", 1.0)),
        choice_hidden=params["choice_hidden"],
        predict_hidden=params["predict_hidden"],
        activation=params["activation"],
        loadings_activation=params["loadings_activation"],
        loadings_precision=params.get("loadings_precision", "float32"),
        gate_of_input=() if gates.of_input is None else tuple(gates.of_input.tolist()),
        forced=() if gates.forced is None else tuple(torch.nonzero(gates.forced).squeeze(1).tolist()),
        min_features=params.get("min_features", 0),
    )


def loop_settings(params: dict[str, Any]) -> LoopSettings:
    """How long and how fast parameters say; without `patience` there is no early stop."""
    return LoopSettings(
        max_epochs=params["max_epochs"],
        batch_size=params["batch_size"],
        learning_rate=params["learning_rate"],
        weight_decay=params["weight_decay"],
        patience=params.get("patience", params["max_epochs"]),
        verbose=bool(params.get("verbose", False)),
    )


def _split(data: TrainingData, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows kept aside (possibly none)."""
    n = len(data.x)
    n_held = round(fraction * n) if n >= FEWEST_ROWS_TO_SPLIT else 0
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(data.x.device)
    kept, held = (
        Rows(data.x[part].unsqueeze(0), data.y[part], None if data.weight is None else data.weight[part])
        for part in (order[n_held:], order[:n_held])
    )
    return kept, held


def _path_of(rows: Rows, held: Rows, task: Task) -> list[float]:
    """Penalties relative to the loss of the best constant prediction; one middling penalty without held rows."""
    y = rows.y
    if task.kind not in ("classes", "values"):  # of outputs 0: a loss is a mean over rows of about this
        scale = float(task.batch_loss(rows.x.new_zeros(len(rows), task.n_outputs), y).abs().mean())
    elif task.kind == "values":
        scale = 1.0 if y.dtype == torch.long else float(y.double().var(correction=0))
    else:
        shares = np.bincount(y.cpu().numpy(), minlength=task.n_outputs) / len(y)
        scale = float(-np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    grid = penalty_grid(scale)
    return grid if len(held) else [grid[len(grid) // 2]]
