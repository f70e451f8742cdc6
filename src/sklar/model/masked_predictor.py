"""A predictor that can be asked about any subset of features: p(y | x_S) for every S.

Its input is [x * z, z - 1/2], so that "absent" and "zero" differ. Flipping one gate changes the first layer's
pre-activation by a rank-one step, so that asking "and with feature i flipped?" costs one small layer, not d inputs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sklar.model.networks import StackedLinear


class MaskedPredictor(nn.Module):
    """R networks 2d - h - h - out; rows (R, n, d) and masks (R, n, d) -> (R, n, out)."""

    def __init__(
        self, n_features: int, hidden: int, n_outputs: int, replicas: int = 1, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.n_features = n_features
        self.first = StackedLinear(replicas, 2 * n_features, hidden, generator)
        self.second = StackedLinear(replicas, hidden, hidden, generator)
        self.last = StackedLinear(replicas, hidden, n_outputs, generator)
        self.first.start(2**0.5, 0.0, generator)
        self.second.start(2**0.5, 0.0, generator)
        self.last.start(0.3, 0.0, generator)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Logits or values from the features that `mask` shows."""
        return self.after_first(self.before_activation(x, mask))

    def before_activation(self, x: Tensor, mask: Tensor) -> Tensor:
        """The first layer's pre-activation: (R, n, h)."""
        return self.first(torch.cat([x * mask, mask - 0.5], dim=-1))

    def after_first(self, hidden: Tensor) -> Tensor:
        """From the first pre-activation to the output."""
        return self.last(torch.relu(self.second(torch.relu(hidden))))

    def flipped(self, hidden: Tensor, x: Tensor, mask: Tensor, index: Tensor) -> Tensor:
        """Outputs with gate i of each row flipped, for each i in `index` (R, n, K): (R, n, K, out).

        `hidden` is `before_activation(x, mask)`: flipping gate i adds +-(x_i W_i + W'_i) to it.
        """
        replicas, n, count = index.shape
        width = hidden.shape[-1]
        rows = index.reshape(replicas, n * count, 1).expand(-1, -1, width)
        value, shown = x.gather(-1, index).unsqueeze(-1), mask.gather(-1, index).unsqueeze(-1)  # (R, n, K, 1)
        of_value = self.first.weight[:, : self.n_features].gather(1, rows).view(replicas, n, count, width)
        of_mask = self.first.weight[:, self.n_features :].gather(1, rows).view(replicas, n, count, width)
        moved = hidden.unsqueeze(2) + (of_value * value + of_mask) * (1 - 2 * shown)
        return self.after_first(moved.view(replicas, n * count, width)).view(replicas, n, count, -1)
