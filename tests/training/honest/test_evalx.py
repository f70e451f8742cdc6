"""EVAL-X: predictors of random masks see what the shown values say, and nothing else."""

from __future__ import annotations

import torch

from sklar.training.honest.evalx import evalx_outputs
from sklar.training.tasks import Task


def sign_rows(problems: int = 2, n: int = 603) -> tuple[torch.Tensor, torch.Tensor]:
    """y is the sign of the first feature; the second says nothing."""
    x = torch.randn(problems, n, 2, generator=torch.Generator().manual_seed(0))
    return x, (x[..., 0] > 0).long()


def accuracies(output: torch.Tensor, y: torch.Tensor) -> list[float]:
    return (output.argmax(-1) == y).double().mean(1).tolist()


def test_it_scores_what_is_shown():
    x, y = sign_rows()
    first, second = torch.zeros_like(x), torch.zeros_like(x)
    first[..., 0], second[..., 1] = 1, 1
    told, not_told = evalx_outputs(x, y, [first, second], Task(2), 150, seed=0)
    assert min(accuracies(told, y)) > 0.95
    # 603 fair coins are right more than 60% of the time with a chance below 1e-6, each of the two problems
    assert max(accuracies(not_told, y)) < 0.6


def test_a_mask_that_tells_the_label_tells_it_nothing():
    """The mask shows the useless feature exactly where y = 1: a code that predictors of random masks cannot know."""
    x, y = sign_rows()
    code = torch.zeros_like(x)
    code[..., 1] = y.float()
    (output,) = evalx_outputs(x, y, [code], Task(2), 150, seed=0)
    assert max(accuracies(output, y)) < 0.65


def test_rows_keep_their_order_and_no_row_is_left_out():
    x, y = sign_rows(n=603)  # not a multiple of the folds
    everything = torch.ones_like(x)
    (output,) = evalx_outputs(x, y, [everything], Task(2), 150, seed=0)
    assert output.shape == (2, 603, 2)
    assert min(accuracies(output[:, -3:], y[:, -3:])) > 0.6
