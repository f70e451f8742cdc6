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
from sklar.paper.baselines.sequential import quick_products
from sklar.paper.experiments.shallow import ShallowModel
from sklar.paper.experiments.stacks import Answers, Table, known_params, stack_tables
from sklar.table.scaling import Scaling
from sklar.training.joint.fit import Rows, fit_replicas, joint_architecture, loop_settings
from sklar.training.penalty_path import penalty_grid
from sklar.training.tasks import Task, noiseless_loss

N_FOLDS = 5  # of cross-validation, where the penalty is chosen
JOINT_DEFAULTS: dict[str, Any] = {
    "penalty": 0.0,
    "covariance": "low-rank",
    "n_factors": 8,
    "mask": "relaxed",  # or "rounded", with the relaxed mask's gradient
    "n_layers": 2,  # hidden layers of both networks, or 1
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
    data: list[Table], params: dict[str, Any], device: torch.device, seed: int, k: int | None = None
) -> JointStack:
    """The paper's training of data sets (X, y) of one shape, side by side, with no early stop.

    With penalty="auto" every problem's penalty is that of the lowest loss in 5-fold cross-validation; then all
    problems train with theirs, on all rows.
    """
    params = known_params(JOINT_DEFAULTS, params, "joint training")
    start = time.perf_counter()
    scalings, rows, task = stacked(data, params, device)
    penalties = [params["penalty"]] * len(data)
    if params["penalty"] == "auto":
        grid = penalty_grid(float(np.log(task.n_outputs)))
        penalties = [grid[best] for best in fold_losses(rows, task, params, grid, seed, k).argmin(1)]
    penalties = [float(penalty) for penalty in penalties]
    model = trained(rows, task, penalties, params, seed, k)
    return JointStack(model.eval(), scalings, penalties, time.perf_counter() - start)


def stacked(data: list[Table], params: dict[str, Any], device: torch.device) -> tuple[list[Scaling], Rows, Task]:
    """The problems' rows side by side, how each was scaled, and the task."""
    task = Task(int(max(y.max() for _, y, *_ in data)) + 1)
    scalings, x, y = stack_tables(data, params["scaling"], device)
    return scalings, Rows(x, y), task


def fold_losses(
    rows: Rows, task: Task, params: dict[str, Any], grid: list[float], seed: int, k: int | None = None
) -> np.ndarray:
    """Mean held-out loss of every problem at every penalty, by 5-fold cross-validation: (P, G).

    A model is trained for each problem, penalty and fold, all side by side, and shows the held-out rows what it selects
    without noise.
    """
    problems = len(rows.x)
    kept, held = (_parts(rows, is_held, len(grid)) for is_held in (False, True))
    penalties = [penalty for _ in range(problems) for penalty in grid for _ in range(N_FOLDS)]
    model = trained(kept, task, penalties, params, seed, k).eval()
    with torch.no_grad():
        losses = noiseless_loss(model, task, held.x, held.y, torch.zeros(len(penalties), 1, device=rows.x.device))
    return losses.mean(-1).unflatten(0, (problems, len(grid), N_FOLDS)).mean(-1).cpu().numpy()


def _parts(rows: Rows, is_held: bool, n_penalties: int) -> Rows:
    """The rows of every fold, or those outside it, for each problem, penalty and fold: (P G F, n', d)."""
    fold = torch.arange(len(rows) - len(rows) % N_FOLDS, device=rows.x.device) % N_FOLDS
    numbers = torch.stack([torch.nonzero((fold == f) == is_held).squeeze(1) for f in range(N_FOLDS)])  # (F, n')
    parts = (part[:, numbers].repeat_interleave(n_penalties, 0).flatten(0, 1) for part in (rows.x, rows.y))
    return Rows(*parts)


def trained(
    rows: Rows, task: Task, penalties: list[float], params: dict[str, Any], seed: int, k: int | None = None
) -> SelectionModel:
    """One replica for each of the rows (R, n, d) and penalties, trained side by side."""
    gates = Gates(rows.x.shape[2])
    if params["n_factors"] == "k":
        params = {**params, "n_factors": k or gates.n}
    architecture = joint_architecture(params, task, k, gates)
    network = SelectionModel if params["n_layers"] == 2 else ShallowModel
    rounded = params["mask"] == "rounded"
    with quick_products():
        settings = loop_settings(params)
        return fit_replicas(rows, task, architecture, penalties, settings, seed, rounded=rounded, network=network)[0]
