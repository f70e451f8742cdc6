"""Cross-fitted predictors: they see other folds only, and masks that say nothing about their row."""

from dataclasses import replace

import torch

from sklar.training.best_confidence import losses_at_best_confidence
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors, random_masks, teaching_masks
from sklar.training.honest.settings import PredictorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = PredictorSettings(hidden=8, batch_size=40)


def rows(n=200, d=3, seed=0):
    x = torch.randn(1, n, d, generator=seeded(seed))
    return x, (x[..., 0] > 0).long()


def trained(y_of=lambda folds: folds.y, steps=30):
    x, y = rows()
    folds = deal(x, y, 4, 0.0, seeded())
    folds = replace(folds, y=y_of(folds))
    predictors = FoldPredictors(folds, Task(2), SETTINGS, seeded(1), seed=2)
    predictors.warm_up(steps)
    return predictors


def test_labels_of_a_fold_do_not_reach_its_own_predictor():
    def flip_fold_two(folds):
        y = folds.y.clone()
        y[:, 2] = 1 - y[:, 2]
        return y

    plain, flipped = trained(), trained(flip_fold_two)
    for name, weight in plain.judge.named_parameters():
        other = dict(flipped.judge.named_parameters())[name]
        assert torch.equal(weight[2], other[2])
        assert not torch.equal(weight[1], other[1])


def test_they_learn():
    predictors = trained(steps=300)
    x, y = rows(seed=9)
    shown = torch.ones_like(x)
    assert predictors.held_out_losses(x, shown, y).mean() < 0.3
    assert predictors.held_out_losses(x, 0 * shown, y).mean() > 0.6  # shown nothing, they can only guess


def test_random_masks_have_a_rate_of_their_own_for_every_row():
    rates = random_masks(torch.zeros(1, 2000, 200), seeded()).mean(-1)
    # uniform rates: mean 1/2 with deviation .29 / sqrt(2000) = .0065; 6 deviations
    assert abs(rates.mean() - 0.5) < 0.04
    assert rates.min() < 0.05
    assert rates.max() > 0.95


def test_masks_of_few_among_many_are_common():
    """Log-uniform rates: half of the rows show fewer than sqrt(d) features; uniform rates where k is no small share."""
    few = random_masks(torch.zeros(1, 4000, 400), seeded(), k=10).sum(-1)
    # a share of 1/2, give or take 5 errors (false alarm 6e-7) and the spread of a count around its rate
    assert 0.45 < float((few < 20).float().mean()) < 0.55
    assert float((random_masks(torch.zeros(1, 4000, 400), seeded(), k=100).sum(-1) < 20).float().mean()) < 0.1


def test_teaching_masks_are_those_of_other_rows():
    mask = torch.eye(8).repeat(1, 1, 1, 1)  # row i shows feature i alone
    taught = teaching_masks(mask, torch.ones(1, 1, 1, 8), 0.0, seeded())
    for row in range(0, 8, 2):  # the even rows: the mask of the row before
        assert torch.equal(taught[0, 0, row], mask[0, 0, row - 1])


def test_dead_features_are_never_shown():
    alive = torch.tensor([1.0, 0.0, 1.0]).view(1, 1, 1, 3)
    taught = teaching_masks(torch.ones(1, 2, 50, 3), alive, 0.5, seeded())
    assert (taught[..., 1] == 0).all()
    assert taught[..., 0].mean() > 0.2


def test_pruning_keeps_what_was_learned():
    predictors = trained()
    x, y = rows(seed=9)
    hidden = torch.ones_like(x)
    hidden[..., 1] = 0
    before = predictors.held_out_losses(x, hidden, y)
    columns = torch.tensor([[2, 0]])
    narrow = predictors.only(columns, torch.ones(1, 2, dtype=torch.bool))
    torch.testing.assert_close(narrow.held_out_losses(x[..., [2, 0]], torch.ones(1, 200, 2), y), before)
    torch.testing.assert_close(predictors.held_out_losses(x, hidden, y), before)  # and the others are as they were


def test_training_rows_are_judged_by_the_predictor_of_their_fold():
    predictors = trained()
    x, y = predictors.folds.training
    losses = predictors.out_of_fold_losses(torch.ones_like(x))
    outputs = predictors.judge(x.flatten(0, 1), torch.ones_like(x).flatten(0, 1))
    assert torch.equal(losses.flatten(), Task(2).row_loss(outputs, y.flatten(0, 1)).flatten())
    rows = torch.tensor([3, 7]).expand(1, 4, 2)
    some = predictors.out_of_fold_losses(torch.ones(1, 4, 2, 3), rows)
    torch.testing.assert_close(some.view(4, 2), losses.view(4, -1)[:, [3, 7]])


def test_what_masks_lose_is_told_at_the_best_confidence_of_each_and_of_rows_they_differ_for_alone():
    predictors = trained(steps=300)
    x, y = predictors.folds.training
    before = torch.ones_like(x)
    after = before.clone()
    after[:, :, ::2, 0] = 0
    lost = predictors.lost_by(after, before)
    where = (torch.arange(x.shape[2]) % 2 == 0).expand(x.shape[:3]).flatten(1)
    expected = [
        losses_at_best_confidence(predictors.task, predictors.out_of_fold_outputs(mask), y.flatten(1), where)
        for mask in (after, before)
    ]
    torch.testing.assert_close(lost[where], (expected[0] - expected[1])[where])
    assert (lost[~where] == 0).all()
    assert float(lost.mean()) > 0.01  # the first feature matters
    assert (predictors.lost_by(before, before) == 0).all()
