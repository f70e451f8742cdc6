"""EVAL-X: predictors that learned from random masks alone judge what a selection shows (Jethani et al., 2021).

They cannot have agreed on a code with the selector, so what they score is what the selected values say.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sklar.model.gates import Gates
from sklar.training.folds import deal
from sklar.training.objectives import Task
from sklar.training.predictors import FoldPredictors, PredictorSettings
from sklar.training.runtime import threads_for


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
    """Outputs for rows x (n, D) shown by each mask (n, d), each row by the predictor that never saw it: (n, out)."""
    generator = torch.Generator(device=x.device).manual_seed(seed)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed)).to(x.device)
    n_folds = min(n_folds, len(x))
    whole = len(x) // n_folds * n_folds  # rows dealt evenly; the few left over are judged by the last fold's predictor
    fold_of_row = torch.arange(len(x), device=x.device).clamp_max(whole - 1) % n_folds
    rows = x[order]
    folds = deal(rows[None, :whole], y[order][None, :whole], n_folds, 0.0, generator, shuffle=False, gates=gates)
    predictors = FoldPredictors(folds, task, PredictorSettings(), generator, seed)
    alive = torch.ones(1, 1, 1, folds.gates.n, device=x.device)
    with threads_for(x.shape[1]):
        predictors.warm_up(n_steps, alive)
    results = []
    for mask in masks:
        shown = mask[order].to(x.dtype)
        with torch.no_grad():
            outputs = predictors.judge(rows.expand(n_folds, -1, -1), shown.expand(n_folds, -1, -1))  # (F, n, out)
        own = outputs[fold_of_row, torch.arange(len(x), device=x.device)]
        result = torch.empty_like(own)
        result[order] = own
        results.append(result)
    return results
