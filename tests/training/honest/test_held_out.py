"""What held-out rows say of masks, against the same by hand."""

import numpy as np
import pytest
import torch

from sklar.training.honest.held_out import path_rows
from sklar.training.tasks import Task


class Judged:
    """Predictors that say x_1 times its mask, of three rows of one problem."""

    def __init__(self, task, y):
        self.task, self.folds = task, self
        self.held_out = torch.tensor([[[1.0], [-2.0], [3.0]]]), y
        self.held_out_weight = None

    def held_out_outputs(self, x, mask):
        value = x * mask
        return value if self.task.n_classes is None else torch.cat([-value, value], -1)

    def held_out_losses(self, x, mask, y):
        return self.task.row_loss(self.held_out_outputs(x, mask), y)


def test_classes_are_right_or_not():
    predictors = Judged(Task(2), torch.tensor([[1, 0, 0]]))
    (rows,) = path_rows(predictors, [torch.ones(1, 3, 1)], torch.tensor([[0.0]]))
    assert rows.row_scores.tolist() == [[1.0, 1.0, 0.0]]
    assert rows.mean_features.tolist() == [1.0]
    assert rows.penalties == [1.0]


def test_the_mean_score_of_values_is_r_squared():
    y = torch.tensor([[1.5, -1.0, 2.0]])
    masks = [torch.ones(1, 3, 1), torch.zeros(1, 3, 1)]
    (rows,) = path_rows(Judged(Task(None), y), masks, torch.tensor([[0.0, 1.0]]))
    variance = np.var(y.numpy(), ddof=1)
    errors = [[0.25, 1.0, 1.0], (y.numpy()[0] ** 2).tolist()]
    np.testing.assert_allclose(rows.row_scores, 1 - np.array(errors) / variance, rtol=1e-5)
    assert rows.row_losses.shape == (2, 3)


@pytest.mark.parametrize("kind", ["counts", "labels"])
def test_other_targets_have_no_score(kind):
    task = type("Other", (Task,), {"kind": kind})(None)
    (rows,) = path_rows(Judged(task, torch.zeros(1, 3)), [torch.ones(1, 3, 1)], torch.tensor([[0.0]]))
    assert rows.row_scores is None
