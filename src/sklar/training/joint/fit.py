"""The paper's training: ChoiceNet and PredictNet minimise one loss together.

It can leak: ChoiceNet may tell PredictNet the answer through its choice of features. It is kept as the paper's
method and as the rival of the honest objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.model.selection import Architecture, SelectionModel
from sklar.training.engine.loop import LoopSettings, Record, train
from sklar.training.engine.runtime import generator_on
from sklar.training.penalty_path import PenaltyPath, choose_penalty, penalty_grid
from sklar.training.tasks import Task, joint_loss, mean_loss, noiseless_loss


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows kept aside (possibly none)."""

    x: Tensor
    y: Tensor
    held_x: Tensor
    held_y: Tensor
    weight: Tensor | None = None  # what rows count
    held_weight: Tensor | None = None


class JointFit(NamedTuple):
    """What training returns."""

    model: SelectionModel
    penalty: float
    path: PenaltyPath
    history: list[Record]


def fit_joint(
    split: Split,
    task: Task,
    architecture: Architecture,
    penalty: float | str,
    settings: LoopSettings,
    seed: int,
    cost: Tensor | None = None,
) -> JointFit:
    """Train on `split`; with penalty="auto", a path of penalties as replicas, one of which is kept.

    Feature i has the price penalty * cost_i; no `cost` (d,) is 1.
    """
    penalties = _path_of(split, task) if penalty == "auto" else [float(penalty)]
    model = SelectionModel(replace(architecture, replicas=len(penalties)), torch.Generator().manual_seed(seed))
    model.to(split.x.device)
    if split.weight is not None and task.n_classes:  # begin from what the weights alone say
        shares = torch.bincount(split.y, split.weight, task.n_classes) / split.weight.sum()
        model.predict.last.bias.data.copy_(shares.clamp_min(1e-12).log().expand_as(model.predict.last.bias))
    generator = generator_on(split.x.device, seed)
    price = torch.tensor(penalties, device=split.x.device).unsqueeze(1)  # (R, 1)
    x, held_x = split.x.unsqueeze(0), split.held_x.unsqueeze(0)

    def of_rows(rows: Tensor) -> Tensor | None:
        return None if split.weight is None else split.weight[rows]

    history = train(
        model,
        lambda rows: joint_loss(model, task, x[:, rows], split.y[rows], price, generator, cost, of_rows(rows)),
        len(split.x),
        settings,
        generator,
        (lambda: mean_loss(noiseless_loss(model, task, held_x, split.held_y, price, cost), split.held_weight).sum())
        if len(split.held_x)
        else None,
    )
    if len(penalties) == 1:
        return JointFit(model, penalties[0], {}, history)
    with torch.no_grad():
        mask = model.decide(model.scores(held_x)).to(x.dtype)
        losses = task.batch_loss(model.output(held_x, mask), split.held_y)
    held_weight = None if split.held_weight is None else split.held_weight.cpu().numpy()
    choice = choose_penalty(penalties, losses.cpu().numpy(), mask.sum(-1).mean(-1).cpu().numpy(), held_weight)
    return JointFit(model.replica(choice.member), penalties[choice.member], choice.path, history)


def _path_of(split: Split, task: Task) -> list[float]:
    """Penalties relative to the loss of the best constant prediction; one middling penalty without held rows."""
    if task.kind not in ("classes", "values"):  # of outputs 0: a loss is a mean over rows of about this
        scale = float(task.batch_loss(split.x.new_zeros(len(split.x), task.n_outputs), split.y).abs().mean())
    elif task.kind == "values":
        scale = 1.0 if split.y.dtype == torch.long else float(split.y.double().var(correction=0))
    else:
        shares = np.bincount(split.y.cpu().numpy(), minlength=task.n_outputs) / len(split.y)
        scale = float(-np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    grid = penalty_grid(scale)
    return grid if len(split.held_x) else [grid[len(grid) // 2]]
