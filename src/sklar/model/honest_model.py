"""The model that honest training leaves: scores and predictions that look at the union of features only.

Features outside the union were screened away: their score is the lowest there is, their gate is never open, and
nothing reads them, so answering costs what the union costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from sklar.model.covariance import Covariance, Independent, LowRank
from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.networks import Choice, ChoiceNet
from sklar.model.selection import Architecture, GateModel

SHUT = -30.0  # the score of a feature outside the union


@dataclass(frozen=True)
class HonestArchitecture(Architecture):
    """An architecture with the union's columns and the number of cross-fitted predictors."""

    columns: tuple[int, ...] = ()
    n_folds: int = 4


class HonestModel(GateModel):
    """ChoiceNet and the fold predictors on the union; the gates' correlation is shared by all rows."""

    architecture: HonestArchitecture

    def __init__(self, architecture: HonestArchitecture, generator: torch.Generator | None = None) -> None:
        super().__init__()
        a = self.architecture = architecture
        width = len(a.columns)
        self.register_buffer("columns", torch.tensor(a.columns, dtype=torch.long), persistent=False)
        self.columns: Tensor
        self.choice = ChoiceNet(width, a.choice_hidden, activation=a.activation, generator=generator)
        self.predictors = MaskedPredictor(width, a.predict_hidden, a.n_outputs, a.n_folds, generator)
        # (width, p); p = 0 is independent gates
        self.loadings = nn.Parameter(torch.zeros(width, a.rank if a.covariance != "independent" else 0))

    def gates(self, x: Tensor) -> Choice:
        """Scores at full width, and the one L of all rows, at full width too."""
        loadings = self.loadings.new_zeros(self.architecture.n_features, self.loadings.shape[1])
        return Choice(self.scores(x), loadings.index_copy(0, self.columns, self.loadings), None)

    def scores(self, x: Tensor) -> Tensor:
        """alpha at full width; `SHUT` outside the union."""
        inside = self.choice(x[..., self.columns]).scores
        return x.new_full(x.shape, SHUT).index_copy(-1, self.columns, inside)

    def covariance(self, choice: Choice) -> Covariance:
        """Norm(L L^T + I)."""
        sigma = choice.scores.new_ones(self.architecture.n_features)
        if choice.loadings is None or not choice.loadings.shape[-1]:
            return Independent(sigma)
        return LowRank(choice.loadings, sigma)

    def output(self, x: Tensor, mask: Tensor) -> Tensor:
        """The mean of the fold predictors: of their probabilities (returned as logarithms), or of their values."""
        shown, gate = x[..., self.columns], mask[..., self.columns].to(x.dtype)
        folds = self.architecture.n_folds
        outputs = self.predictors(shown.expand(folds, -1, -1), gate.expand(folds, -1, -1))  # (F, n, out)
        if self.architecture.n_outputs == 1:
            return outputs.mean(0, keepdim=True)
        return torch.logsumexp(log_softmax(outputs, dim=-1), dim=0, keepdim=True)
