"""Numbers cut at their quantiles: with these inputs a small network can bend where the rows are, as trees cut there.

A number x gets B inputs more, how far it has come through each of B intervals between quantiles (the piecewise linear
encoding of Gorishniy et al., 2022, "On Embeddings for Numerical Features in Tabular Deep Learning"), standardised:

    e_b(x) = (clip((x - lower_b) / width_b, 0, 1) - mean_b) * scale_b

A weighted sum of them, sum_b w_b e_b(x), is piecewise linear in x. So it can be looked up, by interpolation between
its values at the edges (`at_edges`), where multiplying it out would cost B products.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

MOST_ROWS = 20_000  # that quantiles are taken of: they are then off by less than half a percent of the rows


class Place(NamedTuple):
    """Where values lie among the edges of their inputs."""

    edge: Tensor  # the number of the edge below
    share: Tensor  # of the way to the next one


class Piecewise(nn.Module):
    """How far numbers have come through the intervals of their inputs: (R, n, D) -> (R, n, M B).

    Some of the D inputs, those numbered `cut` (M,), have intervals; others (categories) need none. An interval without
    values, where quantiles are equal, has scale 0.
    """

    def __init__(self, cut: Tensor, n_bins: int, replicas: int) -> None:
        super().__init__()
        self.n_bins = n_bins
        self.cut: Tensor
        self.register_buffer("cut", cut, persistent=False)
        for name in ("lower", "inverse_width", "mean", "scale"):
            self.register_buffer(name, torch.zeros(replicas, len(cut), n_bins))
        self.lower: Tensor
        self.inverse_width: Tensor
        self.mean: Tensor
        self.scale: Tensor

    @classmethod
    def of(cls, x: Tensor, cut: Tensor, n_bins: int, each: int = 1) -> Piecewise:
        """The intervals of rows x (P, n, D), for `each` replicas of every problem."""
        pieces = cls(cut, n_bins, len(x) * each).to(x)
        values = x[:, :: -(-x.shape[1] // MOST_ROWS)].index_select(-1, cut)  # (P, n, M)
        edges = torch.stack([torch.stack([edges_of(one, n_bins) for one in problem.T]) for problem in values])
        width = edges.diff(dim=-1)
        pieces.lower.copy_(edges[..., :-1].repeat_interleave(each, 0))
        pieces.inverse_width.copy_(torch.where(width > 0, 1 / width, 0.0).repeat_interleave(each, 0))
        passed = pieces.passed(values.repeat_interleave(each, 0))
        mean, spread = passed.mean(1), passed.std(1)
        pieces.mean.copy_(mean)
        pieces.scale.copy_(torch.where(spread > 1e-6, 1 / spread, 0.0))
        return pieces

    @property
    def n_values(self) -> int:
        """M B."""
        return len(self.cut) * self.n_bins

    def forward(self, x: Tensor) -> Tensor:
        """e_b of rows (..., n, D), whose leading axes are those of the replicas: (..., n, M B)."""
        mean, scale = (self._of_rows(part, x) for part in (self.mean, self.scale))
        return self.passed(x.index_select(-1, self.cut)).sub_(mean).mul_(scale).flatten(-2)

    def passed(self, x: Tensor) -> Tensor:
        """clip((x - lower) / width, 0, 1) of the values x (..., n, M) that are cut: (..., n, M, B)."""
        lower, inverse = (self._of_rows(part, x) for part in (self.lower, self.inverse_width))
        return (x.unsqueeze(-1) - lower).mul_(inverse).clamp_(0, 1)  # B times as large as x: one array is enough

    def _of_rows(self, part: Tensor, x: Tensor) -> Tensor:
        """(R, M, B), with the leading axes of x and one for its rows."""
        return part.view(*x.shape[:-2], 1, *part.shape[1:])

    def at_edges(self, weight: Tensor) -> Tensor:
        """sum_b w_b e_b at the edges, for weights (R, M B, h): (R, M, B + 1, h)."""
        steps = weight.unflatten(1, (-1, self.n_bins)) * self.scale.unsqueeze(-1)
        at_least = -(steps * self.mean.unsqueeze(-1)).sum(2, keepdim=True)
        return torch.cat([at_least, at_least + steps.cumsum(2)], dim=2)

    def place(self, value: Tensor, row: Tensor) -> Place:
        """Where values (E,) lie among the edges of rows (E,) of the flat (R M, B)."""
        lower = self.lower.flatten(0, 1).index_select(0, row)
        edge = (value.unsqueeze(-1) >= lower[:, 1:]).sum(-1)
        inverse = self.inverse_width.flatten()[row * self.n_bins + edge]
        below = lower.gather(1, edge.unsqueeze(-1)).squeeze(-1)
        return Place(edge, ((value - below) * inverse).clamp(0, 1))

    def places_of(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Of the inputs (R, W) those that are cut: their numbers among W (M',), and among `cut`, (R, M')."""
        of_input = torch.full((int(inputs.max()) + 1,), -1, device=inputs.device)
        known = self.cut[self.cut < len(of_input)]
        of_input[known] = torch.arange(len(known), device=inputs.device)
        places = of_input[inputs]  # (R, W)
        cut = torch.nonzero(places[0] >= 0).squeeze(1)
        return cut, places[:, cut]

    @torch.no_grad()
    def only(self, cut: Tensor, places: Tensor) -> Piecewise:
        """The intervals at `places` (R, M'), of inputs that are now numbered `cut` (M',)."""
        fewer = Piecewise(cut, self.n_bins, len(places)).to(places.device)
        index = places.unsqueeze(-1).expand(-1, -1, self.n_bins)
        fewer.load_state_dict({name: value.gather(1, index) for name, value in self.state_dict().items()})
        return fewer


def cut_inputs(x: Tensor, of_input: Tensor | None) -> Tensor:
    """The inputs of rows x (P, n, D) that are worth cutting: all, or where columns are encoded the numbers among them.

    A category's input has two values, and nothing between them.
    """
    everything = torch.arange(x.shape[-1], device=x.device)
    if of_input is None:  # problems side by side may have different columns, so that none is left out
        return everything
    least, most = x.amin((0, 1)), x.amax((0, 1))
    between = ((x > least) & (x < most)).any(0).any(0)
    return everything[between]


def edges_of(values: Tensor, n_bins: int) -> Tensor:
    """Rising edges of the intervals of values (n,), the last one repeated at the end: (B + 1,).

    A value that fills an interval by itself (the zeros of an amount that is mostly 0) is an edge, and the others share
    the rows that are left: quantiles of all rows would coincide there, and leave the rest of the range uncut.

    Examples
    --------
    >>> edges_of(torch.tensor([0.0] * 6 + [1.0, 2.0, 3.0, 4.0]), 4)
    tensor([0., 1., 2., 3., 4.])
    """
    distinct, counts = values.unique(return_counts=True)
    often = distinct[counts * n_bins >= len(values)][:n_bins]
    rest = values[~torch.isin(values, often)] if len(often) else values
    levels = torch.linspace(0, 1, n_bins + 1 - len(often), device=values.device, dtype=values.dtype)
    edges = torch.cat([often, torch.quantile(rest, levels)]).unique() if len(rest) else often
    return torch.cat([edges, edges[-1:].expand(n_bins + 1 - len(edges))])
