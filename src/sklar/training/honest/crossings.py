"""Which other gates a flip moves: those whose latents cross their thresholds when latent i is put at its own.

Latent l moves by R_li times the way that latent i goes, and most correlations are small: of d gates few cross. Only
gates near their thresholds can, so that the others are not looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Crossings(NamedTuple):
    """Gates that moves open or shut besides those put at their thresholds; ordered by move, then by row."""

    move: Tensor  # (M,), 0 to K - 1: the row's latent of that number is put at its threshold; K: the first two are
    row: Tensor  # (M,), rows of all replicas numbered through
    gate: Tensor  # (M,)
    sign: Tensor  # (M,), 1 where the gate opens, -1 where it shuts


def crossings(distance: Tensor, correlation: Tensor, index: Tensor, way: Tensor, pair_way: Tensor) -> Crossings:
    """The gates that K single moves and one of a pair take across their thresholds, in every row.

    distance : (R, n, d), of each latent to its threshold, c - q
    correlation : (R, d, d)
    index, way : (R, n, K), single moves: latent l moves by R_l,index * way
    pair_way : (R, n, 2), the move of the first two of `index`: latent l moves by the sum of both
    """
    _, n, d = distance.shape
    others = correlation.clone()  # no latent crosses by its own move
    others.diagonal(dim1=1, dim2=2).zero_()
    strongest = others.abs().amax(-1)  # (R, d)
    furthest = torch.maximum(way.abs().amax(-1), pair_way.abs().sum(-1))  # (R, n)
    can_cross = distance.abs() <= furthest.unsqueeze(-1) * strongest.unsqueeze(1)
    place = can_cross.flatten().nonzero().squeeze(1)  # (N,)
    row, gate = place // d, place % d

    def of_row(values: Tensor) -> Tensor:
        return values.flatten(0, 1).index_select(0, row)

    fixed = of_row(index)  # (N, K)
    entry = ((row // n * d + gate) * d).unsqueeze(-1) + fixed
    pull = others.flatten().index_select(0, entry.flatten()).view_as(entry)
    of_pair = (pull[:, :2] * of_row(pair_way)).sum(1)
    of_pair *= (fixed[:, :2] != gate.unsqueeze(-1)).all(1)  # nor by that of its partner
    moved = torch.cat([pull * of_row(way), of_pair.unsqueeze(-1)], 1)  # (N, K + 1)
    apart = distance.flatten().index_select(0, place).unsqueeze(-1)
    shuts = apart < 0
    move, which = ((moved > apart) != shuts).T.nonzero().unbind(1)
    sign = torch.where(shuts.squeeze(-1), -1.0, 1.0).to(distance.dtype)
    return Crossings(move, *(values.index_select(0, which) for values in (row, gate, sign)))
