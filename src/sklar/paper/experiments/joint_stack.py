"""The paper's training of many data sets of one size, side by side: one replica each.

All share the order of their batches, not their weights or noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.model.selection import Architecture, SelectionModel
from sklar.paper.experiments.stacks import Answers, Table, blocks, known_words, stack_tables
from sklar.table.scaling import Scaling
from sklar.training.engine.loop import LoopSettings, train
from sklar.training.engine.runtime import generator_on
from sklar.training.penalty_path import choose_penalty, penalty_grid
from sklar.training.tasks import Task, joint_loss

HELD_SHARE = 0.2  # of the rows, kept aside where the penalty is chosen
JOINT_DEFAULTS: dict[str, Any] = {
    "penalty": 0.0,
    "covariance": "low-rank",
    "n_factors": 8,
    "temperature": 1.0,
    "step_exponent": 0.0,
    "correlation_strength": 1.0,
    "choice_hidden": 100,
    "predict_hidden": 200,
    "activation": "relu",
    "loadings_activation": "tanh",
    "loadings_precision": "float32",
    "max_epochs": 1000,
    "batch_size": 1000,
    "learning_rate": 1e-3,
    "weight_decay": 1e-3,
    "scaling": "column",
}


@dataclass(frozen=True)
class JointStack:
    """Many joint fits in one: replica p is problem p."""

    model: SelectionModel
    scalings: list[Scaling]
    penalties: list[float]
    seconds: float

    def answers(self, problem: int, X: np.ndarray, y: np.ndarray) -> Answers:
        """What replica `problem` says about rows X, without noise."""

        def answer(model: SelectionModel, x: Tensor) -> Tensor:
            mask = model.decide(model.scores(x))
            output = model.output(x, mask.to(x.dtype)).argmax(-1, keepdim=True)
            return torch.cat([mask.to(torch.int64), output], dim=-1)

        both = self.map_rows(problem, X, answer)
        return Answers(both[:, :-1] > 0, float(100 * (both[:, -1] == y).mean()))

    def map_rows(self, problem: int, X: np.ndarray, answer: Callable[[SelectionModel, Tensor], Tensor]) -> np.ndarray:
        """`answer(model, x)` with x (1, n, d), in blocks of rows, where the model is: (n, ...)."""
        device = next(self.model.parameters()).device
        model = self.model.replica(problem).to(device).eval()
        with torch.inference_mode():
            parts = [
                answer(model, torch.from_numpy(self.scalings[problem].apply(X[part])).float()[None].to(device))[0].cpu()
                for part in blocks(len(X))
            ]
        return torch.cat(parts).numpy()


def fit_joint_stack(
    data: list[Table],
    words: dict[str, Any],
    device: torch.device,
    seed: int,
    k: int | None = None,
    families: list[str] | None = None,
) -> JointStack:
    """The paper's training of data sets (X, y) of one shape, side by side, with no early stop.

    With penalty="auto" the first problem of every family trains a path of penalties and keeps the sparsest within one
    standard error of the best, on a fifth of its rows; then all problems train with the penalty of their family, on
    all rows. A family is one data set, drawn several times; without `families` every problem is one.
    """
    words = known_words(JOINT_DEFAULTS, words, "joint training")
    task = Task(int(max(y.max() for _, y, *_ in data)) + 1)
    start = time.perf_counter()
    scalings, x, y = stack_tables(data, words["scaling"], device)
    names = families or [str(p) for p in range(len(data))]
    if words["penalty"] == "auto":
        firsts = [names.index(name) for name in dict.fromkeys(names)]
        found = _path_choices(x[firsts], y[firsts], task, words, seed, k)
        by_name = dict(zip(dict.fromkeys(names), found, strict=True))
        penalties = [by_name[name] for name in names]
    else:
        penalties = [float(words["penalty"])] * len(data)
    model = _trained(x, y, task, penalties, words, seed, k)
    return JointStack(model.eval(), scalings, penalties, time.perf_counter() - start)


def _path_choices(x: Tensor, y: Tensor, task: Task, words: dict[str, Any], seed: int, k: int | None) -> list[float]:
    """The penalty of each problem, from a path trained on four fifths of its rows."""
    problems, n_held = len(x), round(HELD_SHARE * x.shape[1])
    grid = penalty_grid(float(np.log(task.n_outputs)))
    held_x, held_y, rows_x, rows_y = (
        part.repeat_interleave(len(grid), 0) for part in (x[:, :n_held], y[:, :n_held], x[:, n_held:], y[:, n_held:])
    )
    model = _trained(rows_x, rows_y, task, grid * problems, words, seed, k)
    with torch.no_grad():
        mask = model.decide(model.scores(held_x)).to(x.dtype)
        losses = task.row_loss(model.output(held_x, mask), held_y).unflatten(0, (problems, -1)).cpu().numpy()
    sizes = mask.sum(-1).mean(-1).view(problems, -1).cpu().numpy()
    return [grid[choose_penalty(grid, losses[p], sizes[p]).member] for p in range(problems)]


def _trained(
    x: Tensor, y: Tensor, task: Task, penalties: list[float], words: dict[str, Any], seed: int, k: int | None
) -> SelectionModel:
    """One replica for each of the rows (R, n, d) and penalties, trained side by side."""
    model = SelectionModel(
        _architecture(words, x.shape[2], task, k, len(penalties)), torch.Generator().manual_seed(seed)
    ).to(x.device)
    generator = generator_on(x.device, seed)
    price = torch.tensor(penalties, device=x.device).unsqueeze(1)
    settings = LoopSettings(
        max_epochs=words["max_epochs"],
        batch_size=words["batch_size"],
        learning_rate=words["learning_rate"],
        weight_decay=words["weight_decay"],
        patience=words["max_epochs"],
    )

    def step_loss(rows: Tensor) -> Tensor:
        return joint_loss(model, task, x[:, rows], y[:, rows], price, generator)

    train(model, step_loss, x.shape[1], settings, generator)
    return model


def _architecture(words: dict[str, Any], d: int, task: Task, k: int | None, replicas: int) -> Architecture:
    return Architecture(
        n_features=d,
        n_outputs=task.n_outputs,
        k=k,
        covariance=words["covariance"],
        n_factors=min(d, k or d if words["n_factors"] == "k" else words["n_factors"]),
        temperature=float(words["temperature"]),
        step_exponent=float(words["step_exponent"]),
        correlation_strength=float(words["correlation_strength"]),
        choice_hidden=words["choice_hidden"],
        predict_hidden=words["predict_hidden"],
        activation=words["activation"],
        loadings_activation=words["loadings_activation"],
        loadings_precision=words["loadings_precision"],
        replicas=replicas,
    )
