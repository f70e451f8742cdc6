"""Flips of correlated gates, however they are evaluated, against plain re-evaluation of the predictor."""

import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest import copula_flips, draws, gradients
from sklar.training.honest.draws import Trial
from sklar.training.tasks import Task
from tests.helpers import seeded

LOSS = Task(2).row_loss
OF_INPUT = torch.tensor([0, 0, 1, 2, 2, 2, 3, 4, 5])
# weak, so that hardly any other gate crosses, strong, and so that none does
STRENGTHS = [0.25, 0.6, 0.0]


def trial(strength, of_input=None, replicas=2, n=30, d=6):
    judge = MaskedPredictor(d, 8, 2, replicas, seeded(), of_input).double().requires_grad_(False)
    x = torch.randn(replicas, n, judge.n_inputs, generator=seeded(1), dtype=torch.float64)
    y = torch.randint(2, (replicas, n), generator=seeded(2))
    scores = torch.randn(replicas, n, d, generator=seeded(3), dtype=torch.float64)
    loadings = strength * torch.randn(replicas, d, 2, generator=seeded(5), dtype=torch.float64)
    noise = draws.correlated_noise(loadings, n, seeded(4))
    return Trial(judge, LOSS, x, y, draws.draw_gates(scores, noise))


def features(asked, count, seed=6):
    return draws.random_features(torch.ones_like(asked.draw.mask, dtype=torch.bool), count, seeded(seed))


def loss_with(asked, mask, gates):
    """Losses of masks (R, n, d) where gate i of every row (R, n) is set to a value."""
    for index, value in gates:
        mask = mask.scatter(-1, index.unsqueeze(-1), float(value))
    return LOSS(asked.judge(asked.x, mask), asked.y)


def by_definition(asked, index):
    """Gains and mixed differences, one mask after the other."""
    distance, correlation = asked.draw.latents
    q, c, r = -distance, torch.zeros_like(distance), correlation.unsqueeze(1)
    gain = []
    moved = (gradients.at_threshold(q, c, r, index) > 0).double()
    for k, i in enumerate(index.unbind(-1)):
        off, on = (loss_with(asked, moved[:, :, k], [(i, value)]) for value in (0, 1))
        gain.append(off - on)
    i, j = index[..., 0], index[..., 1]
    moved = (gradients.pair_at_threshold(q, c, r, i[..., None], j[..., None])[:, :, 0] > 0).double()
    f = {(a, b): loss_with(asked, moved, [(i, a), (j, b)]) for a in (0, 1) for b in (0, 1)}
    return torch.stack(gain, -1), f[1, 1] - f[1, 0] - f[0, 1] + f[0, 0]


@pytest.mark.parametrize("evaluate", [copula_flips.by_changes, copula_flips.by_masks])
@pytest.mark.parametrize("of_input", [None, OF_INPUT])
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("count", [2, 3, 6])
def test_they_are_what_re_evaluation_says(evaluate, of_input, strength, count):
    asked = trial(strength, of_input)
    index = features(asked, count)
    flips = evaluate(asked, asked.draw.latents, index)
    torch.testing.assert_close((flips.gain, flips.mixed), by_definition(asked, index))


def test_one_replica_may_have_no_gate_that_crosses():
    """The replicas are evaluated side by side, though they have different numbers of crossings."""
    asked = trial(0.9)
    asked.draw.latents.correlation[0] = torch.eye(6)
    index = features(asked, 3)
    found = crossed(asked, index)
    assert (found.row >= 30).all()
    assert len(found.row)
    flips = copula_flips.by_changes(asked, asked.draw.latents, index)
    torch.testing.assert_close((flips.gain, flips.mixed), by_definition(asked, index))


def crossed(asked, index):
    latents = asked.draw.latents
    displacement = latents.distance.gather(-1, index)
    of_pair = copula_flips._pair_displacement(latents, index, displacement)
    return copula_flips.crossings(*latents, index, displacement, of_pair)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_crossings_are_all_that_differs_from_the_drawn_mask(strength):
    asked = trial(strength)
    index = features(asked, 4)
    distance, correlation = asked.draw.latents
    q, c, r = -distance, torch.zeros_like(distance), correlation.unsqueeze(1)
    single = gradients.at_threshold(q, c, r, index)
    double = gradients.pair_at_threshold(q, c, r, index[..., :1], index[..., 1:2])
    after = (torch.cat([single, double], 2) > 0).double()  # (R, n, 5, d)
    change = after - asked.draw.mask.unsqueeze(2)
    for k in range(4):
        change[:, :, k].scatter_(-1, index[..., k : k + 1], 0.0)
    change[:, :, 4].scatter_(-1, index[..., :2], 0.0)
    found = crossed(asked, index)
    got = torch.zeros_like(change)
    got.flatten(0, 1)[found.row, found.move, found.gate] = found.sign
    assert torch.equal(got, change)
    assert bool(len(found.row)) == (strength > 0)


def test_which_way_is_taken():
    """Changes alone on a CPU."""
    asked = trial(0.6)
    index = features(asked, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copula_flips, "by_changes", lambda *_: "changes")
        assert copula_flips.copula_flips(asked, asked.draw.latents, index) == "changes"
