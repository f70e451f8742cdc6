"""A price on what choices say beyond the values chosen: it keeps a selector that sees the whole row from persuading.

Such a selector can show the features that agree with its own answer. A judge of values is then right more often than it
expects to be: the loss that it expects of itself is larger than its loss. This excess

    E[expected loss of p(. | x_S)] - E[loss of p(. | x_S) at y],   for classes E[H[p]] + E[log p(y)],

is 0 where the choice says nothing more. With a weight w on it the loss of a row becomes

    loss + w (expected loss - loss) = (1 - w) loss + w expected loss,

and w rises while the excess is above what is allowed: a Lagrange multiplier. At w = 0 evidence may be picked; at w = 1
the answer does not matter, only how much the values shown say. The judge's own miscalibration is taken off first: its
excess for the same masks dealt to other rows, for which they were not chosen.
"""

from __future__ import annotations

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


class PersuasionPrice:
    """The weights of P problems (P,), as they are moved step by step, and the loss that they make."""

    def __init__(self, predictors: FoldPredictors, most: float, settings: PersuasionSettings) -> None:
        self.predictors, self.most, self.settings = predictors, most, settings
        problems = predictors.folds.x.shape[0]
        self.total = torch.zeros(problems, device=predictors.folds.x.device)
        self.weight = torch.zeros_like(self.total)

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
    def update(self, x: Tensor, y: Tensor, mask: Tensor) -> None:
        """Move the weights by the excess of masks (P F, n, d) for rows (P F, n, D), less that of other rows' masks."""
        s, others = self.settings, self.predictors.share.rolled(mask, 1)
        chosen, dealt = self._excess(x, y, mask), self._excess(x, y, others)
        if chosen is None or dealt is None:
            return
        over = chosen - dealt - self.most
        self.total.add_(s.rate * over).clamp_(0.0, s.most_weight)
        self.weight.copy_((self.total + s.at_once * over).clamp(0.0, s.most_weight))

    def _excess(self, x: Tensor, y: Tensor, mask: Tensor) -> Tensor | None:
        """The mean over the rows of each problem, judged by predictors that never saw them: (P,)."""
        task, output = self.predictors.task, self.predictors.judge(x, mask)
        expected = task.expected_loss(output, y)
        if expected is None:
            return None
        mean = (expected - task.row_loss(output, y)).unflatten(0, (len(self.total), -1)).mean((1, 2))
        return self.predictors.team.sum(mean * self.predictors.share.weight)
