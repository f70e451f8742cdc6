"""The covariances of the gates: one family, Sigma = L L^T + diag(sigma^2), and four shapes of L.

The paper factorises Sigma by Cholesky, at O(d^3). It need not: q = L xi + sigma * eps has exactly that
covariance, at the cost of one product with L. The Cholesky draw lives in the tests, as the oracle.

Every covariance broadcasts over leading axes (replicas, rows); d is the last axis of a draw.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from sklar import kernels
from sklar.kernels.reference import SMALLEST_SIGMA
from sklar.model.normalise import normalised


class Covariance(ABC):
    """Sigma = L L^T + diag(sigma^2). A subclass says what L is: `mix`, `row_norm`, `matrix`."""

    n_factors: int  # length of xi

    def __init__(self, sigma: Tensor) -> None:
        self.sigma = sigma.abs().clamp_min(SMALLEST_SIGMA)  # (..., d)

    @abstractmethod
    def mix(self, xi: Tensor) -> Tensor:
        """L xi: (..., n_factors) -> (..., d)."""

    @abstractmethod
    def row_norm(self) -> Tensor:
        """|L_i|, the Euclidean norm of each row of L: (..., d)."""

    @abstractmethod
    def matrix(self) -> Tensor:
        """L itself, dense: (..., d, n_factors)."""

    def draw(self, batch_shape: Sequence[int], generator: torch.Generator | None = None) -> Tensor:
        """q ~ N(0, Sigma), one draw for every entry of `batch_shape`: (*batch_shape, d)."""
        xi, eps = self.parts(batch_shape, generator)
        return self.mix(xi) + self.sigma * eps

    def standard_draw(self, batch_shape: Sequence[int], generator: torch.Generator | None = None) -> Tensor:
        """q / sqrt(Sigma_ii): (*batch_shape, d)."""
        return normalised(self.draw(batch_shape, generator), self.deviation())

    def deviation(self) -> Tensor:
        """sqrt(Sigma_ii), without overflow where its square would: (..., d)."""
        return torch.hypot(self.row_norm(), self.sigma)

    def variance(self) -> Tensor:
        """Sigma_ii: (..., d)."""
        return self.deviation().square()

    def dense(self) -> Tensor:
        """Sigma: (..., d, d)."""
        loadings = self.matrix()
        return loadings @ loadings.mT + torch.diag_embed(self.sigma.square())

    def correlation(self) -> Tensor:
        """R = Norm(Sigma): (..., d, d)."""
        deviation = self.deviation()
        loadings = normalised(self.matrix(), deviation.unsqueeze(-1))
        return loadings @ loadings.mT + torch.diag_embed(normalised(self.sigma, deviation).square())

    def parts(self, batch_shape: Sequence[int], generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """The standard normal draws xi (*batch_shape, n_factors) and eps (*batch_shape, d)."""
        eps = self._normal((*batch_shape, self.sigma.shape[-1]), generator)
        return self._normal((*batch_shape, self.n_factors), generator), eps

    def _normal(self, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
        return torch.randn(shape, generator=generator, device=self.sigma.device, dtype=self.sigma.dtype)


class Independent(Covariance):
    """L = 0: every gate alone, the paper's NOLA."""

    n_factors = 0

    def mix(self, xi: Tensor) -> Tensor:
        """Zero."""
        return xi.new_zeros(())

    def row_norm(self) -> Tensor:
        """Zero."""
        return torch.zeros_like(self.sigma)

    def matrix(self) -> Tensor:
        """No columns: (..., d, 0)."""
        return self.sigma.new_zeros((*self.sigma.shape, 0))


class LowRank(Covariance):
    """L is d x p; with p = d it is the paper's full-rank scheme."""

    def __init__(self, loadings: Tensor, sigma: Tensor) -> None:
        super().__init__(sigma)
        self.loadings = loadings  # (..., d, p)
        self.n_factors = loadings.shape[-1]

    def mix(self, xi: Tensor) -> Tensor:
        """L xi, row by row."""
        return torch.einsum("...dp,...p->...d", self.loadings, xi)

    def row_norm(self) -> Tensor:
        """|L_i|, scaled by the largest entry so that squares neither overflow nor vanish."""
        scale = _safe_scale(self.loadings.detach().abs().amax(-1, keepdim=True))
        return scale.squeeze(-1) * _norm(self.loadings / scale)

    def matrix(self) -> Tensor:
        """L as it is."""
        return self.loadings


class FullRank(LowRank):
    """Sigma = L L^T with L d x d. The floor on sigma is all that is added."""

    def __init__(self, loadings: Tensor, sigma: Tensor | None = None) -> None:
        super().__init__(loadings, loadings.new_zeros(loadings.shape[-1]) if sigma is None else sigma)


class FullRankHead(Covariance):
    """The full-rank scheme whose L = act(h W + b) * scale is known by its factors and never stored.

    A row's L has d^2 entries, 784^2 for a row of MNIST; h has some tens. Only `matrix` makes L, for people and tests.
    """

    def __init__(
        self, hidden: Tensor, weight: Tensor, bias: Tensor, activation: str, sigma: Tensor, scale: float = 1.0
    ) -> None:
        super().__init__(sigma)
        self.head = (hidden, weight, bias)  # (R, n, r), (R, r, d d), (R, 1, d d)
        self.activation, self.scale = activation, scale
        self.n_factors = sigma.shape[-1]

    def mix(self, xi: Tensor) -> Tensor:
        """L xi, row by row."""
        return self._pass(xi)[0]

    def row_norm(self) -> Tensor:
        """|L_i|."""
        hidden = self.head[0]
        squares = self._pass(hidden.new_zeros((*hidden.shape[:-1], self.n_factors)))[1]
        return torch.where(squares > 0, squares, 1).sqrt() * (squares > 0)

    def matrix(self) -> Tensor:
        """L, dense: (R, n, d, d)."""
        hidden, weight, bias = self.head
        before = torch.baddbmm(bias, hidden, weight).unflatten(-1, (self.n_factors, -1))
        return self.scale * (before.tanh() if self.activation == "tanh" else before.relu())

    def standard_draw(self, batch_shape: Sequence[int], generator: torch.Generator | None = None) -> Tensor:
        """Both parts of s = q / sqrt(Sigma_ii) in one pass over L."""
        xi, eps = self.parts(batch_shape, generator)
        q, squares = self._pass(xi)
        return normalised(q + self.sigma * eps, (squares + self.sigma.square()).sqrt())

    def _pass(self, xi: Tensor) -> tuple[Tensor, Tensor]:
        """L xi and the squared lengths of L's rows."""
        hidden, weight, bias = self.head
        xi = xi.expand(*hidden.shape[:-1], -1)  # rows may share a draw
        q, squares = kernels.full_draw(hidden, weight, bias, xi, self.activation)
        return self.scale * q, self.scale**2 * squares


class BlockDiagonal(Covariance):
    """L is block-diagonal: features depend on each other inside a block only (appendix A of the paper).

    The blocks are stored as one flat list of entries with their row and column, so that the cost is the sum
    of the squared block sizes, and the number of blocks costs nothing.
    """

    def __init__(self, entries: Tensor, layout: BlockLayout, sigma: Tensor | None = None) -> None:
        super().__init__(entries.new_zeros(layout.n_features) if sigma is None else sigma)
        self.entries = entries  # (..., layout.n_entries)
        self.rows, self.columns = layout.on(entries.device)
        self.n_factors = layout.n_features

    def mix(self, xi: Tensor) -> Tensor:
        """L xi: the entries times their column of xi, summed by row."""
        return self._sum_by_row(self.entries * xi[..., self.columns])

    def row_norm(self) -> Tensor:
        """|L_i|, each row scaled by its own largest entry."""
        scale = _safe_scale(self._largest_by_row())
        squares = self._sum_by_row((self.entries / scale[..., self.rows]).square())
        return scale * torch.where(squares > 0, squares, 1).sqrt() * (squares > 0)

    def matrix(self) -> Tensor:
        """L, dense, for people and tests."""
        dense = self.entries.new_zeros((*self.entries.shape[:-1], self.n_factors, self.n_factors))
        dense[..., self.rows, self.columns] = self.entries
        return dense

    def _largest_by_row(self) -> Tensor:
        sizes = self.entries.detach().abs()
        largest = sizes.new_zeros((*sizes.shape[:-1], self.n_factors))
        return largest.scatter_reduce(-1, self.rows.expand(sizes.shape), sizes, "amax")

    def _sum_by_row(self, values: Tensor) -> Tensor:
        total = values.new_zeros((*values.shape[:-1], self.n_factors))
        return total.index_add(-1, self.rows, values)


class BlockLayout:
    """Where the entries of a block-diagonal L stand: blocks are lists of feature indices."""

    def __init__(self, blocks: Sequence[Sequence[int]]) -> None:
        pairs = [(i, j) for block in blocks for i in block for j in block]
        self.blocks = [[int(i) for i in block] for block in blocks]
        self.n_features = sum(len(block) for block in self.blocks)
        self.n_entries = len(pairs)
        self.rows = torch.tensor([i for i, _ in pairs], dtype=torch.long)
        self.columns = torch.tensor([j for _, j in pairs], dtype=torch.long)
        self._placed: dict[torch.device, tuple[Tensor, Tensor]] = {}

    def on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Rows and columns of the entries, copied once: a CUDA graph that is captured must not copy from the CPU."""
        if device not in self._placed:
            self._placed[device] = self.rows.to(device), self.columns.to(device)
        return self._placed[device]


def _safe_scale(largest: Tensor) -> Tensor:
    return torch.where(largest > 0, largest, 1)


def _norm(x: Tensor) -> Tensor:
    """The Euclidean norm over the last axis, with gradient 0 (not NaN) at 0."""
    squares = x.square().sum(-1)
    positive = squares > 0
    return torch.where(positive, squares, 1).sqrt() * positive
