"""A predictor that can be asked about any subset of features: p(y | x_S) for every S.

Its input is [x * z, z - 1/2], so that "absent" and "zero" differ. Flipping one gate changes the first layer's
pre-activation by a rank-one step, so that asking "and with feature i flipped?" costs one small layer, not d inputs.
A gate may open several inputs (see `gates`), and a number have values more (see `piecewise`); its step is then the sum
of theirs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from sklar.model.cells import Bags, Cells
from sklar.model.gates import inputs_of, renumbered, to_inputs
from sklar.model.networks import StackedLinear
from sklar.model.piecewise import Piecewise

MOST_VALUES = 2**24  # that pieces make of rows at a time: a whole table would take several times its memory


class MaskedPredictor(nn.Module):
    """R networks D + d - h - h - out; rows (R, n, D) and masks (R, n, d) -> (R, n, out).

    With `pieces` every row has `n_values` values, those of D inputs and of their pieces, instead of D.
    """

    def __init__(
        self,
        n_features: int,
        hidden: int,
        n_outputs: int,
        replicas: int = 1,
        generator: torch.Generator | None = None,
        gate_of_input: Tensor | None = None,
        pieces: Piecewise | None = None,
    ) -> None:
        super().__init__()
        self.n_features = n_features
        self.n_inputs = n_features if gate_of_input is None else len(gate_of_input)
        self.n_values = self.n_inputs + (0 if pieces is None else pieces.n_values)
        self.gate_of_input: Tensor | None
        self.gate_of_value: Tensor | None  # None: value i has gate i
        self.register_buffer("gate_of_input", gate_of_input, persistent=False)
        self.register_buffer("gate_of_value", _gate_of_value(gate_of_input, pieces, n_features), persistent=False)
        self.pieces = pieces
        self.first = StackedLinear(replicas, self.n_values + n_features, hidden, generator)
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
        rows = max(1, MOST_VALUES // (len(self.first.weight) * self.n_values))
        if self.pieces is None or torch.is_grad_enabled() or x.shape[1] <= rows:
            return self.first(self.inputs(x, mask))
        blocks = zip(x.split(rows, dim=1), mask.split(rows, dim=1), strict=True)
        return torch.cat([self.first(self.inputs(*block)) for block in blocks], dim=1)

    def inputs(self, x: Tensor, mask: Tensor) -> Tensor:
        """What the first layer is given, [x * z, z - 1/2]: rows (..., D), masks (..., d) -> (..., n_values + d)."""
        return torch.cat([self.values(x) * to_inputs(mask, self.gate_of_value), mask - 0.5], dim=-1)

    def values(self, x: Tensor) -> Tensor:
        """Rows (..., D) and what their pieces add: (..., n_values)."""
        return x if self.pieces is None else torch.cat([x, self.pieces(x)], dim=-1)

    def after_first(self, hidden: Tensor) -> Tensor:
        """From the first pre-activation to the output."""
        return self.after_activation(torch.relu(hidden))

    def after_activation(self, active: Tensor) -> Tensor:
        """From the first layer's activations to the output."""
        return self.last(torch.relu_(self.second(active)))

    def flip_step(self, x: Tensor, mask: Tensor, index: Tensor, cells: Cells | None = None) -> Tensor:
        """What flipping gate i adds to the first pre-activation, for each i in `index` (R, n, K): (R, n, K, h).

        +-(x_i W_i + W'_i), with W the weights of x * z and W' those of z - 1/2. `cells` are those of x, if known.
        """
        sign = 1 - 2 * mask.gather(-1, index)  # (R, n, K)
        if self.gate_of_value is None:
            return self._flip_one_value(x, index, sign)
        if x.device.type == "cpu":
            row = torch.arange(index.shape[0] * index.shape[1]).repeat_interleave(index.shape[2])
            bags = self._bags(x, row, index.flatten(), sign.flatten(), cells)
            return bags.summed(self._table()).view(*index.shape, -1)
        # The same work whatever was drawn, so that a graph can capture it.
        own = self.values(x).unsqueeze(2) * (self.gate_of_value == index.unsqueeze(-1))  # (R, n, K, n_values)
        of_value = own.flatten(1, 2) @ self.first.weight[:, : self.n_values]
        start = torch.arange(0, self.first.weight[..., 0].numel(), self.first.weight.shape[1], device=x.device)
        row_of_mask = index + self.n_values + start.view(-1, 1, 1)  # among the weights of all replicas
        of_mask = self.first.weight.flatten(0, 1).index_select(0, row_of_mask.flatten()).view(*index.shape, -1)
        return (of_value.view_as(of_mask) + of_mask) * sign.unsqueeze(-1)

    def _flip_one_value(self, x: Tensor, index: Tensor, sign: Tensor) -> Tensor:
        """The same where gate i is value i alone."""
        start = torch.arange(0, self.first.weight[..., 0].numel(), self.first.weight.shape[1], device=x.device)
        row_of_mask = index + self.n_inputs + start.view(-1, 1, 1)
        weight = self.first.weight.flatten(0, 1)  # (R (D + d), h)
        rows = torch.stack([row_of_mask - self.n_inputs, row_of_mask], dim=-1).view(-1, 2)
        factors = torch.stack([x.gather(-1, index) * sign, sign], dim=-1).view(-1, 2)
        if x.device.type == "cpu":  # nothing is stored on the way
            return embedding_bag(rows, weight, mode="sum", per_sample_weights=factors).view(*index.shape, -1)
        steps = weight.index_select(0, rows.flatten()).view(len(rows), 2, -1) * factors.unsqueeze(-1)
        return steps.sum(1).view(*index.shape, -1)

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

    def sum_of_steps(
        self, x: Tensor, row: Tensor, gate: Tensor, sign: Tensor, starts: Tensor, cells: Cells | None = None
    ) -> Tensor:
        """What opening (sign 1) or shutting (-1) gates adds to the first pre-activation, summed by group: (G, h).

        row, gate, sign : (M,), one change each; rows of all replicas are numbered through
        starts : (G,), where the changes of each group, at least one, begin
        """
        if self.gate_of_value is None:
            start = row // x.shape[1] * self.first.weight.shape[1]
            value = x.reshape(-1).index_select(0, row * self.n_inputs + gate)
            number = torch.stack([start + gate, start + gate + self.n_inputs], dim=-1).view(-1)
            factor = torch.stack([value * sign, sign], dim=-1).view(-1)
            return Bags(number, factor, 2 * starts).summed(self.first.weight.flatten(0, 1))
        bags = self._bags(x, row, gate, sign, cells)
        return bags._replace(starts=bags.starts[starts]).summed(self._table())

    def cells(self, x: Tensor) -> Cells | None:
        """Of all gates of rows (R, n, D), for several questions about them; None where every gate is one input."""
        if self.gate_of_input is None:
            return None
        return Cells.of(x, self.gate_of_input, self.pieces, self.n_values, self.n_features)

    def _bags(self, x: Tensor, row: Tensor, gate: Tensor, sign: Tensor, cells: Cells | None) -> Bags:
        """A bag a change, of rows of the `_table`."""
        cells = self.cells(x) if cells is None else cells
        if cells is None:
            return self._bags_of_numbers(x, row, gate, sign)
        return cells.bags(row * self.n_features + gate, sign)

    def _table(self) -> Tensor:
        """The weights of all replicas, and what pieces add up to at their edges: (rows, h)."""
        weight = self.first.weight.flatten(0, 1)
        if self.pieces is None:
            return weight
        at_edges = self.pieces.at_edges(self.first.weight[:, self.n_inputs : self.n_values])
        return torch.cat([weight, at_edges.flatten(0, 2)])

    def _bags_of_numbers(self, x: Tensor, row: Tensor, gate: Tensor, sign: Tensor) -> Bags:
        """The same where every gate is one number, and all of them are cut."""
        assert self.pieces is not None
        replicas, n_rows, _ = self.first.weight.shape
        replica = row // x.shape[1]
        value, table_row = x.reshape(-1).index_select(0, row * self.n_inputs + gate), replica * self.n_inputs + gate
        edge, share = self.pieces.place(value, table_row)
        above, start = replicas * n_rows + table_row * (self.pieces.n_bins + 1) + edge, replica * n_rows + gate
        numbers = torch.stack([start, start + self.n_values, above, above + 1], dim=-1)
        factors = torch.stack([value, torch.ones_like(value), 1 - share, share], dim=-1) * sign.unsqueeze(-1)
        return Bags(numbers.view(-1), factors.view(-1), torch.arange(0, 4 * len(gate), 4, device=x.device))

    @torch.no_grad()
    def scale_outputs(self, factor: float, n_first: int) -> None:
        """Multiply the first outputs."""
        self.last.weight[..., :n_first] *= factor
        self.last.bias[..., :n_first] *= factor

    @torch.no_grad()
    def part(self, replicas: slice) -> MaskedPredictor:
        """Some of the networks, as they are."""
        state = {name: value[replicas] for name, value in self.state_dict().items()}
        count, _, hidden = state["first.weight"].shape
        n_outputs, of_input = state["last.weight"].shape[-1], self.gate_of_input
        pieces = None if self.pieces is None else Piecewise(self.pieces.cut, self.pieces.n_bins, count)
        fewer = MaskedPredictor(self.n_features, hidden, n_outputs, count, torch.Generator(), of_input, pieces)
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
        rows, pieces = [inputs], None
        if self.pieces is not None:
            cut, places = self.pieces.places_of(inputs)
            pieces = self.pieces.only(cut, places) if len(cut) else None
            within = torch.arange(self.pieces.n_bins, device=keep.device)
            rows.append((self.n_inputs + places.unsqueeze(-1) * self.pieces.n_bins + within).flatten(1))
        narrow = MaskedPredictor(width, hidden, n_outputs, replicas, torch.Generator(), of_input, pieces)
        narrow.to(keep.device)
        state = {name: value for name, value in self.state_dict().items() if not name.startswith("pieces.")}
        state |= {f"pieces.{name}": value for name, value in pieces.state_dict().items()} if pieces else {}
        index = torch.cat([*rows, keep + self.n_values], dim=1).unsqueeze(-1).expand(-1, -1, hidden)
        kept, of_mask = state["first.weight"].gather(1, index), state["first.weight"][:, self.n_values :]
        # A hidden gate still enters as z - 1/2 = -1/2: that becomes part of the bias.
        gone = of_mask.sum(1, keepdim=True) - kept[:, narrow.n_values :].sum(1, keepdim=True)
        narrow.load_state_dict({**state, "first.weight": kept, "first.bias": state["first.bias"] - 0.5 * gone})
        return narrow


def _gate_of_value(gate_of_input: Tensor | None, pieces: Piecewise | None, n_features: int) -> Tensor | None:
    """The gate of every input, and of every value that pieces add; None where each value has a gate of its own."""
    if pieces is None:
        return gate_of_input
    of_input = torch.arange(n_features, device=pieces.cut.device) if gate_of_input is None else gate_of_input
    return torch.cat([of_input, of_input[pieces.cut].repeat_interleave(pieces.n_bins)])
