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

from sklar.paper.baselines.explained import ExplainedPredictor
from sklar.params import Count
from sklar.training.engine.runtime import generator_on, resolve_device

BLOCK_ENTRIES = 2**23  # of the interpolated rows that are in memory at a time


class GradientShap(ExplainedPredictor):
    """The features of largest Shapley value in a predictor's answer, by expected gradients.

    Takes the parameters of `ExplainedPredictor` too; a score is the |value|.

    Parameters
    ----------
    n_draws : int, default 50
        Points between the row and background rows at which the gradient is taken.
    n_background : int, default 200
        Training rows that stand for "feature absent".

    Examples
    --------
    >>> from sklar.paper.baselines import GradientShap
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> GradientShap(k=1, iterations=50, random_state=0).fit(X, 3 * X[:, 2]).select(X[:2])
    array([[False, False,  True, False],
           [False, False,  True, False]])
    """

    n_draws: Count = 50
    n_background: Count = 200

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
    explained = output.gather(-1, label[:, None, None].expand(-1, points.shape[1], 1))
    (gradient,) = torch.autograd.grad(explained.sum(), points)
    return (step * gradient).mean(1)
