"""Gains against plain re-evaluation of the predictor."""

import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest import draws, flips
from sklar.training.honest.trial import Trial
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
    gain = flips.gains(Trial(judge, LOSS, x, y, draw), index)
    for i in range(5):
        off, on = (loss_with(judge, x, y, draw.mask, **{f"z{i}": float(v)}) for v in (0, 1))
        torch.testing.assert_close(gain[..., i], off - on)
