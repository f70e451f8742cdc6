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

from sklar.model import row_blocks
from sklar.model.gates import Gates
from sklar.model.selection import SelectionModel
from sklar.paper.experiments.stacks import Answers, Table, known_params, stack_tables
from sklar.table.scaling import Scaling
from sklar.training.joint.fit import Rows, choose_penalties, fit_replicas, joint_architecture, loop_settings
from sklar.training.penalty_path import penalty_grid
from sklar.training.tasks import Task

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
        """`answer(model, x)` with x (1, n, d), in blocks of rows, where the stack is: (n, ...)."""
        device, model = next(self.model.parameters()).device, self.model.replica(problem).eval()

        def read(part: slice) -> np.ndarray:
            return self.scalings[problem].apply(X[part]).astype(np.float32)

        a = model.architecture
        width = max(a.n_features * max(1, a.n_factors), a.choice_hidden, a.predict_hidden)
        return row_blocks.map_rows(model, len(X), read, answer, device, width)


def fit_joint_stack(
    data: list[Table],
    params: dict[str, Any],
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
    params = known_params(JOINT_DEFAULTS, params, "joint training")
    task = Task(int(max(y.max() for _, y, *_ in data)) + 1)
    start = time.perf_counter()
    scalings, x, y = stack_tables(data, params["scaling"], device)
    penalties = [params["penalty"]] * len(data)
    if params["penalty"] == "auto":
        names = families or [str(p) for p in range(len(data))]
        firsts = [names.index(name) for name in dict.fromkeys(names)]
        found = _path_choices(Rows(x[firsts], y[firsts]), task, params, seed, k)
        by_name = dict(zip(dict.fromkeys(names), found, strict=True))
        penalties = [by_name[name] for name in names]
    penalties = [float(penalty) for penalty in penalties]
    model = _trained(Rows(x, y), task, penalties, params, seed, k)
    return JointStack(model.eval(), scalings, penalties, time.perf_counter() - start)


def _path_choices(rows: Rows, task: Task, params: dict[str, Any], seed: int, k: int | None) -> list[float]:
    """The penalty of each problem, from a path trained on four fifths of its rows."""
    problems, n_held = len(rows.x), round(HELD_SHARE * len(rows))
    grid = penalty_grid(float(np.log(task.n_outputs)))
    held, kept = (
        Rows(rows.x[:, part].repeat_interleave(len(grid), 0), rows.y[:, part].repeat_interleave(len(grid), 0))
        for part in (slice(n_held), slice(n_held, None))
    )
    model = _trained(kept, task, grid * problems, params, seed, k)
    return [grid[choice.member] for choice in choose_penalties(model, held, task, grid, problems)]


def _trained(
    rows: Rows, task: Task, penalties: list[float], params: dict[str, Any], seed: int, k: int | None
) -> SelectionModel:
    """One replica for each of the rows (R, n, d) and penalties, trained side by side."""
    gates = Gates(rows.x.shape[2])
    if params["n_factors"] == "k":
        params = {**params, "n_factors": k or gates.n}
    architecture = joint_architecture(params, task, k, gates)
    return fit_replicas(rows, task, architecture, penalties, loop_settings(params), seed)[0]
