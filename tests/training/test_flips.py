"""Gains and mixed differences against plain re-evaluation of the predictor."""

import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training import flips, gradients
from sklar.training.objectives import Task
from tests.helpers import seeded

LOSS = Task(2).row_loss


@pytest.fixture
def setup():
    judge = MaskedPredictor(5, 8, 2, 2, seeded()).double()
    x = torch.randn(2, 6, 5, generator=seeded(1), dtype=torch.float64)
    y = torch.randint(2, (2, 6), generator=seeded(2))
    scores = torch.randn(2, 6, 5, generator=seeded(3), dtype=torch.float64)
    return judge, x, y, scores


def loss_with(judge, x, y, mask, **gates):
    mask = mask.clone()
    for name, value in gates.items():
        mask[..., int(name[1:])] = value
    return LOSS(judge(x, mask), y)


def test_gains_of_independent_gates(setup):
    judge, x, y, scores = setup
    draw = flips.draw_gates(scores, None, seeded(4))
    index = torch.arange(5).expand(2, 6, 5)
    gain = flips.gains(judge, LOSS, x, y, draw, index)
    for i in range(5):
        off, on = (loss_with(judge, x, y, draw.mask, **{f"z{i}": float(v)}) for v in (0, 1))
        torch.testing.assert_close(gain[..., i], off - on)


def test_gains_of_correlated_gates_are_taken_at_the_threshold(setup):
    judge, x, y, scores = setup
    root = torch.full((2, 5, 1), 0.6, dtype=torch.float64)
    draw = flips.draw_gates(scores, root, seeded(4).manual_seed(4))
    index = torch.tensor([3, 1]).expand(2, 6, 2)
    gain = flips.gains(judge, LOSS, x, y, draw, index)
    q, c, correlation = draw.latents
    moved = gradients.at_threshold(q, c, correlation, index) > c.unsqueeze(-2)
    for k, i in enumerate((3, 1)):
        off, on = (loss_with(judge, x, y, moved[:, :, k].double(), **{f"z{i}": float(v)}) for v in (0, 1))
        torch.testing.assert_close(gain[..., k], off - on)


def test_mixed_differences(setup):
    judge, x, y, scores = setup
    draw = flips.draw_gates(scores, torch.full((2, 5, 1), 0.6, dtype=torch.float64), seeded(4))
    first, second = torch.tensor([[[0]]]).expand(2, 6, 1), torch.tensor([[[4]]]).expand(2, 6, 1)
    mixed = flips.mixed_differences(judge, LOSS, x, y, draw.latents, first, second)
    q, c, correlation = draw.latents
    moved = gradients.pair_at_threshold(q, c, correlation, first, second)[:, :, 0] > c
    f = {(a, b): loss_with(judge, x, y, moved.double(), z0=float(a), z4=float(b)) for a in (0, 1) for b in (0, 1)}
    torch.testing.assert_close(mixed[..., 0], f[1, 1] - f[1, 0] - f[0, 1] + f[0, 0])


def test_random_features_are_different_and_eligible():
    eligible = torch.tensor([True, False, True, True]).expand(1, 500, 4)
    index = flips.random_features(eligible, 2, seeded())
    assert (index[..., 0] != index[..., 1]).all()
    assert not (index == 1).any()
    assert torch.equal(flips.random_features(eligible, 9, seeded())[0, 0], torch.arange(4))
