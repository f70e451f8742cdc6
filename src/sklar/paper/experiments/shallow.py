"""The paper's two networks with one hidden layer instead of two: which it had is not stated."""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.model.networks import Choice, ChoiceNet, PredictNet
from sklar.model.selection import Architecture, SelectionModel


class ShallowChoice(ChoiceNet):
    """d - h - heads; the second layer is there and not used."""

    def forward(self, x: Tensor, heads: bool = True, factored: bool = False) -> Choice:
        """See `ChoiceNet.forward`."""
        h = self.activation(self.first(x))
        if factored:
            return Choice(self.scores(h), None, None, h)
        return Choice(self.scores(h), *(self.copula_of(h) if heads else (None, None)))


class ShallowPredict(PredictNet):
    """d - h - out, with batch normalisation; the second layer is there and not used."""

    def forward(self, x: Tensor) -> Tensor:
        """See `PredictNet.forward`."""
        return self.last(self.first_norm(self.activation(self.first(x))))


class ShallowModel(SelectionModel):
    """The model of these two."""

    def __init__(self, architecture: Architecture, generator: torch.Generator | None = None) -> None:
        super().__init__(architecture, generator)
        self.choice.__class__, self.predict.__class__ = ShallowChoice, ShallowPredict
