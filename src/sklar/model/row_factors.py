"""A correlation of its own for every row: how much each factor of the shared loadings counts there.

L(x) = L diag(s(x)) with s in (0, 2). Where a network says nothing s is 1, and all rows share L. A factor is what a
group of features has in common, so turning factors up and down says for which rows they stand for each other, at the
cost of p numbers a row where a matrix L(x) would be d p.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sklar.model.networks import StackedLinear
from sklar.model.normalise import normalised_loadings

# Gates of a lower correlation exclude each other in a row. It is lower than for all rows (-1/2): a row that is denied a
# feature it needs loses more than one that gets a copy, and around a switch correlations lie between.
EXCLUDING = -0.8


class RowFactors(nn.Module):
    """Networks D - h - p: rows (R, n, D) -> s (R, n, p)."""

    def __init__(
        self, n_inputs: int, hidden: int, n_factors: int, replicas: int = 1, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.first = StackedLinear(replicas, n_inputs, hidden, generator)
        self.last = StackedLinear(replicas, hidden, n_factors, generator)
        self.first.start(2**0.5, 0.0, generator)
        self.last.start(0.0, 0.0, generator)

    def forward(self, x: Tensor) -> Tensor:
        """s: 1 for all rows at the start."""
        return 2 * torch.sigmoid(self.last(torch.relu(self.first(x))))


def row_loadings(loadings: Tensor, s: Tensor) -> Tensor:
    """L(x): L (..., d, p) and s (..., n, p) -> (..., n, d, p)."""
    return loadings.unsqueeze(-3) * s.unsqueeze(-2)


def beaten(mask: Tensor, scores: Tensor, loadings: Tensor, s: Tensor, contested: Tensor) -> Tensor:
    """Whether a selected feature of a higher score stands for a feature in this row: bool (R, n, d).

    mask, scores : (R, n, d); loadings : (R, d, p); s : (R, n, p)
    contested : bool (R, d, d), pairs of which rows decide whether one is enough: where R(x) is very low
    """
    members = contested.any(0).any(0).nonzero().squeeze(1)
    root, _ = normalised_loadings(row_loadings(loadings[:, members], s))  # (R, n, m, p)
    exclude = (root @ root.mT < EXCLUDING) & contested[:, members][:, :, members].unsqueeze(1)
    own = scores[..., members]
    rivals = mask[..., members].unsqueeze(-2) & (own.unsqueeze(-2) > own.unsqueeze(-1))
    return torch.zeros_like(mask).index_copy(-1, members, (exclude & rivals).any(-1)) & mask
