"""The best factor on predictions, against a search of all, and what it is to make of copies."""

import pytest
import torch

from sklar.training.best_confidence import LEAST, N_STEPS, STEP, losses_at_best_confidence
from sklar.training.tasks import SpreadTask, Task
from tests.helpers import seeded

P, N = 2, 300
WHERE = torch.rand(P, N, generator=seeded(1)) < 0.6
WEIGHT = torch.rand(P, N, generator=seeded(2))


def rows_of(task):
    """Outputs that are half as sure as they should be in the first problem, and twice in the second."""
    signal = torch.randn(P, N, task.n_outputs, generator=seeded(3))
    noise = torch.randn(P, N, generator=seeded(4))
    y = signal[..., 0] + 0.3 * noise if task.n_classes is None else (3 * signal).softmax(-1).cumsum(-1)
    if task.n_classes is not None:
        y = (torch.rand(P, N, 1, generator=seeded(5)) > y).sum(-1)
        signal = 3 * signal
    return 0.4 + signal * torch.tensor([0.7, 1.4])[:, None, None], y


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weighted"])
@pytest.mark.parametrize("task", [Task(2), Task(3), Task(None), SpreadTask(None)], ids=["2", "3", "values", "spread"])
def test_the_factor_is_the_best_of_all(task, weight):
    outputs, y = rows_of(task)
    found = losses_at_best_confidence(task, outputs, y, WHERE, weight)
    counts = WHERE * (1.0 if weight is None else weight)
    share = (counts / counts.sum(1, keepdim=True)).unsqueeze(-1)
    centre = (share * outputs).sum(1, keepdim=True)
    for p in range(P):
        least = {}
        for step in range(N_STEPS):
            scaled = centre + (LEAST + STEP * step) * (outputs - centre)
            scaled[..., task.n_predicted :] = outputs[..., task.n_predicted :]
            loss = task.row_loss(scaled, y)[p]
            least[float((share[p, :, 0] * loss).sum())] = step, loss
        step, loss = least[min(least)]
        torch.testing.assert_close(found[p], loss)
        assert 0 < step < N_STEPS - 1
        assert (step > (1 - LEAST) / STEP) == (
            p == 0
        )  # too little was said in the first problem, too much in the other


def test_masks_that_say_the_same_with_different_confidence_lose_the_same():
    outputs, y = rows_of(Task(2))
    centre = (outputs * WHERE.unsqueeze(-1)).sum(1, keepdim=True) / WHERE.sum(1)[:, None, None]
    losses = [
        losses_at_best_confidence(Task(2), centre + factor * (outputs - centre), y, WHERE) for factor in (0.8, 1.0)
    ]
    raw = [Task(2).row_loss(centre + factor * (outputs - centre), y) for factor in (0.8, 1.0)]
    apart, before = ((one[0] - one[1])[WHERE].abs().mean() for one in (losses, raw))
    assert apart < 0.15 * before  # what is left is the step between two factors


def test_no_rows_are_no_error():
    outputs, y = rows_of(Task(None))
    assert losses_at_best_confidence(Task(None), outputs, y, torch.zeros_like(WHERE)).isfinite().all()
