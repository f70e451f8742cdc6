"""Gains against plain re-evaluation of the predictor."""

import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest import draws
from sklar.training.honest.draws import Trial
from sklar.training.honest.flips import exact_gains, inward_only
from sklar.training.tasks import Task
from tests.helpers import seeded

LOSS = Task(2).row_loss


@pytest.fixture
def setup():
    judge = MaskedPredictor(5, 8, 2, 2, seeded()).double().requires_grad_(False)
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
    draw = draws.draw_gates(scores, torch.rand(scores.shape, generator=seeded(4)))
    index = torch.arange(5).expand(2, 6, 5)
    gain, pairs = exact_gains(Trial(judge, LOSS, x, y, draw), index)
    assert pairs is None
    for i in range(5):
        off, on = (loss_with(judge, x, y, draw.mask, **{f"z{i}": float(v)}) for v in (0, 1))
        torch.testing.assert_close(gain[..., i], off - on)


def test_correlated_gates_have_gains_and_pairs(setup):
    judge, x, y, scores = setup
    noise = draws.correlated_noise(torch.ones(2, 5, 1, dtype=torch.float64), 6, seeded(4))
    gain, pairs = exact_gains(
        Trial(judge, LOSS, x, y, draws.draw_gates(scores, noise)), torch.arange(3).expand(2, 6, 3)
    )
    assert gain is pairs.gain
    assert pairs.mixed.shape == (2, 6)


def test_only_inward_pushes_pass_the_bound():
    scores = torch.tensor([3.0, 3.0, -3.0, -3.0, 0.0])
    gradient = torch.tensor([-1.0, 1.0, 1.0, -1.0, -5.0])  # a descent step moves the score against it
    assert inward_only(gradient, scores, 2.5).tolist() == [0.0, 1.0, 0.0, -1.0, -5.0]
