"""A predictor that can be asked about any subset of features: p(y | x_S) for every S.

Its input is [x * z, z - 1/2], so that "absent" and "zero" differ. Flipping one gate changes the first layer's
pre-activation by a rank-one step, so that asking "and with feature i flipped?" costs one small layer, not d inputs.
A gate may open several inputs (see `gates`); its step is then the sum of theirs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from sklar.model.gates import inputs_of, renumbered, to_inputs
from sklar.model.networks import StackedLinear


class MaskedPredictor(nn.Module):
    """R networks D + d - h - h - out; rows (R, n, D) and masks (R, n, d) -> (R, n, out)."""

    def __init__(
        self,
        n_features: int,
        hidden: int,
        n_outputs: int,
        replicas: int = 1,
        generator: torch.Generator | None = None,
        gate_of_input: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.n_features = n_features
        self.n_inputs = n_features if gate_of_input is None else len(gate_of_input)
        self.gate_of_input: Tensor | None
        self.register_buffer("gate_of_input", gate_of_input, persistent=False)
        self.first = StackedLinear(replicas, self.n_inputs + n_features, hidden, generator)
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
        return self.first(self.inputs(x, mask))

    def inputs(self, x: Tensor, mask: Tensor) -> Tensor:
        """What the first layer is given, [x * z, z - 1/2]: rows (..., D), masks (..., d) -> (..., D + d)."""
        return torch.cat([x * to_inputs(mask, self.gate_of_input), mask - 0.5], dim=-1)

    def after_first(self, hidden: Tensor) -> Tensor:
        """From the first pre-activation to the output."""
        return self.after_activation(torch.relu(hidden))

    def after_activation(self, active: Tensor) -> Tensor:
        """From the first layer's activations to the output."""
        return self.last(torch.relu_(self.second(active)))

    def flip_step(self, x: Tensor, mask: Tensor, index: Tensor, inputs: slice = slice(None)) -> Tensor:
        """What flipping gate i adds to the first pre-activation, for each i in `index` (R, n, K): (R, n, K, h).

        +-(x_i W_i + W'_i), with W the weights of x * z and W' those of z - 1/2. `inputs` may say where all inputs of
        these gates stand, which saves looking at the others.
        """
        sign = 1 - 2 * mask.gather(-1, index)  # (R, n, K)
        start = torch.arange(0, self.first.weight[..., 0].numel(), self.first.weight.shape[1], device=x.device)
        row_of_mask = index + self.n_inputs + start.view(-1, 1, 1)  # among the weights of all replicas
        weight = self.first.weight.flatten(0, 1)  # (R (D + d), h)
        if self.gate_of_input is None:
            rows = torch.stack([row_of_mask - self.n_inputs, row_of_mask], dim=-1).view(-1, 2)
            factors = torch.stack([x.gather(-1, index) * sign, sign], dim=-1).view(-1, 2)
            if x.device.type == "cpu":  # nothing is stored on the way
                return embedding_bag(rows, weight, mode="sum", per_sample_weights=factors).view(*index.shape, -1)
            steps = weight.index_select(0, rows.flatten()).view(len(rows), 2, -1) * factors.unsqueeze(-1)
            return steps.sum(1).view(*index.shape, -1)
        own = x[..., inputs].unsqueeze(2) * (self.gate_of_input[inputs] == index.unsqueeze(-1))  # (R, n, K, D)
        of_value = own.flatten(1, 2) @ self.first.weight[:, : self.n_inputs][:, inputs]
        of_mask = weight.index_select(0, row_of_mask.flatten()).view(*index.shape, -1)
        return (of_value.view_as(of_mask) + of_mask) * sign.unsqueeze(-1)

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

    def sum_of_steps(self, x: Tensor, row: Tensor, gate: Tensor, sign: Tensor, starts: Tensor) -> Tensor:
        """What opening (sign 1) or shutting (-1) gates adds to the first pre-activation, summed by group: (G, h).

        row, gate, sign : (M,), one change each; rows of all replicas are numbered through
        starts : (G,), where the changes of each group, at least one, begin
        """
        n, n_rows = x.shape[1], self.first.weight.shape[1]
        # A change is a bag of rows of W, those of the gate's inputs and of its mask, times sign x_j and sign.
        start = row // n * n_rows
        if self.gate_of_input is None:
            value = x.reshape(-1).index_select(0, row * self.n_inputs + gate)
            number = torch.stack([start + gate, start + gate + self.n_inputs], dim=-1).view(-1)
            factor = torch.stack([value * sign, sign], dim=-1).view(-1)
            offsets = 2 * starts
        else:
            sizes = torch.bincount(self.gate_of_input, minlength=self.n_features)
            length = sizes[gate] + 1  # (M,)
            change = torch.repeat_interleave(length)  # (E,), of each entry
            ends = length.cumsum(0)
            place = torch.arange(len(change), device=x.device) - (ends - length)[change]
            of_mask = place == sizes[gate][change]
            of_input = ((sizes.cumsum(0) - sizes)[gate][change] + place).masked_fill_(of_mask, 0)
            value = x.reshape(-1).index_select(0, row[change] * self.n_inputs + of_input)
            factor = torch.where(of_mask, 1.0, value) * sign[change]
            number = torch.where(of_mask, self.n_inputs + gate[change], of_input) + start[change]
            offsets = (ends - length)[starts]
        weight = self.first.weight.flatten(0, 1)
        return embedding_bag(number, weight, offsets, mode="sum", per_sample_weights=factor)

    @torch.no_grad()
    def part(self, replicas: slice) -> MaskedPredictor:
        """Some of the networks, as they are."""
        state = {name: value[replicas] for name, value in self.state_dict().items()}
        count, _, hidden = state["first.weight"].shape
        n_outputs, of_input = state["last.weight"].shape[-1], self.gate_of_input
        fewer = MaskedPredictor(self.n_features, hidden, n_outputs, count, torch.Generator(), of_input)
        fewer.to(state["first.weight"].device).load_state_dict(state)
        return fewer

    @torch.no_grad()
    def only(self, keep: Tensor) -> MaskedPredictor:
        """The same predictors where all but the features (R, w) are hidden for good: R networks of w features.

        Where a gate opens several inputs, all replicas keep the same features.
        """
        replicas, width = keep.shape
        hidden, n_outputs = self.first.weight.shape[-1], self.last.weight.shape[-1]
        inputs, of_input = keep, None
        if self.gate_of_input is not None:
            inputs = inputs_of(self.gate_of_input, keep[0]).expand(replicas, -1)
            of_input = renumbered(self.gate_of_input, keep[0])
            of_input = None if len(of_input) == width else of_input
        narrow = MaskedPredictor(width, hidden, n_outputs, replicas, torch.Generator(), of_input).to(keep.device)
        state = self.state_dict()
        rows = torch.cat([inputs, keep + self.n_inputs], dim=1).unsqueeze(-1).expand(-1, -1, hidden)
        kept, of_mask = state["first.weight"].gather(1, rows), state["first.weight"][:, self.n_inputs :]
        # A hidden gate still enters as z - 1/2 = -1/2: that becomes part of the bias.
        gone = of_mask.sum(1, keepdim=True) - kept[:, narrow.n_inputs :].sum(1, keepdim=True)
        narrow.load_state_dict({**state, "first.weight": kept, "first.bias": state["first.bias"] - 0.5 * gone})
        return narrow
