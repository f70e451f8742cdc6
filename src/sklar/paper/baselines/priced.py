"""Baselines whose number of features follows from a price: one that is given, or the best of several on held-out rows.

The authors of INVASE say to choose it by the predictor's quality on held-out rows; a price that suits 11 features keeps
nearly all of 100.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from sklar.paper.baselines.networks import PredictsFromMask, n_replicas
from sklar.params import NonNegative
from sklar.training.engine.runtime import generator_on

# Prices of one feature that are tried: from a quarter to eight times INVASE's published one, .1 for all of 11 features.
FEATURE_PRICES = tuple(0.1 / 11 * factor for factor in (0.25, 0.5, 1, 2, 4, 8))
HELD_SHARE = 5  # one row of so many judges the prices


class PricedBaseline(PredictsFromMask):
    """Selects what is worth its price; fills `_decided` besides.

    Parameters
    ----------
    penalty : float or "auto"
        Price (lambda) of the *mean* over a row's features; "auto" takes, of six prices per feature, the one whose
        predictor does best on a fifth of the rows, and trains with it on all rows. `penalty_` says which.
    """

    penalty: NonNegative | Literal["auto"] = 0.1

    @property
    def penalty_(self) -> float:
        """The price that was used."""
        model: Any = self.model_
        return float(model.price)

    def _decided(self, model: Any, x: Tensor) -> Tensor:
        """The masks without noise: float (R, n, d)."""
        raise NotImplementedError

    def _train_replicas(self, rows: np.ndarray, target: np.ndarray, replicas: int, seed: int) -> nn.Module:
        x, y = self._tensors(rows, target)
        if self.penalty == "auto":
            prices = self._best_prices(x, y, replicas, seed)
        else:
            prices = [float(self.penalty)] * replicas
        return self._finished(self._priced(x, y, prices, seed))

    def _priced(self, x: Tensor, y: Tensor, prices: list[float], seed: int) -> nn.Module:
        """One replica for each price, trained."""
        weights = torch.Generator().manual_seed(seed)
        model = self._build(x.shape[-1], self._task().n_outputs, len(prices), weights)
        model.register_buffer("price", torch.tensor(prices).unsqueeze(1))
        model.to(x.device)
        self._train(model, x, y, generator_on(x.device, seed))
        return model

    def _best_prices(self, x: Tensor, y: Tensor, replicas: int, seed: int) -> list[float]:
        """For every replica the price that does best on rows kept aside; all prices train side by side."""
        grid = [x.shape[-1] * price for price in FEATURE_PRICES]
        x = x if len(x) == 1 else x.repeat_interleave(len(grid), 0)
        y = y if y.ndim == 1 else y.repeat_interleave(len(grid), 0)
        order = torch.randperm(x.shape[1], generator=generator_on(x.device, seed), device=x.device)
        n_held = max(1, len(order) // HELD_SHARE)
        held, kept = order[:n_held], order[n_held:]
        model = self._priced(x[:, kept], y[..., kept], grid * replicas, seed).eval()
        with torch.no_grad():
            badness = self._badness(model, x[:, held], y[..., held]).view(replicas, len(grid))
        return [grid[best] for best in badness.argmin(1).tolist()]

    def _badness(self, model: Any, x: Tensor, y: Tensor) -> Tensor:
        """What is lowest for the best price: here the held-out loss of every replica, (R,)."""
        x = x.expand(n_replicas(model), -1, -1)
        return self._task().row_loss(self._outputs(model, x, self._decided(model, x)), y).mean(-1)
