"""The whole forward pass: table -> scores -> noise -> mask -> prediction."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn

from sklar import kernels
from sklar.model import binary_mask, copula, topk_mask
from sklar.model.covariance import (
    BlockDiagonal,
    BlockLayout,
    Covariance,
    FullRank,
    FullRankHead,
    Independent,
    LowRank,
)
from sklar.model.gates import open_forced, to_inputs
from sklar.model.networks import Choice, ChoiceNet, PredictNet

COVARIANCES = ("low-rank", "full", "block", "independent")


@dataclass(frozen=True)
class Architecture:
    """All that fixes a model's shape; with it and the weights a model can be built anew."""

    n_features: int
    n_outputs: int
    k: int | None = None  # None: the binary mask; a number: the top-k mask
    covariance: str = "low-rank"
    n_factors: int = 8  # columns of L, for covariance="low-rank"
    blocks: tuple[tuple[int, ...], ...] = ()  # for covariance="block"
    temperature: float = 1.0
    step_exponent: float = 0.0
    correlation_strength: float = 1.0
    choice_hidden: int = 100
    predict_hidden: int = 200
    activation: str = "relu"
    loadings_activation: str = "tanh"
    loadings_precision: str = "float32"  # of the factors of a full-rank L on a GPU; sums are float32 in any case
    replicas: int = 1
    gate_of_input: tuple[int, ...] = ()  # the gate of each input; (): every feature is one input
    output_kind: str = ""  # what an output means (see `training.tasks`); "": one is a value, several are classes
    forced: tuple[int, ...] = ()  # gates that are always open
    min_features: int = 0  # a row shows at least so many (binary mask)

    @property
    def n_inputs(self) -> int:
        """Inputs of the networks."""
        return len(self.gate_of_input) or self.n_features


class Forward(NamedTuple):
    """What a training step needs of one pass."""

    output: Tensor  # logits or values, (R, n, out)
    mask: Tensor  # hard forward and relaxed backward, or relaxed throughout, (R, n, d)


class GateModel(nn.Module):
    """What both objectives' models can do: score features, draw masks from a copula, decide without noise.

    A subclass says where scores and the copula's parameters come from (`gates`, `covariance`) and what is predicted
    from the features shown (`output`).
    """

    architecture: Architecture
    gate_of_input: Tensor | None
    forced: Tensor | None  # bool (d,)
    withheld: Tensor | None = None  # bool (1, n, d): gates that are shut for the rows at hand, whatever their scores

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        a = self.architecture = architecture
        of_input = torch.tensor(a.gate_of_input) if a.gate_of_input else None
        opened = set(a.forced)
        forced = torch.tensor([gate in opened for gate in range(a.n_features)]) if opened else None
        self.register_buffer("gate_of_input", of_input, persistent=False)
        self.register_buffer("forced", forced, persistent=False)

    def withholding(self, gates: Tensor) -> Self:
        """The same model, asked about rows of which some gates, bool (1, n, d), have nothing to show."""
        other = copy.copy(self)
        other.withheld = gates
        return other

    def gates(self, x: Tensor) -> Choice:
        """Scores and the copula's parameters for the rows of x (R, n, D)."""
        raise NotImplementedError

    def covariance(self, choice: Choice) -> Covariance:
        """The covariance of every row's gates."""
        raise NotImplementedError

    def output(self, x: Tensor, mask: Tensor) -> Tensor:
        """What is predicted from the selected features alone: (R, n, out)."""
        raise NotImplementedError

    def scores(self, x: Tensor) -> Tensor:
        """alpha: above 0 is more probable than not (binary), larger is better (top-k): (R, n, d)."""
        return self.gates(x).scores

    def gate_scores(self, x: Tensor) -> Tensor:
        """alpha of the gates alone, whatever else `scores` takes into account: (R, n, d)."""
        return self.scores(x)

    def ordered(self, x: Tensor) -> Tensor:
        """The scores, with those of a ranker's features dealt by their order: (1, n, d)."""
        return self.scores(x)

    def shared(self) -> GateModel:
        """The model with the dependence that all rows share."""
        return self

    def sample(self, choice: Choice, batch_shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
        """One mask a row, drawn from the copula; hard forward, relaxed backward: (*batch_shape, d)."""
        a, covariance = self.architecture, self.covariance(choice)
        if a.k is None and isinstance(covariance, Independent):
            eps = covariance.parts(batch_shape, generator)[1]  # sigma cancels
            return kernels.low_rank_mask(choice.scores, None, None, eps, a.temperature)
        s = copula.standard_draw(covariance, batch_shape, generator)
        if a.k is None:
            noise = copula.logistic(s)
            relaxed = binary_mask.relaxed_mask(choice.scores, noise, a.temperature)
            return binary_mask.straight_through(binary_mask.hard_mask(choice.scores, noise), relaxed)
        keys = topk_mask.sampling_keys(self.weights(choice.scores), copula.log_uniform(s))
        relaxed = topk_mask.relaxed_topk(keys, a.k, a.temperature, a.step_exponent)
        return binary_mask.straight_through(topk_mask.hard_topk(relaxed, a.k), relaxed)

    def relaxed_sample(self, choice: Choice, generator: torch.Generator | None) -> Tensor:
        """One relaxed mask a row, z~ of the paper's section 3.2, never rounded: (R, n, d)."""
        a = self.architecture
        s = copula.standard_draw(self.covariance(choice), tuple(choice.scores.shape[:-1]), generator)
        if a.k is None:
            return binary_mask.relaxed_mask(choice.scores, copula.logistic(s), a.temperature)
        keys = topk_mask.sampling_keys(self.weights(choice.scores), copula.log_uniform(s))
        return topk_mask.relaxed_topk(keys, a.k, a.temperature, a.step_exponent)

    def draw(self, choice: Choice, batch_shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
        """One mask a row, as `sample` draws it, without what is withheld: bool (*batch_shape, d)."""
        mask = self.sample(choice, batch_shape, generator) > 0.5
        return mask if self.withheld is None else mask & ~self.withheld

    def weights(self, scores: Tensor) -> Tensor:
        """In proportion to what the top-k mask draws features: like scores."""
        return topk_mask.sampling_weights(scores)

    def decide(self, scores: Tensor) -> Tensor:
        """The mask without noise: bool, like scores."""
        mask = binary_mask.decided(scores, self.architecture.k, self.architecture.min_features)
        return mask if self.withheld is None else mask & ~self.withheld

    def mask(self, x: Tensor) -> Tensor:
        """Which features decide the rows of x (1, n, D), without noise: bool (1, n, d)."""
        return self.decide(self.scores(x))

    def at_penalty(self, log_factor: float) -> GateModel:
        """The model at another penalty, whose logarithm is so much larger; most know one alone."""
        raise NotImplementedError

    def with_k(self, k: int, told: bool = False) -> GateModel:
        """Another number of features per row: the first k of the ranking, or as one `told` k ranks them."""
        other = copy.deepcopy(self)
        other.architecture = replace(self.architecture, k=k)
        return other

    def votes(self, x: Tensor) -> Tensor:
        """The share of models that select each feature, here of one: (1, n, d)."""
        return self.mask(x).double()

    def places(self, x: Tensor) -> Tensor:
        """The place that each model gives each feature, 1 the best: (models, n, d)."""
        return topk_mask.places(self.ordered(x))

    def _settled(self, scores: Tensor) -> Tensor:
        """The scores with those of forced gates out of reach, and of withheld ones below all others."""
        return self._without_withheld(open_forced(scores, self.forced))

    def _without_withheld(self, scores: Tensor) -> Tensor:
        return scores if self.withheld is None else scores.masked_fill(self.withheld, -torch.inf)


class SelectionModel(GateModel):
    """ChoiceNet, the sampler of the paper, and PredictNet."""

    def __init__(self, architecture: Architecture, generator: torch.Generator | None = None) -> None:
        super().__init__(architecture)
        a = architecture
        self.layout = BlockLayout(a.blocks) if a.covariance == "block" else None
        self.choice = ChoiceNet(
            a.n_features,
            a.choice_hidden,
            n_inputs=a.n_inputs,
            n_loadings=self._n_loadings(),
            # The ranker's own noise is fixed: R = Norm(I + tau L L^T). So is that of L L^T.
            with_sigma=self._low_rank_mask,
            activation=a.activation,
            loadings_activation=a.loadings_activation,
            replicas=a.replicas,
            generator=generator,
        )
        self.predict = PredictNet(
            a.n_inputs,
            a.predict_hidden,
            a.n_outputs,
            activation=a.activation,
            replicas=a.replicas,
            generator=generator,
        )

    def forward(self, x: Tensor, generator: torch.Generator | None = None, rounded: bool = False) -> Forward:
        """One noisy pass over the rows of x (R, n, D). A draw is made once: a full L need not be stored for it.

        A mask is relaxed, or rounded with the gradient of the relaxed one.
        """
        a = self.architecture
        choice = self._opened(self.choice(x, factored=a.covariance == "full" or (rounded and self._low_rank_mask)))
        if rounded:
            mask = self.sample(choice, choice.scores.shape[:-1], generator)
        else:
            mask = self.relaxed_sample(choice, generator)
        return Forward(self.output(x, mask), mask)

    def sample(self, choice: Choice, batch_shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
        """See `GateModel.sample`; in training a low-rank copula goes from its head to the mask in one pass."""
        if choice.hidden is None or self.choice.copula is None or not self._low_rank_mask:
            return super().sample(choice, batch_shape, generator)
        a, scores = self.architecture, choice.scores
        eps, xi = (
            torch.randn(*batch_shape, width, generator=generator, device=scores.device, dtype=scores.dtype)
            for width in (a.n_features, self._n_factors)
        )
        head = self.choice.copula(choice.hidden)
        return kernels.low_rank_mask(scores, head, xi, eps, a.temperature, a.loadings_activation)

    def gates(self, x: Tensor) -> Choice:
        """ChoiceNet, all heads."""
        return self._opened(self.choice(x))

    def scores(self, x: Tensor) -> Tensor:
        """ChoiceNet's scores, without the cost of the other heads."""
        return self._opened(self.choice(x, heads=False)).scores

    def covariance(self, choice: Choice) -> Covariance:
        """The covariance of every row's gates, from ChoiceNet's heads."""
        a, loadings, sigma = self.architecture, choice.loadings, choice.sigma
        ones = choice.scores.new_ones(a.n_features)
        if choice.hidden is not None and a.covariance == "full" and self.choice.copula is not None:
            rounded = a.loadings_precision == "bfloat16" and ones.is_cuda
            factors = (choice.hidden, self.choice.copula.weight, self.choice.copula.bias)
            hidden, weight, bias = (factor.bfloat16() if rounded else factor for factor in factors)
            own, scale = (torch.zeros_like(ones), 1.0) if a.k is None else (ones, a.correlation_strength**0.5)
            return FullRankHead(hidden, weight, bias, a.loadings_activation, own, scale)
        if choice.hidden is not None:
            loadings, sigma = self.choice.copula_of(choice.hidden)
        if loadings is None:
            return Independent(ones)
        if a.k is not None:  # Norm(I + tau L L^T)
            loadings, sigma = loadings * a.correlation_strength**0.5, ones
        if self.layout is not None:
            return BlockDiagonal(loadings, self.layout, sigma)
        if a.covariance == "full":
            return FullRank(loadings.unflatten(-1, (a.n_features, -1)), sigma)
        return LowRank(loadings.unflatten(-1, (-1, a.n_features)).mT, ones if sigma is None else sigma)

    def output(self, x: Tensor, mask: Tensor) -> Tensor:
        """PredictNet on x * z."""
        return self.predict(x * to_inputs(mask, self.gate_of_input))

    def replica(self, index: int) -> SelectionModel:
        """One replica as a model of its own."""
        model = type(self)(replace(self.architecture, replicas=1), torch.Generator())  # no global draw
        model.load_state_dict({key: value[index : index + 1].cpu() for key, value in self.state_dict().items()})
        return model

    def _opened(self, choice: Choice) -> Choice:
        return choice._replace(scores=self._settled(choice.scores))

    @property
    def _low_rank_mask(self) -> bool:
        return self.architecture.covariance == "low-rank" and self.architecture.k is None

    @property
    def _n_factors(self) -> int:
        return min(self.architecture.n_factors, self.architecture.n_features)

    def _n_loadings(self) -> int:
        a = self.architecture
        return {
            "independent": 0,
            "low-rank": a.n_features * self._n_factors,  # factor by factor
            "full": a.n_features**2,
            "block": self.layout.n_entries if self.layout else 0,
        }[a.covariance]
