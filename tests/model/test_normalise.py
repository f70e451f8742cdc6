"""Division by the standard deviation."""

import torch

from sklar.model.covariance import LowRank
from sklar.model.normalise import normalised, normalised_loadings
from tests.helpers import seeded


def test_normalised_loadings_make_the_correlation_of_l_lt_plus_one():
    loadings = torch.randn(3, 5, 2, generator=seeded(), dtype=torch.float64)
    root, own = normalised_loadings(loadings)
    dense = loadings @ loadings.mT + torch.eye(5)
    deviation = dense.diagonal(dim1=1, dim2=2).sqrt()
    expected = dense / (deviation.unsqueeze(-1) * deviation.unsqueeze(-2))
    torch.testing.assert_close(root @ root.mT + torch.diag_embed(own.squeeze(-1).square()), expected)
    torch.testing.assert_close(LowRank(loadings, torch.ones(5, dtype=torch.float64)).correlation(), expected)


def test_normalised_draws_have_deviation_one():
    covariance = LowRank(torch.tensor([[3.0], [0.5]]), torch.tensor([2.0, 1.0]))
    q = covariance.draw((50_000,), seeded())
    # the deviation of a sample deviation is 1 / sqrt(2 n) = .0032: 6 of them
    torch.testing.assert_close(normalised(q, covariance.deviation()).std(0), torch.ones(2), rtol=0, atol=0.02)
