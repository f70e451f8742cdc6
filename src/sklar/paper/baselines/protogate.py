"""ProtoGate (Jiang, Margeloiu, Simidjievski, Jamnik, ICML 2024): features by which a row's nearest neighbours agree.

A gating network d-h-d sets a gate per feature and row, clamp(mu + sigma eps, 0, 1); an L1 price on its first layer
drops features for all rows, a price on open gates drops them row by row. The predictor has no weights: a row's class
is that of its nearest training rows, each seen through its own gates, so that a gate can hardly carry a code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sklar.model.networks import StackedLinear
from sklar.paper.baselines.networks import BatchSize, PredictsFromMask, adam, descend, n_replicas
from sklar.params import Count, NonNegative, Positive

FAR = 1e6  # the distance of a row to itself, which is no neighbour


class GatesAndPrototypes(nn.Module):
    """The gating network, and the training rows that stand as examples of their classes."""

    prototypes: Tensor  # (R, m, d)
    labels: Tensor  # one-hot, (R, m, classes)

    def __init__(self, n_features: int, hidden: int, replicas: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = StackedLinear(replicas, n_features, hidden, generator)
        self.last = StackedLinear(replicas, hidden, n_features, generator)
        nn.init.constant_(self.last.bias, 0.5)  # gates begin half open

    def centres(self, x: Tensor) -> Tensor:
        """mu(x), in (-1, 1): (R, n, d)."""
        return torch.tanh(self.last(torch.tanh(self.first(x))))


class ProtoGate(PredictsFromMask):
    """Instance-wise selection for classes by nearest neighbours; not for real targets.

    Takes the parameters of `NetworkBaseline` too. Keeps the gates that are open without noise.

    Parameters
    ----------
    neighbours : int, default 3
        Nearest rows that are asked.
    penalty : float, default 0.015
        Price (local lambda) of an open gate.
    global_penalty : float, default 1e-4
        Price of the absolute weights of the gating network's first layer.
    sigma : float, default 0.5
        Spread of the noise of a gate.
    hidden : int, default 100
    n_prototypes : int, default 2000
        Training rows that are kept as examples.
    iterations, batch_size, learning_rate : default 3000, 100 and 1e-3

    Examples
    --------
    >>> from sklar.paper.baselines import ProtoGate
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> ProtoGate(iterations=20, batch_size=50, random_state=0).fit(X, X[:, 0] > 0).scores(X).shape
    (200, 5)
    """

    is_instance_wise = True
    handles_regression = False
    neighbours: Count = 3
    penalty: NonNegative = 0.015
    global_penalty: NonNegative = 1e-4
    sigma: Positive = 0.5
    hidden: Count = 100
    n_prototypes: Count = 2000
    batch_size: BatchSize = 100
    weight_decay: NonNegative = 0.0

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        return GatesAndPrototypes(n_features, self.hidden, replicas, generator)

    def _train(self, model: GatesAndPrototypes, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        optimiser = adam([model], self.learning_rate, self.weight_decay)
        replicas = n_replicas(model)
        target = nn.functional.one_hot(y, len(self.classes_)).to(x.dtype)  # (n, c) or (R, n, c)
        target = target.expand(replicas, *target.shape[-2:])

        def learn(rows: Tensor) -> Tensor:
            x_rows, classes = x[:, rows].expand(replicas, -1, -1), target[:, rows]
            centres = model.centres(x_rows)
            noise = torch.randn(centres.shape, generator=generator, device=x.device)
            seen = x_rows * (centres + self.sigma * noise).clamp(0, 1)
            own = FAR * torch.eye(len(rows), device=x.device, dtype=x.dtype)
            agree = soft_neighbours(torch.cdist(seen, seen).square() + own, self.neighbours) @ classes  # (R, b, c)
            miss = self.neighbours - (agree * classes).sum(-1).mean(-1)  # (R,)
            n_open = torch.special.ndtr(centres / self.sigma).sum(-1).mean(-1)
            columns = model.first.weight.abs().sum((-2, -1))
            return descend(optimiser, (miss + self.penalty * n_open + self.global_penalty * columns).sum())

        self._learn(learn, x.shape[1], self.iterations, generator)
        kept = torch.randperm(x.shape[1], generator=generator, device=x.device)[: self.n_prototypes]
        with torch.no_grad():
            rows = x[:, kept].expand(replicas, -1, -1)
            model.register_buffer("prototypes", rows * model.centres(rows).clamp(0, 1))
            model.register_buffer("labels", target[:, kept].clone())

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._answer(rows, lambda model, x: model.centres(x))

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0

    def _outputs(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        seen = x * mask * model.centres(x).clamp(0, 1)
        k = min(self.neighbours, model.prototypes.shape[1])
        nearest = torch.cdist(seen, model.prototypes).topk(k, dim=-1, largest=False).indices  # (R, n, k)
        votes = torch.stack([labels[some].sum(1) for labels, some in zip(model.labels, nearest, strict=True)])
        return (votes + 0.1).log()  # so that a class without a vote is not impossible


def soft_neighbours(distances: Tensor, k: int, temperature: float = 1.0) -> Tensor:
    """Weights of the k nearest, summing to k, differentiable (NeuralSort; Grover et al. 2019): (..., m) -> (..., m).

    The r-th nearest has the weights softmax(((m + 1 - 2 r) s - sum_l |s_j - s_l|) / temperature), s = -distance.

    Examples
    --------
    >>> soft_neighbours(torch.tensor([[9.0, 0.0, 1.0, 25.0]]), k=2, temperature=0.01).round()
    tensor([[0., 1., 1., 0.]])
    """
    nearness = -distances
    spread = (nearness.unsqueeze(-1) - nearness.unsqueeze(-2)).abs().sum(-1)  # (..., m)
    m = distances.shape[-1]
    ranks = (torch.softmax(((m + 1 - 2 * r) * nearness - spread) / temperature, -1) for r in range(1, k + 1))
    return torch.stack(list(ranks)).sum(0)
