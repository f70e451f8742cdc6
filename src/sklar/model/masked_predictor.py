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
        self,
        n_features: int,
        hidden: int,
        n_outputs: int,
        replicas: int = 1,
        generator: torch.Generator | None = None,
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

    def flip_step(self, x: Tensor, mask: Tensor, index: Tensor) -> Tensor:
        """What flipping gate i adds to the first pre-activation, for each i in `index` (R, n, K): (R, n, K, h).

        +-(x_i W_i + W'_i), with W the weights of x * z and W' those of z - 1/2.
        """
        replicas, n, count = index.shape
        width = self.first.weight.shape[-1]
        rows = index.reshape(replicas, n * count, 1).expand(-1, -1, width)
        value, shown = x.gather(-1, index).unsqueeze(-1), mask.gather(-1, index).unsqueeze(-1)  # (R, n, K, 1)
        of_value = self.first.weight[:, : self.n_features].gather(1, rows).view(replicas, n, count, width)
        of_mask = self.first.weight[:, self.n_features :].gather(1, rows).view(replicas, n, count, width)
        return (of_value * value + of_mask) * (1 - 2 * shown)

    def flip_steps(self, x: Tensor, mask: Tensor, part: slice) -> Tensor:
        """The same for each i of a range of features, the same for all rows: nothing is gathered."""
        of_value = self.first.weight[:, : self.n_features][:, part].unsqueeze(1)  # (R, 1, K, h)
        of_mask = self.first.weight[:, self.n_features :][:, part].unsqueeze(1)
        step = torch.addcmul(of_mask, x[..., part].unsqueeze(-1), of_value)
        return step.mul_(1 - 2 * mask[..., part].unsqueeze(-1))

    def after_step(self, hidden: Tensor, step: Tensor) -> Tensor:
        """Outputs from the first pre-activation (R, n, h) moved by K steps a row (R, n, K, h): (R, n, K, out)."""
        moved = (hidden.unsqueeze(2) + step).flatten(1, 2)
        return self.after_first(moved).unflatten(1, step.shape[1:3])

    @torch.no_grad()
    def only(self, columns: Tensor) -> MaskedPredictor:
        """The same predictors where all but the columns (R, w) are hidden for good: R networks of w features."""
        replicas, width = columns.shape
        hidden, n_outputs = self.first.weight.shape[-1], self.last.weight.shape[-1]
        narrow = MaskedPredictor(width, hidden, n_outputs, replicas, torch.Generator()).to(columns.device)
        state = self.state_dict()
        rows = torch.cat([columns, columns + self.n_features], dim=1).unsqueeze(-1).expand(-1, -1, hidden)
        kept, of_mask = state["first.weight"].gather(1, rows), state["first.weight"][:, self.n_features :]
        # A hidden gate still enters as z - 1/2 = -1/2: that becomes part of the bias.
        gone = of_mask.sum(1, keepdim=True) - kept[:, width:].sum(1, keepdim=True)
        narrow.load_state_dict({**state, "first.weight": kept, "first.bias": state["first.bias"] - 0.5 * gone})
        return narrow
