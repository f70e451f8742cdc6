"""Exactly k features: draws, and gradients of scores and loadings against all sets enumerated."""

import itertools
import math

import numpy as np
import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.normalise import normalised_loadings
from sklar.training.honest import swaps
from sklar.training.honest.draws import Draw, Trial, correlated_noise
from sklar.training.honest.gate_correlation import GateCorrelation
from sklar.training.honest.settings import Pull
from sklar.training.tasks import Task
from tests.helpers import seeded

LOSS = Task(2).row_loss
D = 5
NORMAL = torch.distributions.Normal(0.0, 1.0)


def mean_loss(alpha, loadings, k, losses):
    """E f by integration: P(S) = E_xi sum_i int f_i(v) prod_j (1 - F_j(v)) prod_l F_l(v) dv, i the last of S.

    alpha (d,), loadings (d, p); losses : set -> f. Given the factors xi, keys are independent.
    """
    root, own = normalised_loadings(loadings)
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    grid = torch.linspace(-8, 14, 801, dtype=torch.float64)
    total = torch.zeros((), dtype=torch.float64)
    for point in itertools.product(range(len(nodes)), repeat=loadings.shape[1]):
        xi = torch.tensor([nodes[i] for i in point], dtype=torch.float64)
        share = math.prod(weights[i] for i in point) / math.sqrt(2 * math.pi) ** len(point)
        uniform = (-(-(grid - alpha.unsqueeze(1))).exp()).exp().clamp(1e-15, 1 - 1e-15)  # P(key < v), (d, grid)
        below = NORMAL.cdf((NORMAL.icdf(uniform) - (root @ xi).unsqueeze(1)) / own)
        jump = below.diff(dim=1)
        middle = (below[:, 1:] + below[:, :-1]) / 2
        for chosen, loss in losses.items():
            hidden = [j for j in range(len(alpha)) if j not in chosen]
            for last in chosen:
                above = [j for j in chosen if j != last]
                chance = jump[last] * (1 - middle[above]).prod(0) * middle[hidden].prod(0)
                total = total + share * loss * chance.sum()
    return total


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


@torch.no_grad()
def one_row(k, copies):
    """A judge of one row, so often, and its loss for every set of k features."""
    judge = MaskedPredictor(D, 6, 2, 1, seeded()).double()
    x = torch.randn(1, 1, D, generator=seeded(1), dtype=torch.float64)
    losses = {}
    for chosen in itertools.combinations(range(D), k):
        mask = torch.zeros(1, 1, D, dtype=torch.float64)
        mask[..., list(chosen)] = 1
        losses[chosen] = float(6 * LOSS(judge(x, mask), torch.ones(1, 1, dtype=torch.long)))
    rows = x.expand(1, copies, -1), torch.ones(1, copies, dtype=torch.long)
    return judge, rows, losses


def test_a_swap_is_what_it_says(setup):
    out, into = torch.tensor([[[1]]]).expand(2, 6, 1), torch.tensor([[[2]]]).expand(2, 6, 1)
    gain = swaps.swap_gains(setup, out, into)
    drawn = LOSS(setup.judge(setup.x, setup.draw.mask), setup.y)
    torch.testing.assert_close(gain[..., 0], drawn - loss_after(setup, 1, 2))


def test_slopes_are_the_derivative_in_the_mask(setup):
    soft = setup.draw.mask.clone().requires_grad_()
    (expected,) = torch.autograd.grad(LOSS(setup.judge(setup.x, soft), setup.y).sum(), soft)
    torch.testing.assert_close(swaps.slopes(setup), expected)


@pytest.mark.parametrize(("k", "strength"), [(2, 0.0), (1, 1.5), (3, 1.5)])
def test_gradients_are_those_of_all_sets_enumerated(k, strength):
    """z-tests of 5 scores and 5 loadings from 40 batches: 6 errors (t, 39), false alarm below 1e-5 a case."""
    batches, n = 40, 2500
    judge, (x, y), losses = one_row(k, n)
    alpha = torch.tensor([0.9, -0.4, 0.2, 0.6, -1.0], dtype=torch.float64, requires_grad=True)
    loadings = strength * torch.tensor([[1.0], [-1.0], [0.6], [0.0], [-0.5]], dtype=torch.float64)
    loadings.requires_grad_()
    exact = torch.autograd.grad(mean_loss(alpha, loadings, k, losses), [alpha, loadings])
    correlation = GateCorrelation(1, D, 1, Pull(0.0, 0.0), seeded()).double()
    correlation.loadings.data.copy_(loadings.detach())
    generator, found = seeded(5), []
    free = torch.ones(1, n, D, dtype=torch.bool)
    scores = alpha.detach().expand(1, n, D)
    for _ in range(batches):
        noise = correlated_noise(correlation.loadings.detach(), n, generator)
        if strength == 0:
            noise = torch.rand(1, n, D, generator=generator, dtype=torch.float64)
        drawn = swaps.draw(scores, k, noise)
        trial = Trial(judge, lambda output, y: 6 * LOSS(output, y), x, y, drawn)
        change = swaps.differences(trial, drawn.edge, free, 2, generator)
        of_scores = (change * drawn.edge.density).mean((0, 1))
        if strength:
            correlation.learn_from_swaps(change, drawn.edge.latent)
            found.append(torch.cat([of_scores, correlation.loadings.grad.flatten()]).detach())
        else:
            found.append(of_scores.detach())
    found = torch.stack(found)
    error = found.std(0) / math.sqrt(batches)
    expected = torch.cat([part.flatten() for part in exact])[: found.shape[1]]
    assert expected.abs().max() > 20 * error.max()  # the test can tell a gradient from none
    assert ((found.mean(0) - expected).abs() <= 6 * error).all()


def test_slopes_take_noise_away(setup):
    """Where the predictor is linear in the mask, one swap says all."""
    with torch.no_grad():
        setup.judge.first.bias += 100  # every unit is on: the network is linear, and so is a loss that is its output
        setup.judge.second.bias += 1e4
    drawn = swaps.draw(torch.zeros_like(setup.draw.mask), 2, torch.rand(2, 6, D, generator=seeded(3)).double())
    linear = Trial(setup.judge, lambda output, _: output[..., 0], setup.x, setup.y, drawn)
    free, generator = torch.ones_like(drawn.mask, dtype=torch.bool), seeded(4)
    found = torch.stack([swaps.differences(linear, drawn.edge, free, 1, generator).detach() for _ in range(5)])
    torch.testing.assert_close(found, found[:1].expand_as(found), rtol=1e-6, atol=1e-6)


def test_gates_that_are_not_free_do_not_learn(setup):
    drawn = swaps.draw(torch.zeros_like(setup.draw.mask), 2, torch.rand(2, 6, D, generator=seeded(3)).double())
    free = torch.ones_like(drawn.mask, dtype=torch.bool)
    free[..., 0] = False
    trial = Trial(setup.judge, LOSS, setup.x, setup.y, drawn)
    found = swaps.differences(trial, drawn.edge, free, 8, seeded())
    assert (found[..., 0] == 0).all()
    assert (found[..., 1:] != 0).all()


def wide_trial(d, k, n=2000):
    """A judge of many features, rows of one kind, and a draw of each; the loss is far from linear in the mask."""
    judge = MaskedPredictor(d, 8, 2, 1, seeded()).double()
    x = torch.randn(1, 1, d, generator=seeded(1), dtype=torch.float64).expand(1, n, d)
    drawn = swaps.draw(torch.zeros(1, n, d, dtype=torch.float64), k, torch.rand(1, 1, d, generator=seeded(2)).double())
    trial = Trial(judge, lambda output, y: 6 * LOSS(output, y), x, torch.ones(1, n, dtype=torch.long), drawn)
    return trial, torch.ones(1, n, d, dtype=torch.bool)


@pytest.mark.parametrize("k", [3, torch.full((1, 2000, 1), 3)], ids=["one k", "a k a row"])
def test_of_many_gates_those_near_the_edge_are_tried_and_the_others_have_their_slope(k):
    """z-tests of 64 means over 2,000 rows of one draw: 6 errors, false alarm below 1e-6."""
    d = 80
    trial, free = wide_trial(d, k)
    edge, shown = trial.draw.edge, trial.draw.mask[0, 0] > 0.5
    found = swaps.differences(trial, edge, free, 2, seeded(3)).detach()[0]
    near = edge.near[0, 0]
    assert int(near.sum()) == swaps.NEAR
    assert near[shown].all()
    slope = swaps.slopes(trial)[0, 0]
    partner = torch.where(shown, edge.first[0, 0], edge.last[0, 0])
    torch.testing.assert_close(found[:, ~near], (slope - slope[partner])[~near].expand(len(found), -1))
    exact = torch.stack([exact_difference(trial, i, int(partner[i]), bool(shown[i])) for i in range(d)])
    error = found.std(0) / math.sqrt(len(found))
    assert ((found.mean(0) - exact)[near].abs() <= 6 * error[near]).all()
    assert ((slope - slope[partner] - exact)[near].abs() > 6 * error[near]).any()  # slopes alone would not do


def exact_difference(trial, i, partner, is_shown):
    """Loss with i shown minus loss with it hidden, of the first row."""
    out, into = (i, partner) if is_shown else (partner, i)
    row = trial.draw.mask[:, :1]
    swapped = row.clone()
    swapped[..., out], swapped[..., into] = 0.0, 1.0
    before, after = (trial.loss(trial.judge(trial.x[:, :1], m), trial.y[:, :1])[0, 0] for m in (row, swapped))
    return before - after if is_shown else after - before


def test_the_natural_gradient_is_exact_in_the_mean_and_pushes_no_row_as_a_whole():
    """In the mean over draws a row's exact gradient sums to 0: what is taken away is noise alone.

    z-tests of 5 scores from 20,000 draws, 6 errors: false alarm below 1e-8.
    """
    n, k = 20_000, 2
    judge, (x, y), losses = one_row(k, n)
    alpha = torch.tensor([0.9, -0.4, 0.2, 0.6, -1.0], dtype=torch.float64, requires_grad=True)
    (exact,) = torch.autograd.grad(mean_loss(alpha, torch.zeros(D, 1, dtype=torch.float64), k, losses), alpha)
    drawn = swaps.draw(alpha.detach().expand(1, n, D), k, torch.rand(1, n, D, generator=seeded(6)).double())
    often = torch.linspace(0.1, 0.3, D, dtype=torch.float64).expand(1, n, D)  # any that no draw changes
    edge = drawn.edge._replace(often=often)
    trial = Trial(judge, lambda output, y: 6 * LOSS(output, y), x, y, drawn)
    free = torch.ones(1, n, D, dtype=torch.bool)
    change = swaps.differences(trial, edge, free, 5, seeded(7)).detach()
    found = swaps.natural(change, edge, free)[0]
    torch.testing.assert_close((found * often[0]).sum(-1), torch.zeros(n, dtype=torch.float64), atol=1e-9, rtol=0)
    expected = exact / often[0, 0]
    error = found.std(0) / math.sqrt(n)
    assert ((found.mean(0) - expected).abs() <= 6 * error).all()
    assert expected.abs().max() > 20 * error.max()  # the test can tell a gradient from none
    raw = (change * edge.density / edge.often)[0]
    assert found.var(0).sum() < raw.var(0).sum()
    free[..., 0] = False
    assert (swaps.natural(change, edge, free)[..., 0] == 0).all()


def test_a_swap_at_the_edge_has_the_partner_whose_key_is_the_threshold(setup):
    keys = torch.tensor([[[3.0, 1.0, 0.5, -1.0, 2.0]]])
    shown = torch.tensor([[[True, True, False, False, True]]])
    edge = swaps.edge_of(torch.zeros(1, 1, D), keys, shown, shown, torch.rand(1, 1, D, generator=seeded()))
    assert (int(edge.last), int(edge.first)) == (1, 2)
    at = torch.tensor([0.5, 0.5, 1.0, 1.0, 0.5])  # thresholds
    torch.testing.assert_close(edge.density[0, 0], (-at - (-at).exp()).exp())  # density of a Gumbel


def test_nothing_can_change_where_all_are_shown():
    edge = swaps.draw(torch.zeros(1, 3, D), D, torch.rand(1, 3, D, generator=seeded())).edge
    assert (edge.density < 1e-30).all()


def test_draws_have_exactly_k_and_follow_the_scores():
    scores = torch.tensor([0.0, 0.0, 0.0, math.log(3.0)]).expand(1, 20_000, 4)
    uniform = torch.rand(scores.shape, generator=seeded())
    masks = swaps.draw(scores, 1, uniform).mask
    assert (masks.sum(-1) == 1).all()
    # one of four with weights 1, 1, 1, 3: chance 1/2 for the last; 5 errors, false alarm 6e-7
    assert abs(float(masks[..., 3].mean()) - 0.5) < 5 * 0.5 / math.sqrt(20_000)
    assert (swaps.draw(scores, 2, uniform).mask.sum(-1) == 2).all()


def test_gates_that_exclude_each_other_are_seldom_drawn_together():
    """Two of four: each pair in 1 of 6 draws if gates are independent; here R = -.9. 5 errors of the share are .013."""
    loadings = torch.tensor([[[3.0], [-3.0], [0.0], [0.0]]])
    masks = swaps.draw(torch.zeros(1, 20_000, 4), 2, correlated_noise(loadings, 20_000, seeded())).mask
    assert float((masks[..., 0] * masks[..., 1]).mean()) < 1 / 6 - 0.05


@pytest.mark.parametrize(("k", "d"), [(4, 11), (10, 400), (40, 784)])
def test_at_the_bound_most_draws_are_of_the_best(k, d):
    bound = swaps.bound_for(k, d, 2.5)
    scores = torch.full((1, 2000, d), -bound)
    scores[..., :k] = bound
    uniform = torch.rand(scores.shape, generator=seeded())
    masks = swaps.draw(scores, k, uniform).mask
    first = swaps.draw(scores, 1, uniform).mask[..., :k].sum(-1).mean()
    assert first > 0.87
    assert masks[..., :k].sum(-1).mean() > 0.6 * k


def test_bounds_and_draws_of_own_counts():
    k = torch.tensor([[[1.0], [4.0]]])
    found = swaps.bound_for(k, 50, 2.0)
    assert found.flatten().tolist() == pytest.approx([swaps.bound_for(1, 50, 2.0), swaps.bound_for(4, 50, 2.0)])
    drawn = swaps.draw(torch.zeros(1, 2, 50), k, torch.rand(1, 2, 50, generator=seeded()))
    assert drawn.mask.sum(-1).tolist() == [[1, 4]]
