import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from sklar.model.selection import Architecture, SelectionModel
from sklar.training.tasks import Task, joint_loss, noiseless_loss
from tests.helpers import seeded

X = torch.randn(1, 30, 4, generator=seeded(1))
CLASSES = torch.arange(30) % 3


def model_of(n_outputs, replicas=1):
    return SelectionModel(Architecture(4, n_outputs, replicas=replicas), seeded()).eval()


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_losses_of_a_row(replicas):
    output = torch.randn(replicas, 30, 3, generator=seeded())
    expected = -log_softmax(output.numpy(), axis=-1)[:, np.arange(30), CLASSES.numpy()]
    np.testing.assert_allclose(Task(3).row_loss(output, CLASSES).numpy(), expected, rtol=1e-5)
    target = torch.randn(30, generator=seeded(2))
    squares = (output[..., 0] - target).square()
    assert torch.equal(Task(None).row_loss(output[..., :1], target), squares)
    assert (Task(3).n_outputs, Task(None).n_outputs) == (3, 1)


def test_the_loss_of_two_classes_is_the_same_however_sure():
    output = torch.tensor([[0.0, 0.0], [3.0, -2.0], [-60.0, 60.0], [60.0, -60.0]], dtype=torch.float64)
    for label in (0, 1):
        expected = -log_softmax(output.numpy(), axis=-1)[:, label]
        np.testing.assert_allclose(Task(2).row_loss(output, torch.full((4,), label)), expected, rtol=1e-9, atol=1e-15)


def test_joint_is_task_plus_lambda_times_the_mean_number_of_features():
    model, task = model_of(3), Task(3)
    forward = model(X, seeded(5))
    free, priced = (joint_loss(model, task, X, CLASSES, torch.tensor([[p]]), seeded(5)) for p in (0.0, 0.7))
    torch.testing.assert_close(free, task.row_loss(forward.output, CLASSES).mean())
    torch.testing.assert_close(priced - free, 0.7 * forward.mask.sum(-1).mean())


def test_the_replicas_losses_are_summed_each_at_its_own_price():
    model, task, prices = model_of(3, replicas=2), Task(3), torch.tensor([[0.0], [2.0]])
    forward = model(X, seeded(5))
    rows = task.row_loss(forward.output, CLASSES) + prices * forward.mask.sum(-1)
    torch.testing.assert_close(joint_loss(model, task, X, CLASSES, prices, seeded(5)), rows.mean(-1).sum())


def test_the_price_reaches_the_scores():
    model = model_of(3)
    joint_loss(model, Task(3), X, CLASSES, torch.tensor([[5.0]]), seeded()).backward()
    assert (model.choice.scores.bias.grad > 0).all()  # descent lowers every score


def test_noiseless_is_deterministic_and_keeps_no_graph():
    model = model_of(3)
    first, second = (noiseless_loss(model, Task(3), X, CLASSES, torch.tensor([[0.1]])) for _ in range(2))
    assert torch.equal(first, second)
    assert first.shape == (1, 30)
    assert not first.requires_grad
