"""What a feature is worth to a row, by flips: the loss without it minus the loss with it, the rest as drawn.

Here the rest of the mask stays as it is, as for independent gates; `copula_flips` has those of correlated gates. For an
exact number of features the unit is a swap: one out, one in.
"""

from __future__ import annotations

from torch import Tensor

from sklar.training.trial import Trial


def gains(trial: Trial, index: Tensor) -> Tensor:
    """Loss with gate i shut minus loss with gate i open, for each i in `index` (R, n, K): (R, n, K)."""
    step = trial.judge.flip_step(trial.x, trial.draw.mask, index)
    flipped = trial.losses(step.add_(trial.hidden.unsqueeze(2)))
    return (flipped - trial.drawn_loss.unsqueeze(-1)) * (2 * trial.draw.mask.gather(-1, index) - 1)


def swap_gains(trial: Trial, out: Tensor, into: Tensor) -> Tensor:
    """Loss as drawn minus loss with feature `out` hidden and feature `into` shown instead: (R, n, K)."""
    hide, show = (trial.judge.flip_step(trial.x, trial.draw.mask, index) for index in (out, into))
    return trial.drawn_loss.unsqueeze(-1) - trial.losses(trial.hidden.unsqueeze(2) + hide + show)
