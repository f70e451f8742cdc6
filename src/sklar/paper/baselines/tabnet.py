"""TabNet's masks (Arik, Pfister, AAAI 2021): attention over columns, step by step, in a network that predicts.

At each of a few steps a sparse mask (sparsemax) says which columns the step reads; columns that were read count less in
the next. A column's score is the sum of its weights, each step counting by what it adds to the prediction. The network
sees the whole row before its first mask, so the masks are an account of its attention, not what it knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sklar.model.networks import StackedBatchNorm, StackedLinear
from sklar.paper.baselines.networks import BatchSize, PredictsFromMask, adam, descend
from sklar.params import Count, NonNegative, Positive

HALF = 0.5**0.5  # a sum of two parts keeps its variance


def sparsemax(values: Tensor) -> Tensor:
    """The nearest point of the simplex (Martins, Astudillo 2016), often with zeros: (..., d) -> (..., d).

    Examples
    --------
    >>> sparsemax(torch.tensor([1.0, 0.8, -1.0]))
    tensor([0.6000, 0.4000, 0.0000])
    """
    ordered = values.sort(dim=-1, descending=True).values
    counts = torch.arange(1, values.shape[-1] + 1, device=values.device, dtype=values.dtype)
    in_support = 1 + counts * ordered > ordered.cumsum(-1)
    size = in_support.sum(-1, keepdim=True)
    threshold = ((ordered * in_support).sum(-1, keepdim=True) - 1) / size
    return (values - threshold).clamp_min(0)


class GatedLayer(nn.Module):
    """A linear layer, normalised, half of whose outputs gate the other half: (R, n, in) -> (R, n, out)."""

    def __init__(self, linear: StackedLinear) -> None:
        super().__init__()
        self.linear = linear
        replicas, _, width = linear.weight.shape
        self.norm = StackedBatchNorm(replicas, width, momentum=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """GLU of the normalised outputs."""
        values, gates = self.norm(self.linear(x)).chunk(2, dim=-1)
        return values * torch.sigmoid(gates)


class Step(nn.Module):
    """Four gated layers, of which the first two share their linear parts with the other steps."""

    def __init__(self, shared: list[StackedLinear], own: list[StackedLinear]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GatedLayer(linear) for linear in (*shared, *own))

    def forward(self, x: Tensor) -> Tensor:
        """(R, n, d) -> (R, n, 2 w)."""
        h = self.layers[0](x)
        for layer in list(self.layers)[1:]:
            h = HALF * (h + layer(h))
        return h


class TabNetwork(nn.Module):
    """The encoder of TabNet and its last layer."""

    def __init__(
        self, n_features: int, width: int, n_steps: int, n_outputs: int, replicas: int, generator: torch.Generator
    ) -> None:
        super().__init__()

        def linear(n_in: int, n_out: int) -> StackedLinear:
            return StackedLinear(replicas, n_in, n_out, generator)

        self.width = width
        self.norm = StackedBatchNorm(replicas, n_features, momentum=0.01)
        shared = [linear(n_features, 4 * width), linear(2 * width, 4 * width)]
        own = [[linear(2 * width, 4 * width) for _ in range(2)] for _ in range(n_steps + 1)]
        self.steps = nn.ModuleList(Step(shared, layers) for layers in own)
        self.attention = nn.ModuleList(linear(width, n_features) for _ in range(n_steps))
        self.attention_norms = nn.ModuleList(StackedBatchNorm(replicas, n_features, 0.02) for _ in range(n_steps))
        self.last = linear(width, n_outputs)

    def forward(self, x: Tensor, relaxation: float) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs (R, n, out), scores (R, n, d), and the mean entropy of the masks (R, n)."""
        x = self.norm(x)
        prior, total = torch.ones_like(x), x.new_zeros(())
        scores, entropy = torch.zeros_like(x), x.new_zeros(x.shape[:2])
        attended = self.steps[0](x)[..., self.width :]
        for step, attention, norm in zip(list(self.steps)[1:], self.attention, self.attention_norms, strict=True):
            mask = sparsemax(norm(attention(attended)) * prior)
            prior = prior * (relaxation - mask)
            decision, attended = step(x * mask).split(self.width, dim=-1)
            total = total + decision.relu()
            scores = scores + mask * decision.relu().sum(-1, keepdim=True)
            entropy = entropy - (mask * (mask + 1e-15).log()).sum(-1) / len(self.attention)
        return self.last(total), scores, entropy


class TabNet(PredictsFromMask):
    """Instance-wise scores from the masks of a network that attends to columns; predicts from all features.

    Takes the parameters of `NetworkBaseline` too. Without `k`, keeps the columns that any mask lets through.

    Parameters
    ----------
    width : int, default 8
        Outputs of a step for the prediction, and as many for the attention.
    n_steps : int, default 3
    relaxation : float, default 1.3
        gamma: at 1 a column is read in one step alone.
    sparsity : float, default 0.001
        Price of the masks' entropy.
    iterations, batch_size, learning_rate, weight_decay : default 2000, 1024, 0.02 and 0

    Examples
    --------
    >>> from sklar.paper.baselines import TabNet
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> TabNet(iterations=20, batch_size=100, random_state=0).fit(X, X[:, 0] > 0).scores(X).shape
    (200, 5)
    """

    is_instance_wise = True
    width: Count = 8
    n_steps: Count = 3
    relaxation: Positive = 1.3
    sparsity: NonNegative = 1e-3
    iterations: Count = 2000
    batch_size: BatchSize = 1024
    learning_rate: Positive = 0.02
    weight_decay: NonNegative = 0.0

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        return TabNetwork(n_features, self.width, self.n_steps, n_outputs, replicas, generator)

    def _train(self, model: TabNetwork, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        optimiser = adam([model], self.learning_rate, self.weight_decay)
        replicas = len(model.last.weight)
        model.train()

        def learn(rows: Tensor) -> Tensor:
            output, _, entropy = model(x[:, rows].expand(replicas, -1, -1), self.relaxation)
            loss = self._task().row_loss(output, y[..., rows]) + self.sparsity * entropy
            return descend(optimiser, loss.mean(-1).sum())

        self._learn(learn, x.shape[1], self.iterations, generator)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._answer(rows, lambda model, x: model(x, self.relaxation)[1])

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0

    def _row_outputs(self, X: Any) -> np.ndarray:
        return self._answer(self._check_rows(X), lambda model, x: model(x, self.relaxation)[0])

    def _outputs(self, model: TabNetwork, x: Tensor, mask: Tensor) -> Tensor:
        return model(x * mask, self.relaxation)[0]
