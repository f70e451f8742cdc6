"""A price on what choices say beyond the values chosen: it keeps a selector that sees the whole row from persuading.

Such a selector can show the features that agree with its own answer. A judge of values is then right more often than it
expects to be: the loss that it expects of itself is larger than its loss. This excess

    E[expected loss of p(. | x_S)] - E[loss of p(. | x_S) at y],   for classes E[H[p]] + E[log p(y)],

is 0 where the choice says nothing more. With a weight w on it the loss of a row becomes

    loss + w (expected loss - loss) = (1 - w) loss + w expected loss,

and w rises while the excess is above what is allowed: a Lagrange multiplier. At w = 0 evidence may be picked; at w = 1
the answer does not matter, only how much the values shown say. The judge's own miscalibration is taken off first: its
excess for the same masks dealt to other rows, for which they were not chosen.

Two things bound the excess of new rows from above. That of training rows: the selector comes to know their answers by
heart, so it says more about them than about others. And that of rows held out from the selector, with its standard
error, which is large where these are few. The smaller one moves w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.training.engine.state import State
from sklar.training.honest.draws import RowLoss
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.settings import PersuasionSettings
from sklar.training.tasks import SpreadTask, Task


def with_spread(task: Task) -> Task:
    """The task with predictors that know how far off they are; one that cannot be given this stays as it is."""
    return SpreadTask(None) if type(task) is Task and task.n_classes is None else task


class Shown(NamedTuple):
    """Rows of P F replicas, by the fold whose predictor never saw them, and the masks that show them."""

    x: Tensor  # (P F, n, D)
    y: Tensor  # (P F, n)
    mask: Tensor  # (P F, n, d)

    def mixed_with(self, others: Shown, pick: Tensor) -> Shown:
        """The same rows but for those that `pick` names, whose places the others take."""
        x, y, mask = (other.view_as(own) for own, other in zip(self, others, strict=True))
        each = pick.unsqueeze(-1)
        return Shown(torch.where(each, x, self.x), torch.where(pick, y, self.y), torch.where(each, mask, self.mask))


class PersuasionPrice:
    """The weights of P problems (P,), as they are moved step by step, and the loss that they make."""

    def __init__(self, predictors: FoldPredictors, most: float, settings: PersuasionSettings) -> None:
        self.predictors, self.most, self.settings = predictors, most, settings
        self.total = torch.zeros(len(predictors.folds.x), device=predictors.folds.x.device)
        self.weight = torch.zeros_like(self.total)
        self.n_steps = 1

    def begin(self, n_steps: int) -> None:
        """Say how many steps a part of the training takes: with fewer, each moves the weights further."""
        self.n_steps = n_steps

    @property
    def state(self) -> State:
        """All that `update` changes."""
        return {"total": self.total, "weight": self.weight}

    @property
    def loss(self) -> RowLoss:
        """The loss of rows of P F replicas with the price in it."""
        task, folds = self.predictors.task, self.predictors.folds.n_folds

        def priced(output: Tensor, y: Tensor) -> Tensor:
            loss, expected = task.row_loss(output, y), task.expected_loss(output, y)
            if expected is None:
                return loss
            weight = self.weight.repeat_interleave(folds)
            return torch.lerp(loss, expected, weight.view(-1, *[1] * (loss.dim() - 1)))

        return priced

    @torch.no_grad()
    def update(self, chosen: Shown, dealt: Shown, held_out: Shown | None = None) -> None:
        """Move the weights by the excess of training rows shown by their own masks, less that of the masks of others.

        Where rows are held out, by theirs with its standard error if that is less.
        """
        s, own, others = self.settings, self._excess(chosen), self._excess(dealt)
        if own is None or others is None:
            return
        most = own[0] if held_out is None else torch.minimum(own[0], self._at_most(held_out))
        over = most - others[0] - self.most
        self.total.add_(s.rate / self.n_steps * over).clamp_(0.0, s.most_weight)
        self.weight.copy_((self.total + s.at_once * over).clamp(0.0, s.most_weight))

    def _at_most(self, held_out: Shown) -> Tensor:
        """The excess of held-out rows and its standard error together, (P,)."""
        folds, excess = self.predictors.folds, self._excess(held_out)
        assert excess is not None
        mean, square = excess
        n_held = folds.n_folds * (folds.x.shape[2] - folds.n_train)
        return mean + ((square - mean.square()).clamp_min(0.0) / n_held).sqrt()

    def _excess(self, shown: Shown) -> tuple[Tensor, Tensor] | None:
        """Mean and mean square over the rows of each problem, judged by predictors that never saw them: (P,), (P,)."""
        x, y, mask = shown
        task, output = self.predictors.task, self.predictors.judge(x, mask)
        expected = task.expected_loss(output, y)
        if expected is None:
            return None
        excess = (expected - task.row_loss(output, y)).unflatten(0, (len(self.total), -1))
        moments = torch.stack([excess.mean((1, 2)), excess.square().mean((1, 2))])
        mean, square = self.predictors.team.sum(moments * self.predictors.share.weight)
        return mean, square


def excess_of_held_out(predictors: FoldPredictors, mask: Tensor) -> np.ndarray | None:
    """What masks (P, n, d) of held-out rows say beyond the values, row by row: (P, n); None where no loss is expected.

    Less the mean of the same masks dealt to other rows, as for the price.
    """
    task, (x, y) = predictors.task, predictors.folds.held_out
    excess = []
    for shown in (mask, mask.roll(mask.shape[1] // 2, 1)):
        output = predictors.held_out_outputs(x, shown)
        expected = task.expected_loss(output, y)
        if expected is None:
            return None
        excess.append(expected - task.row_loss(output, y))
    return (excess[0] - excess[1].mean(1, keepdim=True)).cpu().numpy()
