"""The correlation of the gates, shared by all rows of a problem, and learned exactly by pair flips.

For features that replace each other the mixed difference f11 - f10 - f01 + f00 of the loss is positive, and their
gates learn to exclude each other (R < 0); for features that only work together it is negative, and they learn to come
together (R > 0). A pull toward 0 leaves only what is real: in equilibrium R_ij = -(mixed difference) / pull. Positive
correlations are pulled harder: they change no decision, and while a strong feature's gate is shut, those of its
partners would be too, which hides what weak partners are worth.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from sklar.model.blocks import correlated_blocks
from sklar.model.normalise import normalised_loadings
from sklar.training.engine.team import WHOLE, Share
from sklar.training.honest.draws import LatentEdge
from sklar.training.honest.settings import Pull


class GateCorrelation(nn.Module):
    """Loadings L (P, d, p); R = Norm(L L^T + I)."""

    def __init__(
        self,
        problems: int,
        d: int,
        n_factors: int,
        pull: Pull,
        generator: torch.Generator,
        pattern: Tensor | None = None,
        centred: bool = False,
    ) -> None:
        super().__init__()
        self.pull, self.centred = pull, centred
        # a small start: at L = 0 the gradient of L L^T vanishes
        self.loadings = nn.Parameter(0.1 * torch.randn(problems, d, n_factors, generator=generator))
        self.pattern: Tensor | None
        self.register_buffer("pattern", pattern)  # where L may differ from 0, (P, d, p); None is everywhere

    def patterned(self) -> Tensor:
        """L: (P, d, p)."""
        return self._allowed(self.loadings)

    def root(self) -> Tensor:
        """L_i / sqrt(|L_i|^2 + 1): R = root root^T off the diagonal: (P, d, p)."""
        return normalised_loadings(self.patterned())[0]

    @torch.no_grad()
    def learn(self, pairs: Tensor, mixed: Tensor, share: Share = WHOLE) -> None:
        """Put one step's gradient on the loadings, for a pair of features per row and its mixed difference.

        Rows of other processes count as well.

        pairs : (P F, n, 2)
        mixed : (P F, n)
        """
        problems, d, _ = self.loadings.shape
        cell = (pairs[..., 0] * d + pairs[..., 1]).view(problems, -1)  # which R_ij each row speaks of
        mixed = mixed.reshape(problems, -1)
        total = mixed.new_zeros(problems, d * d).scatter_add_(1, cell, mixed)
        count = torch.zeros_like(total).scatter_add_(1, cell, torch.ones_like(mixed))
        if share.team.size > 1:
            total, count = share.team.sum(torch.stack([total, count])).unbind()
        mean = (total / count.clamp_min_(1)).view(problems, d, d)
        root, own = normalised_loadings(self.patterned())
        of_r = mean + mean.mT + 2 * self._toward_zero(root)  # R_ij and R_ji are one number
        self.loadings.grad = self._allowed(_of_loadings(of_r, root, own))

    @torch.no_grad()
    def learn_from_swaps(self, change: Tensor, edge: LatentEdge, share: Share = WHOLE) -> None:
        """The same from what every gate of draws of k changes (P F, n, d) at its edge: exact, see `swaps`.

        There a mixed difference counts by how often both latents are at their thresholds, and here so does the pull:
        R_ij comes to rest where it does for pairs.
        """
        problems = len(self.loadings)
        density, at, xi = (part.reshape(problems, -1, part.shape[-1]) for part in (edge.density, edge.at, edge.factors))
        root, own = normalised_loadings(self.patterned())
        of_latent, often = change.view_as(density) * density, density.mean(1) * share.weight
        along = of_latent.mT @ xi - root * (of_latent * at).sum(1).unsqueeze(-1)  # (P, d, p)
        if share.team.size > 1:
            sums = share.team.sum(torch.cat([along, often.unsqueeze(-1)], -1))
            along, often = sums[..., :-1], sums[..., -1]
        n_rows = at.shape[1] / share.weight  # of all processes
        pull = _of_loadings(often.unsqueeze(1) * often.unsqueeze(2) * self._toward_zero(root), root, own)
        self.loadings.grad = self._allowed(own * along / n_rows + pull)

    def _toward_zero(self, root: Tensor) -> Tensor:
        """What pulls R to 0: (P, d, d)."""
        correlation = root @ root.mT
        return torch.where(correlation < 0, self.pull.apart, self.pull.together) * correlation

    def _allowed(self, values: Tensor) -> Tensor:
        """Values (P, d, p) where L may differ from 0 and, if it is centred, less the mean of each factor's.

        This is a projection, and its own transpose: it takes parameters to L, and gradients back.
        """
        values = values if self.pattern is None else values * self.pattern
        if not self.centred:
            return values
        if self.pattern is None:
            return values - values.mean(1, keepdim=True)
        return values - self.pattern * (values.sum(1, keepdim=True) / self.pattern.sum(1, keepdim=True).clamp_min(1))


def _of_loadings(of_r: Tensor, root: Tensor, own: Tensor) -> Tensor:
    """The gradient of L (P, d, p) from that of R, which is overwritten on its diagonal."""
    of_r.diagonal(dim1=1, dim2=2).zero_()
    # R = root root^T: of_root = of_r root; root = L / sqrt(|L|^2 + 1): its part along the root leaves that alone
    of_root = of_r @ root
    return (of_root - root * (root * of_root).sum(-1, keepdim=True)) * own


def block_pattern(x: Tensor, of_input: Tensor | None = None, threshold: float = 0.3) -> Tensor:
    """1 where two features are in one block of correlated features, else 0: rows (P, n, D) -> (P, d, d)."""
    numbers = None if of_input is None else of_input.cpu().numpy()
    patterns = []
    for rows in x.cpu().numpy():
        blocks = correlated_blocks(rows, threshold, numbers)
        d = sum(len(block) for block in blocks)
        pattern = torch.zeros(d, d)
        for block in blocks:
            pattern[np.ix_(block, block)] = 1.0
        patterns.append(pattern)
    return torch.stack(patterns).to(x.device)
