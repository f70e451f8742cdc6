"""A ranker that chooses from what it has shown: feature after feature, each from the values of those before it.

Its choice is a function of the values shown, so that it can say nothing beyond them: no code, no picked evidence. The
order of the questions is the ranking, and every prefix of it is a selection. A network is asked, given the values
shown, what each feature not yet shown would be worth; the best one is shown next.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sklar.model.covariance import Covariance, Independent
from sklar.model.honest_model import HonestArchitecture, mean_output
from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.networks import Choice
from sklar.model.selection import GateModel


@dataclass(frozen=True)
class AcquisitionArchitecture(HonestArchitecture):
    """Predictors, and a network of the features' worth with `choice_hidden` units."""


class AcquisitionModel(GateModel):
    """Cross-fitted predictors of any subset of features, and a network that says what to ask next."""

    architecture: AcquisitionArchitecture

    def __init__(self, architecture: AcquisitionArchitecture, generator: torch.Generator | None = None) -> None:
        super().__init__(architecture)
        a = architecture
        self.worth = MaskedPredictor(a.n_features, a.choice_hidden, a.n_features, 1, generator, self.gate_of_input)
        self.predictors = MaskedPredictor(
            a.n_features, a.predict_hidden, a.n_outputs, a.n_folds, generator, self.gate_of_input
        )
        self.unit: Tensor  # of worth in the loss, by how many features are shown
        self.register_buffer("unit", torch.ones((a.k or 0) + 1))

    def start(self, x: Tensor) -> Tensor:
        """The mask before anything is asked, of rows (1, n, D): forced features alone, (1, n, d)."""
        mask = x.new_zeros(*x.shape[:-1], self.architecture.n_features)
        return mask if self.forced is None else mask.masked_fill(self.forced, 1.0)

    def next_worth(self, x: Tensor, mask: Tensor) -> Tensor:
        """By how much each feature would lower the loss, beside those that `mask` (1, n, d) shows; -inf for those."""
        place = mask.sum(-1, keepdim=True).long().clamp_max(len(self.unit) - 1)
        return (self.worth(x, mask) * self.unit[place]).masked_fill(mask > 0, -torch.inf)

    def order(self, x: Tensor) -> Tensor:
        """The features of rows (1, n, D) in the order in which they are asked for, forced ones first: (1, n, k).

        Features that a row has no value of are last.
        """
        taken, k = self.start(x), self.architecture.k or 0
        asked = [torch.nonzero(taken[0, 0] > 0).squeeze(1).expand(*taken.shape[:-1], -1)]
        for _ in range(k - asked[0].shape[-1]):
            worth = self._withholding_values(self.next_worth(x, self._shown(taken)))
            best = worth.masked_fill(taken > 0, -torch.inf).argmax(-1, keepdim=True)
            taken = taken.scatter(-1, best, 1.0)
            asked.append(best)
        return torch.cat(asked, -1)

    def _shown(self, taken: Tensor) -> Tensor:
        return taken if self.withheld is None else taken.masked_fill(self.withheld, 0.0)

    def _withholding_values(self, worth: Tensor) -> Tensor:
        lowest = torch.finfo(worth.dtype).min
        return worth if self.withheld is None else worth.masked_fill(self.withheld, lowest)

    def scores(self, x: Tensor) -> Tensor:
        """k for the feature asked for first, down to 1 for the last, -1 for the others: (1, n, d)."""
        order = self.order(x)
        falling = torch.arange(order.shape[-1], 0, -1, device=x.device, dtype=x.dtype).expand_as(order)
        return x.new_full((*x.shape[:-1], self.architecture.n_features), -1.0).scatter(-1, order, falling)

    def decide(self, scores: Tensor) -> Tensor:
        """What was asked for and has something to show: bool, like scores."""
        return super().decide(scores) & (scores > 0)

    def gates(self, x: Tensor) -> Choice:
        """Scores alone."""
        return Choice(self.scores(x), None, None)

    def covariance(self, choice: Choice) -> Covariance:
        """None: nothing is drawn."""
        return Independent(choice.scores.new_ones(self.architecture.n_features))

    def sample(self, choice: Choice, batch_shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
        """The one mask that follows from the values: nothing is drawn."""
        return self.decide(choice.scores).to(choice.scores.dtype)

    def output(self, x: Tensor, mask: Tensor) -> Tensor:
        """The mean of the fold predictors."""
        folds = self.architecture.n_folds
        outputs = self.predictors(x.expand(folds, -1, -1), mask.expand(folds, -1, -1))
        return mean_output(outputs, self.architecture)
