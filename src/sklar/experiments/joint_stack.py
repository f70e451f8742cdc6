"""The paper's training of many data sets of one size, side by side: one replica for each data set and penalty.

All share the order of their batches, not their weights or noise.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.estimators.scaling import Scaling
from sklar.experiments.stacks import Answers, Table, blocks, known_words, stack_tables
from sklar.model.selection import Architecture, SelectionModel
from sklar.training.loop import LoopSettings, train
from sklar.training.objectives import Task, joint_loss
from sklar.training.path import choose_penalty, penalty_grid
from sklar.training.runtime import generator_on

HELD_SHARE = 0.2  # of the rows, kept aside where the penalty is chosen
JOINT_DEFAULTS: dict[str, Any] = {
    "penalty": 0.0,
    "covariance": "low-rank",
    "rank": 8,
    "temperature": 1.0,
    "step_exponent": 0.0,
    "correlation_strength": 1.0,
    "choice_hidden": 100,
    "predict_hidden": 200,
    "activation": "relu",
    "loadings_activation": "tanh",
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
    data: list[Table], words: dict[str, Any], device: torch.device, seed: int, k: int | None = None
) -> JointStack:
    """The paper's training of data sets (X, y) of one shape, side by side, with no early stop.

    With penalty="auto" every problem trains a path of penalties and keeps the sparsest within one standard error of
    the best, on a fifth of its rows.
    """
    words = known_words(JOINT_DEFAULTS, words, "joint training")
    task = Task(int(max(y.max() for _, y, *_ in data)) + 1)
    scalings, x, y = stack_tables(data, words["scaling"], device)
    automatic = words["penalty"] == "auto"
    n_held = round(HELD_SHARE * x.shape[1]) if automatic else 0
    grid = penalty_grid(float(np.log(task.n_outputs))) if automatic else [float(words["penalty"])]
    problems, members = len(data), len(grid)
    model = SelectionModel(_architecture(words, x.shape[2], task, k, problems * members), _cpu_generator(seed))
    model.to(device)
    generator = generator_on(device, seed)
    price = torch.tensor(grid, device=device).repeat(problems).unsqueeze(1)  # (P G, 1): the path of every problem
    rows_x, rows_y = (_each(t[:, n_held:], members) for t in (x, y))
    settings = LoopSettings(
        max_epochs=words["max_epochs"],
        batch_size=words["batch_size"],
        learning_rate=words["learning_rate"],
        weight_decay=words["weight_decay"],
        patience=words["max_epochs"],
    )

    def step_loss(rows: Tensor) -> Tensor:
        return joint_loss(model, task, rows_x[:, rows], rows_y[:, rows], price, generator)

    start = time.perf_counter()
    train(model, step_loss, x.shape[1] - n_held, settings, generator)
    chosen = [0] * problems
    if members > 1:
        chosen = _chosen(model, task, _each(x[:, :n_held], members), _each(y[:, :n_held], members), grid, problems)
    keep = torch.tensor([p * members + member for p, member in enumerate(chosen)], device=device)
    kept = SelectionModel(replace(model.architecture, replicas=problems), _cpu_generator(0)).to(device)
    kept.load_state_dict({key: value[keep] for key, value in model.state_dict().items()})
    return JointStack(kept.eval(), scalings, [grid[member] for member in chosen], time.perf_counter() - start)


@torch.no_grad()
def _chosen(model: SelectionModel, task: Task, x: Tensor, y: Tensor, grid: list[float], problems: int) -> list[int]:
    """The member of the path that each problem keeps."""
    mask = model.decide(model.scores(x)).to(x.dtype)
    losses = task.row_loss(model.output(x, mask), y).unflatten(0, (problems, -1)).cpu().numpy()  # (P, G, n)
    sizes = mask.sum(-1).mean(-1).view(problems, -1).cpu().numpy()
    return [choose_penalty(grid, losses[p], sizes[p]).member for p in range(problems)]


def _architecture(words: dict[str, Any], d: int, task: Task, k: int | None, replicas: int) -> Architecture:
    return Architecture(
        n_features=d,
        n_outputs=task.n_outputs,
        k=k,
        covariance=words["covariance"],
        rank=min(d, k or d if words["rank"] == "k" else words["rank"]),
        temperature=float(words["temperature"]),
        step_exponent=float(words["step_exponent"]),
        correlation_strength=float(words["correlation_strength"]),
        choice_hidden=words["choice_hidden"],
        predict_hidden=words["predict_hidden"],
        activation=words["activation"],
        loadings_activation=words["loadings_activation"],
        replicas=replicas,
    )


def _each(t: Tensor, members: int) -> Tensor:
    return t if members == 1 else t.repeat_interleave(members, 0)


def _cpu_generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
