"""The law of the binary mask (Algorithm 2). False alarms: see tests/helpers.py."""

import itertools

import numpy as np
import pytest
import torch
from scipy import special, stats
from torch.autograd import gradcheck

from sklar.model import binary_mask, copula
from sklar.model.covariance import Independent
from tests.helpers import assert_plausible, seeded
from tests.model.test_copula import covariances

DRAWS = 60_000
SCORES = torch.tensor([-2.0, -0.3, 0.4, 3.0], dtype=torch.float64)


def drawn_masks(covariance, scores=SCORES):
    noise = copula.logistic(copula.standard_draw(covariance, (DRAWS,), seeded(7)))
    return binary_mask.hard_mask(scores, noise).numpy()


@pytest.mark.parametrize("name", covariances())
def test_every_gate_opens_with_probability_sigmoid_of_its_score(name):
    opened = drawn_masks(covariances()[name]).sum(axis=0)
    expected = special.expit(SCORES.numpy())
    assert_plausible([stats.binomtest(int(n), DRAWS, p).pvalue for n, p in zip(opened, expected, strict=True)])


def joint_shares(scores, rho):
    """P(z = 00, 01, 10, 11) of two gates: orthants of a bivariate normal cut at Phi^-1(sigmoid(alpha))."""
    cut = special.ndtri(special.expit(scores))
    both = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]], allow_singular=True).cdf(cut)
    first, second = special.expit(scores)
    return np.clip([1 - first - second + both, second - both, first - both, both], 0, 1)


@pytest.mark.parametrize("name", covariances())
def test_pairs_follow_the_bivariate_normal_orthants(name):
    covariance = covariances()[name]
    masks, correlation = drawn_masks(covariance), covariance.correlation().numpy()
    p_values = []
    for i, j in itertools.combinations(range(4), 2):
        counts = np.bincount(2 * masks[:, i] + masks[:, j], minlength=4)
        shares = joint_shares(SCORES.numpy()[[i, j]], correlation[i, j])
        p_values += [stats.binomtest(int(n), DRAWS, p).pvalue for n, p in zip(counts, shares, strict=True)]
    assert_plausible(p_values)


def test_correlated_gates_are_told_from_independent_ones():
    """The test above has power: the orthants of the wrong correlation are refused."""
    covariance = covariances()["low-rank"]
    rho = covariance.correlation().numpy()
    i, j = np.unravel_index(np.argmax(np.abs(np.triu(rho, 1))), rho.shape)
    masks = drawn_masks(covariance)
    counts = np.bincount(2 * masks[:, i] + masks[:, j], minlength=4)
    assert stats.chisquare(counts, joint_shares(SCORES.numpy()[[i, j]], 0.0) * DRAWS).pvalue < 1e-12


@pytest.mark.parametrize("temperature", [1e-3, 0.1, 1.0, 10.0])
def test_the_hard_mask_is_the_relaxed_one_rounded(temperature):
    noise = copula.logistic(copula.standard_draw(Independent(torch.ones(4, dtype=torch.float64)), (500,), seeded()))
    relaxed = binary_mask.relaxed_mask(SCORES, noise, temperature)
    assert torch.equal(relaxed.round().bool(), binary_mask.hard_mask(SCORES, noise))


@pytest.mark.parametrize("temperature", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_relaxed_value_and_gradient_are_finite_far_out(temperature, dtype):
    scores = torch.tensor([-1e4, -50.0, 0.0, 50.0, 1e4], dtype=dtype, requires_grad=True)
    s = torch.tensor([-12.0, -6.0, 0.0, 6.0, 12.0], dtype=dtype, requires_grad=True).unsqueeze(1)
    s.retain_grad()
    relaxed = binary_mask.relaxed_mask(scores, copula.logistic(s), temperature)
    relaxed.sum().backward()
    assert torch.isfinite(relaxed).all()
    assert torch.isfinite(scores.grad).all()
    assert torch.isfinite(s.grad).all()


def test_relaxed_gradients():
    inputs = (SCORES.clone().requires_grad_(), torch.randn(3, 4, generator=seeded(), dtype=torch.float64))
    assert gradcheck(lambda scores, noise: binary_mask.relaxed_mask(scores, noise, 0.5), inputs)


def test_straight_through_is_hard_forward_and_relaxed_backward():
    relaxed = torch.tensor([0.2, 0.5, 0.9], requires_grad=True)
    hard = torch.tensor([False, True, True])
    mask = binary_mask.straight_through(hard, relaxed)
    weights = torch.tensor([3.0, 5.0, 7.0])
    (mask * weights).sum().backward()
    assert mask.tolist() == [0.0, 1.0, 1.0]
    assert torch.equal(relaxed.grad, weights)


def test_the_most_probable_mask_is_where_a_gate_is_more_open_than_shut():
    scores = torch.linspace(-3, 3, 13)
    assert torch.equal(binary_mask.most_probable_mask(scores), torch.sigmoid(scores) > 0.5)


def test_of_a_group_the_best_selected_feature_stays():
    mask = torch.tensor([[[True, True, True, True], [True, False, True, True], [False, True, False, False]]])
    scores = torch.tensor([[[1.0, 2.0, 3.0, 0.5], [1.0, 9.0, 0.5, 0.5], [9.0, 1.0, 9.0, 9.0]]])
    together = torch.zeros(4, 4, dtype=torch.bool)
    for i, j in ((0, 1), (0, 2), (1, 2)):  # the first three are one group
        together[i, j] = together[j, i] = True
    kept = binary_mask.best_of_groups(mask, scores, together)
    expected = [[False, False, True, True], [True, False, False, True], [False, True, False, False]]
    assert kept.tolist() == [expected]
    assert torch.equal(binary_mask.best_of_groups(mask, scores, torch.zeros(1, 4, 4, dtype=torch.bool)), mask)


def test_the_others_of_a_group_come_after_all_other_features():
    scores = torch.tensor([[[3.0, 2.0, 1.0, -5.0]]])
    together = torch.zeros(4, 4, dtype=torch.bool)
    together[0, 1] = together[1, 0] = True
    ranked = binary_mask.after_the_best(scores, together).argsort(dim=-1, descending=True)
    assert ranked.tolist() == [[[0, 2, 3, 1]]]
    assert binary_mask.after_the_best(scores, torch.zeros_like(together)) is scores
