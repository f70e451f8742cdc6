"""Predictions at their best confidence: the factor on them by which rows lose least."""

import numpy as np
import pytest
import torch

from sklar.training.honest.confidence import Said, choose_together, compared_fairly, pooled, said_by
from sklar.training.honest.decisions import HeldOut
from sklar.training.honest.persuasion import with_spread
from sklar.training.honest.strength import Candidate
from sklar.training.penalty_path import PathChoice
from sklar.training.tasks import Task
from tests.helpers import seeded
from tests.training.small import small_parts


def drawn(n=2000):
    """Logits, and classes drawn by them."""
    logits = torch.randn(n, 2, generator=seeded())
    return logits, (torch.rand(n, generator=seeded(1)) < logits.softmax(1)[:, 1]).long()


def test_losses_are_those_of_the_best_confidence():
    """Outputs that are three times too sure lose as much as those a third as sure, and never more than no outputs."""
    logits, y = drawn()
    right, too_sure, wrong = (Said(part, y, np.zeros(len(y))) for part in (logits, 3 * logits, -logits))
    confidence, losses = right.at_best_confidence(Task(2))
    assert confidence == pytest.approx(1.0, abs=0.15)
    assert losses.mean() <= Task(2).row_loss(logits, y).mean()
    share, of_sure = too_sure.at_best_confidence(Task(2))
    assert (share, of_sure.mean()) == pytest.approx((confidence / 3, losses.mean()), abs=0.01)
    share, of_wrong = wrong.at_best_confidence(Task(2))
    assert (share, of_wrong.mean()) == pytest.approx((0.0, np.log(2)), abs=1e-6)


def test_what_is_said_of_errors_stays():
    """The second output of a regression, the log of its spread, is not multiplied."""
    task, outputs, y = with_spread(Task(None)), torch.tensor([[3.0, -1.0], [-2.0, -1.0]]), torch.tensor([3.0, -2.0])
    confidence, losses = Said(outputs, y, np.zeros(2)).at_best_confidence(task)
    assert confidence == 1.0  # sure by its own word, and right: nothing is better
    np.testing.assert_allclose(losses, task.row_loss(outputs, y).numpy(), atol=1e-6)


def test_splits_are_pooled_in_their_order():
    parts = [Said(torch.full((n, 2), float(n)), torch.zeros(n), np.full(n, n)) for n in (2, 3)]
    said = pooled(parts)
    assert said.outputs[:, 0].tolist() == said.evidence.tolist() == [2, 2, 3, 3, 3]


def test_candidates_lose_what_they_lose_at_their_best_confidence():
    """One factor for all splits; each row keeps its place."""
    logits, y = drawn(300)
    path = PathChoice(0, 1.0, {"penalty": [1.0], "loss": [0.0], "error": [0.0], "mean_features": [0.0]})
    ends = (slice(0, 100), slice(100, 300))
    held = [HeldOut(path, np.zeros(200), np.ones(200), np.zeros(200), 3 * logits[end][None]) for end in ends]
    held = [one._replace(losses=np.zeros(one.outputs.shape[1])) for one in held]
    selector, predictors = small_parts()
    fair = compared_fairly(Candidate(1.0, selector, predictors, held), Task(2), y)
    expected = said_by(held, y).at_best_confidence(Task(2))[1]
    assert [len(one.losses) for one in fair.held_out] == [100, 200]
    np.testing.assert_array_equal(np.concatenate([one.losses for one in fair.held_out]), expected)
    assert expected.mean() < Task(2).row_loss(3 * logits, y).mean()


def test_a_price_is_chosen_by_the_rows_of_all_splits_at_best_confidence():
    """What is too sure of itself loses more than nothing does; at its best confidence it is worth its features."""
    logits, y = drawn(400)
    noise = torch.randn(400, 2, generator=seeded(5))
    members = torch.stack([8 * logits + 8 * noise, 8 * logits, torch.zeros(400, 2)])
    halves = (slice(0, 200), slice(200, 400))
    path = {"penalty": [0.1, 0.2, 0.3], "loss": [0.0] * 3, "error": [0.0] * 3, "mean_features": [9.0, 4.0, 0.0]}
    none = np.zeros(200)
    held = [HeldOut(PathChoice(2, 0.3, path), none, none, none, members[:, half]) for half in halves]
    choice = choose_together(held, [1.0, 2.0, 3.0], Task(2), y)
    assert (choice.member, choice.penalty) == (1, 2.0)
    assert choice.path["mean_features"] == [9.0, 4.0, 0.0]
    assert choice.path["loss"][1] < choice.path["loss"][2]
    assert Task(2).row_loss(members[1], y).mean() > Task(2).row_loss(members[2], y).mean()
