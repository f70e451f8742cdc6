"""Shapley values by expected gradients (Erion, Janizek, Sturmfels, Lundberg, Lee, 2021): SHAP for many features.

The Aumann-Shapley value of feature i is E[(x_i - b_i) df/dx_i (b + a (x - b))] over background rows b and a in (0, 1).
One gradient gives all features at once, where permutations need a step for each.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.paper.baselines.base import count
from sklar.paper.baselines.explained import EXPLAINED, ExplainedPredictor
from sklar.training.engine.runtime import generator_on, resolve_device

BLOCK_ENTRIES = 2**23  # of the interpolated rows that are in memory at a time


class GradientShap(ExplainedPredictor):
    """The features of largest Shapley value in a predictor's answer, by expected gradients.

    Parameters
    ----------
    k : int or None
        Features a row; None keeps those whose |value| exceeds their row's mean.
    n_draws : int, default 50
        Points between the row and background rows at which the gradient is taken.
    n_background : int, default 200
        Training rows that stand for "feature absent".
    predictor_hidden, iterations, batch_size, learning_rate, weight_decay
        As in `Shap`.
    task, device, random_state, verbose
        As in `Invase`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import REGISTRY
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> shap = REGISTRY["gradient-shap"](k=1, iterations=50, random_state=0).fit(X, 3 * X[:, 2])
    >>> shap.select(np.ones((1, 4)))
    array([[False, False,  True, False]])
    """

    _parameter_constraints = {**EXPLAINED, "n_draws": count(), "n_background": count()}

    def __init__(
        self,
        *,
        k: int | None = None,
        n_draws: int = 50,
        n_background: int = 200,
        predictor_hidden: int = 200,
        iterations: int = 2000,
        batch_size: int = 1000,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-3,
        task: str = "auto",
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.n_draws = n_draws
        self.n_background = n_background
        self.predictor_hidden = predictor_hidden
        self.iterations = iterations
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.task = task
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        """|Shapley value| for the predicted class; every row has the same draws, whatever block it is in: (n, d)."""
        device = resolve_device(self.device)
        model = copy.deepcopy(self.model_).to(device)
        generator = generator_on(torch.device("cpu"), self.seed_)
        picks = torch.randint(len(self.background_), (self.n_draws,), generator=generator)
        between = torch.rand(self.n_draws, 1, generator=generator, dtype=torch.float64).to(device)
        background = torch.from_numpy(self.background_[picks.numpy()]).to(device)  # (draws, d)
        size = max(1, BLOCK_ENTRIES // (self.n_draws * rows.shape[1]))
        parts = [
            expected_gradients(model, torch.from_numpy(rows[i : i + size]).to(device), background, between)
            for i in range(0, len(rows), size)
        ]
        return torch.cat(parts).abs().cpu().numpy()


def expected_gradients(model: Any, x: Tensor, background: Tensor, between: Tensor) -> Tensor:
    """Mean over draws of (x - b) times the gradient of the largest output at b + a (x - b): (n, d) -> (n, d)."""
    with torch.no_grad():
        label = model(x[None])[0].argmax(-1)  # (n,)
    step = x[:, None] - background  # (n, draws, d)
    points = (background + between * step).requires_grad_(True)
    output = model(points.flatten(0, 1)[None])[0].unflatten(0, points.shape[:2])  # (n, draws, out)
    asked = output.gather(-1, label[:, None, None].expand(-1, points.shape[1], 1))
    (gradient,) = torch.autograd.grad(asked.sum(), points)
    return (step * gradient).mean(1)
