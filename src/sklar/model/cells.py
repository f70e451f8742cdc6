"""What opening gates of rows adds to a first layer, where a gate has several inputs: rows of a table of weights.

Of a column of categories one input is not 0, so that a gate's step is the sum of few rows: of its inputs that are not
0, and of its mask. A number with pieces has three rows: of its value, and of the edges below and above it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from sklar.model.piecewise import Piecewise


class Bags(NamedTuple):
    """Rows of a table of weights to sum up, as `embedding_bag` takes them."""

    number: Tensor  # of each row, (E,)
    factor: Tensor  # that it counts with, (E,)
    starts: Tensor  # where each bag begins

    def summed(self, table: Tensor) -> Tensor:
        """The sums: (bags, h)."""
        return embedding_bag(self.number, table, self.starts, mode="sum", per_sample_weights=self.factor)


class Cells(NamedTuple):
    """The bags of all gates of all rows, one after the other: found once for all changes that rows are asked about."""

    number: Tensor  # (E,)
    factor: Tensor  # (E,)
    starts: Tensor  # where those of row r and gate g begin, at r d + g
    sizes: Tensor

    @classmethod
    def of(cls, x: Tensor, gate_of_input: Tensor, pieces: Piecewise | None, n_values: int, d: int) -> Cells:
        """Those of rows (R, n, D); a replica's part of the table has `n_values` + d rows, and edges come after all."""
        replicas, n, n_inputs = x.shape
        is_cut = gate_of_input.new_zeros(n_inputs, dtype=torch.bool)
        if pieces is not None:  # a number that is 0 still has pieces that are not
            is_cut[pieces.cut] = True
        entry = ((x != 0) | is_cut).flatten().nonzero().squeeze(1)  # in the order of their gates
        row, of_input = entry // n_inputs, entry % n_inputs
        cell = row * d + gate_of_input.index_select(0, of_input)
        width = (1 + 2 * is_cut.long()).index_select(0, of_input)
        sizes = width.new_ones(replicas * n * d).index_add_(0, cell, width)  # the last one is of the mask
        ends = sizes.cumsum(0)
        number = _of_masks(replicas, n, n_values, d, x.device).repeat_interleave(sizes)
        factor = x.new_ones(len(number))
        place = width.cumsum(0) - width + cell  # a mask comes after every gate before
        number[place] = row // n * (n_values + d) + of_input
        factor[place] = x.flatten().index_select(0, entry)
        cells = cls(number, factor, ends - sizes, sizes)
        if pieces is not None:
            cells._put_edges(x, place[is_cut.index_select(0, of_input)], pieces, replicas * (n_values + d))
        return cells

    def _put_edges(self, x: Tensor, place: Tensor, pieces: Piecewise, first: int) -> None:
        """Put the edges of all numbers behind their values, at `place`; in the table they come from row `first` on."""
        n_cut = len(pieces.cut)
        value = x.index_select(-1, pieces.cut).flatten()
        replica = torch.arange(len(x), device=x.device).repeat_interleave(x.shape[1] * n_cut)
        of_edges = replica * n_cut + torch.arange(n_cut, device=x.device).repeat(x.shape[0] * x.shape[1])
        edge, share = pieces.place(value, of_edges)
        below = first + of_edges * (pieces.n_bins + 1) + edge
        for k, part, number in ((1, 1 - share, below), (2, share, below + 1)):
            self.number[place + k], self.factor[place + k] = number, part

    def bags(self, cell: Tensor, sign: Tensor) -> Bags:
        """A bag for each change: of opening (sign 1) or shutting (-1) the gate of a cell, (M,)."""
        sizes = self.sizes.index_select(0, cell)
        starts = sizes.cumsum(0) - sizes
        change = torch.repeat_interleave(sizes)
        entry = (self.starts.index_select(0, cell) - starts).index_select(0, change)
        entry += torch.arange(len(change), device=cell.device)
        factor = self.factor.index_select(0, entry) * sign.index_select(0, change)
        return Bags(self.number.index_select(0, entry), factor, starts)


def _of_masks(replicas: int, n: int, n_values: int, d: int, device: torch.device) -> Tensor:
    """The table's row of the mask of every cell: (R n d,)."""
    start = n_values + torch.arange(0, replicas * (n_values + d), n_values + d, device=device)
    return (start.view(-1, 1, 1) + torch.arange(d, device=device)).expand(-1, n, -1).flatten()
