"""What rows lose by predictions that are as sure as they should be: masks are compared by what they show, not by that.

Regularised predictors share between copies what they learned. Shown one copy alone they say half of it: as right as
with both, and not sure enough. Their loss takes that for a loss of what the other copy says. So two masks of the same
rows are compared at the best confidence of each, one factor on how far its predictions are from their mean.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.training.tasks import Task

LEAST, STEP, N_STEPS = 0.5, 0.05, 31  # factors from half as sure to twice


@torch.no_grad()
def losses_at_best_confidence(
    task: Task, outputs: Tensor, y: Tensor, where: Tensor, weight: Tensor | None = None
) -> Tensor:
    """The losses of rows at the factor on outputs by which the rows `where` lose least: (P, n).

    outputs : (P, n, out); y : (P, n); where : bool (P, n); weight : what rows count, (P, n)

    Examples
    --------
    >>> y = torch.tensor([[-1.0, 1.0, -2.0, 2.0]])
    >>> half = 0.5 * y.unsqueeze(-1)  # right, and half as sure as it should be
    >>> everywhere = torch.ones(1, 4, dtype=torch.bool)
    >>> float(losses_at_best_confidence(Task(None), half, y, everywhere).max())
    0.0
    """
    counts = where.to(outputs.dtype) if weight is None else where * weight
    share = counts / counts.sum(1, keepdim=True).clamp_min(torch.finfo(outputs.dtype).tiny)
    said, of_errors = outputs.tensor_split([task.n_predicted], dim=-1)  # what it says of its own errors stays
    centre = (share.unsqueeze(-1) * said).sum(1, keepdim=True)

    def losses(step: Tensor) -> Tensor:
        factor = LEAST + STEP * step.view(-1, 1, 1)
        return task.row_loss(torch.cat([centre + factor * (said - centre), of_errors], -1), y)

    low = torch.zeros(len(outputs), dtype=torch.long, device=outputs.device)  # losses are convex in the factor
    high = torch.full_like(low, N_STEPS - 1)
    for _ in range(N_STEPS.bit_length()):
        middle = (low + high) // 2
        falls = (share * (losses(middle + 1) - losses(middle))).sum(1) < 0
        low, high = torch.where(falls & (low < high), middle + 1, low), torch.where(falls, high, middle)
    return losses(low)
