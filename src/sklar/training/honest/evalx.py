"""EVAL-X: predictors that learned from random masks alone judge what a selection shows (Jethani et al., 2021).

They cannot have agreed on a code with the selector, so what they score is what the selected values say.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sklar.model.gates import Gates
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.settings import PredictorSettings
from sklar.training.tasks import Task


def evalx_outputs(
    x: Tensor,
    y: Tensor,
    masks: Sequence[Tensor],
    task: Task,
    n_steps: int,
    seed: int,
    n_folds: int = 5,
    gates: Gates | None = None,
) -> list[Tensor]:
    """Outputs for rows of P problems shown by masks, each row by the predictor that never saw it.

    Parameters
    ----------
    x, y : rows (P, n, D) and targets (P, n)
    masks : what is shown, each (P, n, d)
    gates : which inputs a feature has; None is one each

    Returns
    -------
    list of outputs (P, n, out), one a mask
    """
    problems, n, width = x.shape
    generator = torch.Generator(device=x.device).manual_seed(seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(x.device)
    n_folds = min(n_folds, n)
    whole = n // n_folds * n_folds  # rows dealt evenly; the few left over are judged by the last fold's predictor
    fold_of_row = torch.arange(n, device=x.device).clamp_max(whole - 1) % n_folds
    rows = x[:, order]
    folds = deal(rows[:, :whole], y[:, order[:whole]], n_folds, 0.0, generator, shuffle=False, gates=gates)
    predictors = FoldPredictors(folds, task, PredictorSettings(), generator, seed)
    with threads_for(width):
        predictors.warm_up(n_steps, decay_to_zero=True)
    results = []
    for mask in masks:
        shown = mask[:, order].to(x.dtype)
        with torch.no_grad():
            outputs = predictors.judge(rows.repeat_interleave(n_folds, 0), shown.repeat_interleave(n_folds, 0))
        own = outputs.unflatten(0, (problems, n_folds))[:, fold_of_row, torch.arange(n, device=x.device)]
        result = torch.empty_like(own)
        result[:, order] = own
        results.append(result)
    return results
