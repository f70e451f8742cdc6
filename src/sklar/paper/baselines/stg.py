"""Stochastic gates (Yamada, Lindenbaum, Negahban, Kluger, ICML 2020): one gate per feature, the same for all rows.

A gate is clamp(mu + sigma * eps + 1/2, 0, 1), which is exactly 0 or exactly 1 with positive probability; the
penalty is the probability that it is open, Phi((mu + 1/2) / sigma).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from sklar.model.networks import PredictNet
from sklar.paper.baselines.networks import adam, descend
from sklar.paper.baselines.priced import PricedBaseline
from sklar.params import Count, Positive


class GatesAndPredictor(nn.Module):
    """The centres mu of the gates (R, 1, d), and the network behind them."""

    def __init__(self, centres: Tensor, predictor: nn.Module) -> None:
        super().__init__()
        self.centres = nn.Parameter(centres)
        self.predictor = predictor


def clamped_gates(centres: Tensor, noise: Tensor | float) -> Tensor:
    """The gates for given noise: clamp(mu + noise + 1/2, 0, 1)."""
    return (centres + noise + 0.5).clamp(0, 1)


class StochasticGates(PricedBaseline):
    """Global selection by Gaussian gates in front of a network.

    Takes the parameters of `NetworkBaseline` and `PricedBaseline` too; the price is that of the probability that a gate
    is open.

    Parameters
    ----------
    k : int or None
        With `penalty="auto"`, the price is chosen at which the number of open gates is nearest to k.
    sigma : float, default 0.5
        Spread of the noise of a gate.
    predictor_hidden : int, default 200
        Width of the network d-200-BN-200-BN-out.
    gate_learning_rate : float or None
        For mu alone; None is `learning_rate`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import StochasticGates
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> stg = StochasticGates(iterations=20, batch_size=100, random_state=0).fit(X, 2 * X[:, 0] - X[:, 1])
    >>> stg.select(X, k=2).shape
    (200, 5)
    """

    k: Count | None = None
    sigma: Positive = 0.5
    predictor_hidden: Count = 200
    gate_learning_rate: Positive | None = None

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        centres = 0.01 * torch.randn((replicas, 1, n_features), generator=generator)
        predictor = PredictNet(n_features, self.predictor_hidden, n_outputs, replicas=replicas, generator=generator)
        return GatesAndPredictor(centres, predictor)

    def _train(self, model: GatesAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        task = self._task()
        optimiser = adam([model.predictor], self.learning_rate, self.weight_decay)
        gate_rate = self.gate_learning_rate or self.learning_rate
        optimiser.add_param_group({"params": [model.centres], "lr": gate_rate, "weight_decay": 0.0})
        model.train()
        price = cast("Any", model.price).squeeze(1)  # (R,)

        def learn(rows: Tensor) -> Tensor:
            noise = self.sigma * torch.randn(model.centres.shape, generator=generator, device=x.device)
            gates = clamped_gates(model.centres, noise)  # (R, 1, d): one draw for the whole batch
            loss = task.row_loss(model.predictor(x[:, rows] * gates), y[..., rows]).mean(-1)  # (R,)
            chance_open = torch.special.ndtr((model.centres + 0.5) / self.sigma).mean((-2, -1))  # (R,)
            return descend(optimiser, (loss + price * chance_open).sum())

        self._learn(learn, x.shape[1], self.iterations, generator)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        model: Any = self.model_
        return model.centres[0, 0].numpy() + 0.5  # before clamping, so that open gates still have an order

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0.5

    def _decided(self, model: Any, x: Tensor) -> Tensor:
        return (model.centres > 0).to(x.dtype).expand_as(x)

    def _badness(self, model: Any, x: Tensor, y: Tensor) -> Tensor:
        losses = super()._badness(model, x, y)
        if self.k is None:
            return losses
        n_open = (model.centres > 0).sum((-2, -1))
        return (n_open - self.k).abs() + torch.sigmoid(losses)  # of equally near ones, the lower loss

    def _outputs(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        return model.predictor(x * mask * clamped_gates(model.centres, 0.0))
