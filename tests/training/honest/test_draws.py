"""Draws of the gates: their law, and the features that are flipped."""

import torch
from scipy.stats import binomtest, multivariate_normal

from sklar.training.honest import draws
from tests.helpers import assert_plausible, seeded


def test_correlated_gates_open_as_often_as_their_scores_say_and_together_as_the_copula_says():
    """P(z_i) = sigmoid(alpha_i), and P(z_1 z_2) is the normal orthant's: binomial tests, `assert_plausible`'s rate."""
    n, scores, root = 40_000, torch.tensor([0.8, -1.5]), torch.tensor([[[0.9], [-0.7]]])
    loadings = root / (1 - root.square()).sqrt()
    draw = draws.draw_gates(scores.expand(1, n, 2), draws.correlated_noise(loadings, n, seeded()))
    p = torch.sigmoid(scores.double())
    c = -torch.special.ndtri(p)
    both = multivariate_normal([0, 0], [[1, -0.63], [-0.63, 1]]).cdf((-c).tolist())
    counts = [*draw.mask[0].sum(0).long().tolist(), int(draw.mask[0].prod(-1).sum())]
    assert_plausible([binomtest(k, n, q).pvalue for k, q in zip(counts, [*p.tolist(), both], strict=True)])
    assert torch.equal(draw.mask, (draw.latents.distance < 0).float())
    torch.testing.assert_close(draw.latents.correlation[0], torch.tensor([[1, -0.63], [-0.63, 1]]))


def test_random_features_are_different_and_eligible():
    eligible = torch.tensor([True, False, True, True]).expand(1, 500, 4)
    index = draws.random_features(eligible, 2, seeded())
    assert (index[..., 0] != index[..., 1]).all()
    assert not (index == 1).any()


def test_the_first_few_of_many_features_are_those_of_the_least_keys():
    """However they are found: rows are sorted up to a width."""
    for d in (draws.WIDEST_SORTED, draws.WIDEST_SORTED + 1):
        index = draws.random_features(torch.ones(1, 40, d, dtype=torch.bool), 5, seeded(1))
        keys = torch.rand(1, 40, d, generator=seeded(1))
        torch.testing.assert_close(keys.gather(-1, index), keys.sort(-1).values[..., :5])


def test_all_features_come_in_random_order_with_those_that_are_not_eligible_last():
    eligible = torch.tensor([True, False, True, True]).expand(1, 500, 4)
    index = draws.random_features(eligible, 9, seeded())
    assert (index[..., 3] == 1).all()
    assert torch.equal(index.sort(-1).values, torch.arange(4).expand_as(index))
    orders = {tuple(order) for order in index[0].tolist()}
    assert len(orders) == 6
