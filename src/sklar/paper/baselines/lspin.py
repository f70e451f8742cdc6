"""LSPIN and LLSPIN (Yang, Lindenbaum, Kluger, ICML 2022): stochastic gates whose centres a network sets for each row.

A gate is clamp(mu(x) + sigma eps + 1/2, 0, 1), as in STG, with mu(x) in (-1, 1). LLSPIN predicts linearly from the
gated values, so that a row's prediction is a sum over its few features. Both train in one loss, and can encode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sklar.model.networks import ChoiceNet, PredictNet, StackedLinear
from sklar.paper.baselines.networks import SelectorAndPredictor, adam, descend, n_replicas
from sklar.paper.baselines.priced import PricedBaseline
from sklar.paper.baselines.stg import clamped_gates
from sklar.params import Count, NonNegative, Positive


class Lspin(PricedBaseline):
    """Instance-wise selection by Gaussian gates in front of a network.

    Takes the parameters of `NetworkBaseline` and `PricedBaseline` too; the price is that of the probability that a gate
    is open. Keeps the gates that are open at all, without noise.

    Parameters
    ----------
    sigma : float, default 0.5
        Spread of the noise of a gate.
    selector_hidden, predictor_hidden : int, default 100
        Widths of the gating network d-100-100-d and of the predictor d-100-BN-100-BN-out, both with tanh.

    Examples
    --------
    >>> from sklar.paper.baselines import Lspin
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> Lspin(iterations=20, batch_size=100, random_state=0).fit(X, X[:, 0] > 0).select(X, k=2).shape
    (200, 5)
    """

    is_instance_wise = True
    sigma: Positive = 0.5
    selector_hidden: Count = 100
    predictor_hidden: Count = 100
    weight_decay: NonNegative = 0.0

    def _build(self, n_features: int, n_outputs: int, replicas: int, generator: torch.Generator) -> nn.Module:
        shared: Any = {"activation": "tanh", "replicas": replicas, "generator": generator}
        selector = ChoiceNet(n_features, self.selector_hidden, **shared)
        return SelectorAndPredictor(selector, self._predictor(n_features, n_outputs, shared))

    def _predictor(self, n_features: int, n_outputs: int, shared: dict[str, Any]) -> nn.Module:
        return PredictNet(n_features, self.predictor_hidden, n_outputs, **shared)

    def _train(self, model: SelectorAndPredictor, x: Tensor, y: Tensor, generator: torch.Generator) -> None:
        optimiser = adam([model], self.learning_rate, self.weight_decay)
        price, shape = (model.price, n_replicas(model))  # (R, 1)
        model.train()

        def learn(rows: Tensor) -> Tensor:
            x_rows = x[:, rows].expand(shape, -1, -1)
            centres = _centres(model, x_rows)  # (R, b, d)
            noise = torch.randn(centres.shape, generator=generator, device=x.device)
            output = model.predictor(x_rows * clamped_gates(centres, self.sigma * noise))
            chance_open = torch.special.ndtr((centres + 0.5) / self.sigma).mean(-1)  # (R, b)
            loss = self._task().row_loss(output, y[..., rows]) + price * chance_open
            return descend(optimiser, loss.mean(-1).sum())

        self._learn(learn, x.shape[1], self.iterations, generator)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self._answer(rows, _centres) + 0.5  # before clamping, so that open gates still have an order

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0

    def _decided(self, model: Any, x: Tensor) -> Tensor:
        return (_centres(model, x) > -0.5).to(x.dtype)

    def _outputs(self, model: Any, x: Tensor, mask: Tensor) -> Tensor:
        return model.predictor(x * mask * clamped_gates(_centres(model, x), 0.0))


class Llspin(Lspin):
    """LSPIN with a linear predictor of the gated values.

    The parameters are those of `Lspin`.

    Examples
    --------
    >>> from sklar.paper.baselines import Llspin
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> Llspin(iterations=20, batch_size=100, random_state=0).fit(X, X[:, 0] > 0).scores(X).shape
    (200, 5)
    """

    def _predictor(self, n_features: int, n_outputs: int, shared: dict[str, Any]) -> nn.Module:
        return StackedLinear(shared["replicas"], n_features, n_outputs, shared["generator"])


def _centres(model: Any, x: Tensor) -> Tensor:
    """mu(x), in (-1, 1): (R, n, d)."""
    return torch.tanh(model.selector(x).scores)
