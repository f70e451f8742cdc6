"""What a feature is worth to a row, by flips: the exact gradient of the scores.

For gates z_i open with probability p_i = sigmoid(alpha_i), whatever the copula (see `gradients`),

    d E[loss] / d alpha_i = p_i (1 - p_i) E[ loss(z_i = 1) - loss(z_i = 0) | latent i at its threshold ]

Minus that difference is the gain of feature i. With lambda for its price, and divided by the Fisher information
p_i (1 - p_i), the gradient of the objective is lambda - gain_i. For independent gates the rest of the mask stays as
drawn; `copula_flips` has the flips of correlated gates, `swaps` the case of exactly k features.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.training.honest.copula_flips import CopulaFlips, copula_flips
from sklar.training.honest.draws import Trial


def exact_gains(trial: Trial, index: Tensor) -> tuple[Tensor, CopulaFlips | None]:
    """Loss with gate i shut minus loss with gate i open, for each i in `index` (R, n, K): (R, n, K).

    Where gates are correlated, also what flips of pairs say.
    """
    if trial.draw.latents is not None:
        flips = copula_flips(trial, trial.draw.latents, index)
        return flips.gain, flips
    step = trial.judge.flip_step(trial.x, trial.draw.mask, index, trial.cells)
    flipped = trial.losses(step.add_(trial.hidden.unsqueeze(2)))
    sign = 2 * trial.draw.mask.gather(-1, index) - 1  # -1: the flip opens the gate
    return (flipped - trial.drawn_loss.unsqueeze(-1)) * sign, None


def inward_only(gradient: Tensor, scores: Tensor, bound: float | Tensor) -> Tensor:
    """Let pushes outward fade over the last unit before `bound`, to none beyond it; keep those that bring a score back.

    Nothing saturates: a strong feature is not locked open for all rows before rows are told apart. They fade because a
    strong feature comes to rest where the bound holds it: pushes in full there would be noise in which the penalty,
    which pulls at the rows that do not need the feature, could not be heard.
    """
    room = (bound - scores.abs()).clamp(0, 1)
    return torch.where(scores * gradient < 0, gradient * room, gradient)
