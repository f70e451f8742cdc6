"""What held-out rows say of masks: losses, scores and features per row along a path of penalties."""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.training.honest.predictors import FoldPredictors
from sklar.training.penalty_path import PathRows


def path_rows(predictors: FoldPredictors, masks: list[Tensor], grid: Tensor) -> list[PathRows]:
    """Held-out rows shown by the masks (P, n, d) of each log-penalty (P, G): one a problem."""
    weight, losses, scores = predictors.folds.held_out_weight, _losses(predictors, masks), _scores(predictors, masks)
    sizes = torch.stack([mask.sum(-1).mean(1) for mask in masks], 1)  # (P, G)
    return [
        PathRows(
            penalties,
            losses[p].cpu().numpy(),
            sizes[p].cpu().numpy(),
            None if weight is None else weight[p].cpu().numpy(),
            None if scores is None else scores[p].cpu().numpy(),
        )
        for p, penalties in enumerate(grid.exp().cpu().tolist())
    ]


def _losses(predictors: FoldPredictors, masks: list[Tensor]) -> Tensor:
    """Losses of the rows: (P, G, n)."""
    x, y = predictors.folds.held_out
    return torch.stack([predictors.held_out_losses(x, mask, y) for mask in masks], 1)


def _scores(predictors: FoldPredictors, masks: list[Tensor]) -> Tensor | None:
    """Scores of the rows, whose mean is accuracy for classes and R^2 for values, (P, G, n); None for other targets.

    A class is right (1) or not; of a value it is one minus the squared error in variances.
    """
    (x, y), task = predictors.folds.held_out, predictors.task
    if not (task.kind == "classes" or (task.kind == "values" and y.is_floating_point())):
        return None
    outputs = torch.stack([predictors.held_out_outputs(x, mask) for mask in masks], 1)  # (P, G, n, out)
    if task.kind == "classes":
        return (outputs.argmax(-1) == y.unsqueeze(1)).to(x.dtype)
    return 1 - (outputs[..., 0] - y.unsqueeze(1)).square() / y.var(1).clamp_min(1e-12)[:, None, None]
