"""Rows and a draw of their gates before the judge: what flips have in common is computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest.draws import Draw

RowLoss = Callable[[Tensor, Tensor], Tensor]  # (..., out), (...) -> (...)


@dataclass(frozen=True)
class Trial:
    """Rows (R, n, D) with labels (R, n), a draw of their gates, and the predictors that judge them."""

    judge: MaskedPredictor
    loss: RowLoss
    x: Tensor
    y: Tensor
    draw: Draw

    @cached_property
    def hidden(self) -> Tensor:
        """The judge's first pre-activation for the drawn masks: (R, n, h)."""
        return self.judge.before_activation(self.x, self.draw.mask)

    @cached_property
    def drawn_loss(self) -> Tensor:
        """Losses of the drawn masks: (R, n)."""
        return self.loss(self.judge.after_first(self.hidden), self.y)

    def losses(self, hidden: Tensor) -> Tensor:
        """Losses from K first pre-activations a row (R, n, K, h), which are overwritten: (R, n, K)."""
        output = self.judge.after_activation(hidden.relu_().flatten(1, 2)).unflatten(1, hidden.shape[1:3])
        return self.loss(output, self.y.unsqueeze(-1).expand(output.shape[:-1]))
