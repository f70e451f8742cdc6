"""The model that honest training leaves: one score network, cross-fitted predictors, and the correlation of the gates.

All rows share the correlation, unless they asked for a part of their own (see `row_factors`).
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import log_softmax

from sklar.model.binary_mask import after_the_best, best_of_groups
from sklar.model.covariance import Covariance, Independent, LowRank
from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.networks import Choice, ChoiceNet
from sklar.model.order import PENALTY_SCALE, Order, dealt, nested
from sklar.model.piecewise import Piecewise
from sklar.model.row_factors import RowFactors, beaten, row_loadings
from sklar.model.selection import Architecture, GateModel
from sklar.model.topk_mask import exponential_weights, ranking


@dataclass(frozen=True)
class HonestArchitecture(Architecture):
    """An architecture with its number of cross-fitted predictors; 0 factors are independent gates."""

    n_folds: int = 4
    any_penalty: bool = False  # the selector was trained along a path of penalties, and can be asked at others
    row_hidden: int = 0  # hidden units of the row's part of the correlation; 0: all rows share one
    order_k: int = 0  # how many features of the largest scores are put in another order (see `order`)
    n_bins: int = 0  # pieces that the predictors cut numbers into (see `piecewise`)
    cut: tuple[int, ...] = ()  # the inputs that they cut


class HonestModel(GateModel):
    """ChoiceNet, and predictors that can be asked about any subset of features."""

    architecture: HonestArchitecture

    def __init__(self, architecture: HonestArchitecture, generator: torch.Generator | None = None) -> None:
        super().__init__(architecture)
        a = architecture
        self.choice = self._choice_net(generator)
        pieces = Piecewise(torch.tensor(a.cut, dtype=torch.long), a.n_bins, a.n_folds) if a.n_bins else None
        self.predictors = MaskedPredictor(
            a.n_features, a.predict_hidden, a.n_outputs, a.n_folds, generator, self.gate_of_input, pieces
        )
        self.loadings = nn.Parameter(torch.zeros(a.n_features, a.n_factors))
        self.substitutes: Tensor
        # which features stand for each other, so that one of them is enough for a row
        self.register_buffer("substitutes", torch.zeros(a.n_features, a.n_features, dtype=torch.bool))
        self.row_factors: RowFactors | None = None
        if a.row_hidden:
            self.row_factors = RowFactors(a.n_inputs, a.row_hidden, a.n_factors, generator=generator)
        # pairs of features of which rows decide whether one is enough
        self.contested: Tensor | None
        pairs = torch.zeros(a.n_features, a.n_features, dtype=torch.bool) if a.row_hidden else None
        self.register_buffer("contested", pairs)
        self.penalty_weight: Tensor | None
        # of the input that is told the penalty, which is folded into a bias: (1, 1, h)
        of_penalty = torch.zeros(1, 1, a.choice_hidden) if a.any_penalty else None
        self.register_buffer("penalty_weight", of_penalty)
        self.order: Order | None = None
        if a.order_k:
            self.order = Order(self._choice_net(generator), max(1, len(a.forced)), a.order_k)

    def gates(self, x: Tensor) -> Choice:
        """Scores of the rows, and L: one of all rows, or one of each."""
        loadings = self.loadings if self.row_factors is None else row_loadings(self.loadings, self.row_factors(x))
        return Choice(self.gate_scores(x), loadings, None)

    def gate_scores(self, x: Tensor) -> Tensor:
        """ChoiceNet's scores."""
        return self._settled(self.choice(x).scores)

    def scores(self, x: Tensor) -> Tensor:
        """The same, negative where a substitute is enough for the row; of a ranker, below all others there."""
        scores = self.one_of_each(self.gate_scores(x))
        if self.row_factors is None or self.contested is None:
            return scores
        lost = beaten(scores > 0, scores, self.loadings[None], self.row_factors(x), self.contested[None])
        return torch.where(lost, -scores, scores)

    def one_of_each(self, scores: Tensor) -> Tensor:
        """A ranker's scores, below all others for features beside a better one that stands for them."""
        return scores if self.architecture.k is None else after_the_best(scores, self.substitutes)

    def ordered(self, x: Tensor) -> Tensor:
        """See `GateModel.ordered`; the order is that of a ranker told 1, 2, ... features (see `order`)."""
        scores, k = self.scores(x), self.architecture.order_k
        if self.order is None:
            return scores
        told = [(count, self.one_of_each(self._settled(at_count))) for count, at_count in self.order(x, k)]
        return dealt(scores, nested(ranking(scores, k), [*told, (k, scores)]))

    def shared(self) -> HonestModel:
        """The same without the rows' part."""
        other = copy.copy(self)
        other._modules = {**self._modules, "row_factors": None}
        return other

    def covariance(self, choice: Choice) -> Covariance:
        """L L^T + I."""
        sigma = choice.scores.new_ones(self.architecture.n_features)
        if choice.loadings is None or not self.architecture.n_factors:
            return Independent(sigma)
        return LowRank(choice.loadings, sigma)

    def weights(self, scores: Tensor) -> Tensor:
        """exp(alpha), as in training."""
        return exponential_weights(scores)

    def decide(self, scores: Tensor) -> Tensor:
        """The mask without noise, with one of the features that stand for each other: bool, like scores."""
        mask = super().decide(scores)
        if self.architecture.k is not None or not self.substitutes.any():
            return mask
        return best_of_groups(mask, scores, self.substitutes)

    def mask(self, x: Tensor) -> Tensor:
        """See `GateModel.mask`; order matters where fewer features are shown than are in order."""
        return self.decide(self.ordered(x) if self.is_prefix else self.scores(x))

    @property
    def is_prefix(self) -> bool:
        """Whether rows get the first features of a longer ranking."""
        return self.architecture.order_k > (self.architecture.k or 0)

    def with_k(self, k: int, told: bool = False) -> HonestModel:
        """See `GateModel.with_k`."""
        if not told:
            other = copy.copy(self)
            other.architecture = replace(self.architecture, k=k)
            return other
        other = self.at_penalty(math.log(k / (self.architecture.k or k)))
        other.architecture = replace(self.architecture, k=k, order_k=k)
        return other

    def at_penalty(self, log_factor: float) -> HonestModel:
        """The model at another penalty, whose logarithm is so much larger: the penalty is one input of ChoiceNet."""
        assert self.penalty_weight is not None
        moved = copy.deepcopy(self)
        moved.choice.first.bias.data += PENALTY_SCALE * log_factor * self.penalty_weight
        return moved

    def output(self, x: Tensor, mask: Tensor) -> Tensor:
        """The mean of the fold predictors."""
        return mean_output(self._by_fold(x, mask), self.architecture)

    def out_of_fold(self, x: Tensor, mask: Tensor, folds: Tensor) -> Tensor:
        """The same by predictors that did not learn from the rows, whose folds (1, n) in training are given."""
        outputs = self._by_fold(x, mask)
        return outputs.gather(0, folds.unsqueeze(-1).expand(-1, -1, outputs.shape[-1]))

    def _choice_net(self, generator: torch.Generator | None) -> ChoiceNet:
        a = self.architecture
        return ChoiceNet(
            a.n_features, a.choice_hidden, n_inputs=a.n_inputs, activation=a.activation, generator=generator
        )

    def _by_fold(self, x: Tensor, mask: Tensor) -> Tensor:
        folds = self.architecture.n_folds
        return self.predictors(x.expand(folds, -1, -1), mask.expand(folds, -1, -1))  # (F, n, out)


def mean_output(outputs: Tensor, architecture: Architecture) -> Tensor:
    """The mean of what M networks predict, of probabilities or rates (as logarithms), or of values: (1, n, out).

    outputs : (M, n, out)
    """
    kind = architecture.output_kind
    if kind == "classes" or (not kind and architecture.n_outputs > 1):
        return torch.logsumexp(log_softmax(outputs, dim=-1), dim=0, keepdim=True)
    if kind == "labels":
        return torch.logit(outputs.sigmoid().mean(0, keepdim=True), eps=1e-7)
    if kind == "counts":
        return torch.logsumexp(outputs, dim=0, keepdim=True) - math.log(len(outputs))
    return outputs.mean(0, keepdim=True)
