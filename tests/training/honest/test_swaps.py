"""Exactly k features: draws, and pushes against all swaps tried one by one."""

import math

import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest import swaps
from sklar.training.honest.draws import Draw, Trial
from sklar.training.tasks import Task
from tests.helpers import seeded

LOSS = Task(2).row_loss
D = 5


@pytest.fixture(params=[None, (0, 1, 2, 2, 3, 4, 4)], ids=["one input a gate", "several"])
def setup(request):
    of_input = None if request.param is None else torch.tensor(request.param)
    judge = MaskedPredictor(D, 8, 2, 2, seeded(), of_input).double()
    x = torch.randn(2, 6, judge.n_inputs, generator=seeded(1), dtype=torch.float64)
    y = torch.randint(2, (2, 6), generator=seeded(2))
    mask = torch.tensor([1.0, 1, 0, 0, 1], dtype=torch.float64).repeat(2, 6, 1)
    return Trial(judge, LOSS, x, y, Draw(mask))


def loss_after(trial, out, into):
    swapped = trial.draw.mask.clone()
    swapped[..., out], swapped[..., into] = 0.0, 1.0
    return LOSS(trial.judge(trial.x, swapped), trial.y)


def test_a_swap_is_what_it_says(setup):
    out, into = torch.tensor([[[1]]]).expand(2, 6, 1), torch.tensor([[[2]]]).expand(2, 6, 1)
    gain = swaps.swap_gains(setup, out, into)
    drawn = LOSS(setup.judge(setup.x, setup.draw.mask), setup.y)
    torch.testing.assert_close(gain[..., 0], drawn - loss_after(setup, 1, 2))


def test_slopes_are_the_derivative_in_the_mask(setup):
    soft = setup.draw.mask.clone().requires_grad_()
    (expected,) = torch.autograd.grad(LOSS(setup.judge(setup.x, soft), setup.y).sum(), soft)
    torch.testing.assert_close(swaps.slopes(setup), expected)


@pytest.mark.parametrize("forced", [False, True])
def test_the_mean_push_is_that_of_all_swaps(setup, forced):
    """z-test of each score's mean over 2,000 draws of swaps: 6 errors, false alarm below 1e-6 for all 60."""
    mask = setup.draw.mask
    free = torch.ones_like(mask, dtype=torch.bool)
    if forced:
        free[..., 0] = False
    drawn = LOSS(setup.judge(setup.x, mask), setup.y)
    leaving, coming = [j for j in (0, 1, 4) if free[0, 0, j]], [2, 3]
    gain = {(j, i): drawn - loss_after(setup, j, i) for j in leaving for i in coming}
    exact = torch.zeros_like(mask)
    for j, i in gain:
        exact[..., i] -= D * gain[j, i] / len(gain)
        exact[..., j] += D * gain[j, i] / len(gain)
    generator = seeded(3)
    pushes = torch.stack([swaps.push(setup, free, 1, generator).detach() for _ in range(2000)])
    error = pushes.std(0) / math.sqrt(len(pushes))
    assert ((pushes.mean(0) - exact).abs() <= 6 * error + 1e-9).all()


def test_slopes_take_noise_away(setup):
    """Where the predictor is linear in the mask, one swap says all."""
    with torch.no_grad():
        setup.judge.first.bias += 100  # every unit is on: the network is linear, and so is a loss that is its output
        setup.judge.second.bias += 1e4
    linear = Trial(setup.judge, lambda output, _: output[..., 0], setup.x, setup.y, setup.draw)
    free, generator = torch.ones_like(setup.draw.mask, dtype=torch.bool), seeded(4)
    pushes = torch.stack([swaps.push(linear, free, 1, generator).detach() for _ in range(5)])
    torch.testing.assert_close(pushes, pushes[:1].expand_as(pushes), rtol=1e-6, atol=1e-6)


def test_draws_have_exactly_k_and_follow_the_scores():
    scores = torch.tensor([0.0, 0.0, 0.0, math.log(3.0)]).expand(1, 20_000, 4)
    masks = swaps.draw(scores, 1, seeded()).mask
    assert (masks.sum(-1) == 1).all()
    # one of four with weights 1, 1, 1, 3: chance 1/2 for the last; 5 errors, false alarm 6e-7
    assert abs(float(masks[..., 3].mean()) - 0.5) < 5 * 0.5 / math.sqrt(20_000)
    assert (swaps.draw(scores, 2, seeded()).mask.sum(-1) == 2).all()


@pytest.mark.parametrize(("k", "d"), [(4, 11), (10, 400), (40, 784)])
def test_at_the_bound_most_draws_are_of_the_best(k, d):
    bound = swaps.bound_for(k, d, 2.5)
    scores = torch.full((1, 2000, d), -bound)
    scores[..., :k] = bound
    masks = swaps.draw(scores, k, seeded()).mask
    first = swaps.draw(scores, 1, seeded()).mask[..., :k].sum(-1).mean()
    assert first > 0.87
    assert masks[..., :k].sum(-1).mean() > 0.6 * k


def test_rows_may_differ_in_how_many_they_show(setup):
    """z-test as above, of a row that shows one feature where others show more: all its swaps have that one leave."""
    mask = setup.draw.mask.clone()
    mask[:, 0] = torch.tensor([0.0, 1, 0, 0, 0], dtype=torch.float64)
    trial = Trial(setup.judge, LOSS, setup.x, setup.y, Draw(mask))
    free = torch.ones_like(mask, dtype=torch.bool)
    drawn = LOSS(trial.judge(trial.x, mask), trial.y)[:, 0]
    exact = torch.zeros_like(mask[:, 0])
    for i in (0, 2, 3, 4):
        gain = drawn - loss_after(trial, 1, i)[:, 0]
        exact[:, i] -= D * gain / 4
        exact[:, 1] += D * gain / 4
    pushes = torch.stack([swaps.push(trial, free, 2, seeded(seed), own_k=True)[:, 0] for seed in range(2000)])
    error = pushes.std(0) / len(pushes) ** 0.5
    assert ((pushes.mean(0) - exact).abs() <= 6 * error + 1e-12).all()


def test_bounds_and_draws_of_own_counts():
    k = torch.tensor([[[1.0], [4.0]]])
    found = swaps.bound_for(k, 50, 2.0)
    assert found.flatten().tolist() == pytest.approx([swaps.bound_for(1, 50, 2.0), swaps.bound_for(4, 50, 2.0)])
    drawn = swaps.draw(torch.zeros(1, 2, 50), k, seeded()).mask
    assert drawn.sum(-1).tolist() == [[1, 4]]
