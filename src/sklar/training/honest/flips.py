"""What a feature is worth to a row, by flips: the loss without it minus the loss with it, the rest as drawn.

Here the rest of the mask stays as it is, as for independent gates; `copula_flips` has those of correlated gates. For an
exact number of features see `swaps`.
"""

from __future__ import annotations

from torch import Tensor

from sklar.training.honest.trial import Trial


def gains(trial: Trial, index: Tensor) -> Tensor:
    """Loss with gate i shut minus loss with gate i open, for each i in `index` (R, n, K): (R, n, K)."""
    step = trial.judge.flip_step(trial.x, trial.draw.mask, index)
    flipped = trial.losses(step.add_(trial.hidden.unsqueeze(2)))
    return (flipped - trial.drawn_loss.unsqueeze(-1)) * (2 * trial.draw.mask.gather(-1, index) - 1)
