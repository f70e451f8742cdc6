import numpy as np
import pytest
import torch

from sklar.model.covariance import (
    SMALLEST_SIGMA,
    BlockDiagonal,
    BlockLayout,
    Covariance,
    FullRank,
    FullRankHead,
    Independent,
    LowRank,
)
from tests.contracts.covariance_contract import CovarianceContract
from tests.helpers import seeded

SCALES = torch.tensor([1e20, 1.0, 1e-2, 1e-2, 1.0])
FLOOR = SMALLEST_SIGMA**2


def own_noise(sigma):
    return np.diag(np.maximum(np.abs(sigma.numpy()), SMALLEST_SIGMA) ** 2)


class TestLowRank(CovarianceContract):
    rank = 2

    def parameters(self, batch=(), dtype=torch.float64, seed=0):
        loadings = self.random(batch, self.d, self.rank, dtype=dtype, seed=seed)
        return loadings, 0.5 + self.random(batch, self.d, dtype=dtype, seed=seed + 1).abs()

    def build(self, loadings, sigma):
        return LowRank(loadings, sigma)

    def twin(self, loadings, sigma):
        return loadings.numpy() @ loadings.numpy().T + own_noise(sigma)

    def mixed_scales(self, loadings, sigma):
        return loadings * SCALES[:, None], sigma * SCALES


class TestRankAboveFeatures(TestLowRank):
    rank = 9


class TestFullRank(CovarianceContract):
    def parameters(self, batch=(), dtype=torch.float64, seed=0):
        return (self.random(batch, self.d, self.d, dtype=dtype, seed=seed),)

    def build(self, loadings):
        return FullRank(loadings)

    def twin(self, loadings):
        return loadings.numpy() @ loadings.numpy().T + FLOOR * np.eye(self.d)

    def mixed_scales(self, loadings):
        return (loadings * SCALES[:, None],)


class TestBlockDiagonal(CovarianceContract):
    layout = BlockLayout([[0, 3], [1], [2, 4]])

    def parameters(self, batch=(), dtype=torch.float64, seed=0):
        return (self.random(batch, self.layout.n_entries, dtype=dtype, seed=seed),)

    def build(self, entries):
        return BlockDiagonal(entries, self.layout)

    def twin(self, entries):
        values = iter(entries.numpy())
        loadings = np.zeros((self.d, self.d))
        for block in ([0, 3], [1], [2, 4]):
            for i in block:
                for j in block:
                    loadings[i, j] = next(values)
        return loadings @ loadings.T + FLOOR * np.eye(self.d)

    def mixed_scales(self, entries):
        return (entries * torch.tensor([1e20, 1e20, 1.0, 1.0, 1.0, 1e-2, 1e-2, 1e-2, 1e-2]),)


class TestBlockDiagonalWithSigma(TestBlockDiagonal):
    def parameters(self, batch=(), dtype=torch.float64, seed=0):
        sigma = 0.5 + self.random(batch, self.d, dtype=dtype, seed=seed + 1).abs()
        return (*super().parameters(batch, dtype, seed), sigma)

    def build(self, entries, sigma):
        return BlockDiagonal(entries, self.layout, sigma)

    def twin(self, entries, sigma):
        return super().twin(entries) - FLOOR * np.eye(self.d) + own_noise(sigma)

    def mixed_scales(self, entries, sigma):
        return (*super().mixed_scales(entries), sigma * SCALES)


class TestIndependent(CovarianceContract):
    def parameters(self, batch=(), dtype=torch.float64, seed=0):
        return (0.5 + self.random(batch, self.d, dtype=dtype, seed=seed).abs(),)

    def build(self, sigma):
        return Independent(sigma)

    def twin(self, sigma):
        return own_noise(sigma)

    def mixed_scales(self, sigma):
        return (sigma * SCALES,)


def test_the_family_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Covariance(torch.ones(2))


def test_sigma_enters_by_its_size():
    loadings = torch.ones(3, 1)
    both = (LowRank(loadings, torch.full((3,), sign * 0.7)).dense() for sign in (1.0, -1.0))
    assert torch.equal(*both)


def test_negative_correlations_are_within_reach():
    correlation = LowRank(torch.tensor([[1.0], [-1.0]]), torch.tensor([0.1, 0.1])).correlation()
    assert correlation[0, 1] < -0.98


def test_block_layout_counts_the_squares_of_the_block_sizes():
    layout = BlockLayout([[0, 3], [1], [2, 4, 5]])
    assert (layout.n_features, layout.n_entries) == (6, 4 + 1 + 9)
    assert sorted(zip(layout.rows.tolist(), layout.columns.tolist(), strict=True)) == sorted(
        (i, j) for block in layout.blocks for i in block for j in block
    )


def test_blocks_do_not_depend_on_each_other():
    layout = BlockLayout([[0, 2], [1, 3]])
    correlation = BlockDiagonal(torch.randn(8, generator=torch.Generator().manual_seed(0)), layout).correlation()
    assert correlation[[0, 0, 2, 2], [1, 3, 1, 3]].abs().max() == 0
    assert correlation[0, 2].abs() > 0.01


@pytest.mark.parametrize(("activation", "scale"), [("tanh", 1.0), ("relu", 0.7)])
def test_the_factored_full_rank_is_the_dense_one(activation, scale):
    """L known by its factors draws and spreads as L stored, with the same gradients."""
    hidden, weight, bias = (
        torch.randn(shape, generator=seeded(seed), dtype=torch.float64, requires_grad=True)
        for seed, shape in enumerate(((2, 6, 3), (2, 3, 16), (2, 1, 16)))
    )
    sigma = torch.zeros(4, dtype=torch.float64)
    head = FullRankHead(hidden, weight, bias, activation, sigma, scale)
    dense = FullRank(head.matrix(), sigma)
    draws = [covariance.standard_draw((2, 6), seeded(5)) for covariance in (head, dense)]
    torch.testing.assert_close(*draws)
    torch.testing.assert_close(head.deviation(), dense.deviation())
    torch.testing.assert_close(head.correlation(), dense.correlation())
    torch.testing.assert_close(head.draw((2, 6), seeded(5)), dense.draw((2, 6), seeded(5)))
    gradients = [torch.autograd.grad(draw.square().sum(), (hidden, weight, bias)) for draw in draws]
    for mine, stored in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, stored)
