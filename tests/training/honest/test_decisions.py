"""What rows judged out of fold decide: the threshold of the scores, and which features are worth their price."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import one_hot

from sklar.training.honest.decisions import (
    choose_threshold,
    deviation,
    find_useless,
    mean_and_error,
    training_masks,
)
from sklar.training.honest.settings import DecisionSettings
from tests.helpers import seeded
from tests.training.small import SETTINGS, small_parts, undecided, weighed_parts, with_scores

DECISIONS = DecisionSettings()


def test_weighted_means_and_errors_are_those_of_repeated_rows():
    values = torch.randn(1, 30, generator=seeded())
    times = torch.arange(30) % 3 + 1
    mean, _ = mean_and_error(values, times[None].float())
    assert float(mean) == pytest.approx(float(values[0].repeat_interleave(times).mean()), rel=1e-5)
    _, error = mean_and_error(values, torch.ones(1, 30))
    assert float(error) == pytest.approx(float(values.std(correction=0)) / 30**0.5, rel=1e-5)


def test_the_spread_of_the_loss_is_that_of_repeated_rows():
    values, times = torch.randn(1, 30, generator=seeded()), torch.arange(30) % 3 + 1
    repeated = values[0].repeat_interleave(times)
    torch.testing.assert_close(deviation(values, times[None].float()), repeated.std(correction=0)[None])
    torch.testing.assert_close(deviation(values, None), values.std(1))


def useless(selector, predictors, log_penalty, errors=1.0):
    return find_useless(selector, predictors, log_penalty, undecided(selector), errors, DECISIONS.stand_in)


def masks_without(selector, predictors, log_penalty, shut):
    return training_masks(selector, predictors, log_penalty, undecided(selector)._replace(shut=shut))


def told_by(predictors, evidence):
    """Predictors whose logits are right by the evidence (P, F, n) that masks hold."""

    def outputs(mask, rows):
        _, y = predictors.training_rows(rows)
        return (one_hot(y, 2) * evidence(mask).unsqueeze(-1)).flatten(1, 2)

    predictors.out_of_fold_outputs = outputs


def test_features_that_say_nothing_are_shut_and_stand_ins_are_not():
    """One of 0 and 1 is needed, and 2 in one problem, 3 in the other: each problem loses what it does not need."""
    (selector, predictors), penalty = small_parts(), torch.full((2,), -5.0)
    with_scores(selector, 1.0, 1.0, 1.0, 1.0)
    needed = torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])

    def evidence(mask):
        either = 1 - (1 - mask[..., 0]) * (1 - mask[..., 1])
        return either + (mask * needed[:, None, None]).sum(-1)

    told_by(predictors, evidence)
    masks = masks_without(selector, predictors, penalty, useless(selector, predictors, penalty)).flatten(1, 2)
    assert masks[:, 0].tolist() == [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]]
    assert torch.equal(masks, masks[:, :1].expand_as(masks))


def test_forced_features_stay_though_they_say_nothing():
    (selector, predictors), penalty = small_parts(problems=1), torch.full((1,), -3.0)
    with_scores(selector, 1.0, 1.0, 1.0, 1.0)
    selector = replace(selector, forced=torch.tensor([False, False, True, False]))
    told_by(predictors, lambda mask: mask[..., :2].sum(-1))
    masks = masks_without(selector, predictors, penalty, useless(selector, predictors, penalty))
    assert masks[0, 0, 0].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_a_weak_feature_that_predictors_are_too_sure_of_stays():
    """Its log-odds are .3 and they say 1: it gains nothing by the loss, and is true by its score."""
    (selector, predictors), penalty = small_parts(problems=1, n=8000), torch.full((1,), -5.0)
    with_scores(selector, 1.0, 1.0, 1.0, 1.0)
    x, y = predictors.folds.training
    side = (x[..., 2] > 0).to(x.dtype) * 2 - 1
    odds = torch.sigmoid(0.3 * side)
    y.copy_((torch.rand(y.shape, generator=seeded(5)) < odds).long())

    def outputs(mask, rows):
        of_row = side if rows is None else side.gather(2, rows)
        said = mask[..., 2] * of_row
        return torch.stack([torch.zeros_like(said), said], -1).flatten(1, 2)

    predictors.out_of_fold_outputs = outputs
    every, hidden = torch.ones_like(x), torch.ones_like(x)
    hidden[..., 2] = 0
    loss = [predictors.task.row_loss(outputs(mask, None), y.flatten(1)).mean() for mask in (every, hidden)]
    assert loss[0] > loss[1]
    assert useless(selector, predictors, penalty, errors=5.0).tolist() == [[True, True, False, True]]


def test_a_feature_of_some_rows_is_judged_by_all_of_those_and_no_others():
    """Gates that open for some rows: what is shut is what a loop over features finds that asks about every row."""
    (selector, predictors), penalty = small_parts(n=400), torch.full((2,), -4.0)
    predictors.warm_up(60)
    with torch.no_grad():
        selector.network.scores.weight.normal_(generator=seeded(3))
    mask = training_masks(selector, predictors, penalty, undecided(selector))
    shut = torch.zeros(2, 4, dtype=torch.bool)
    assert 0 < mask.mean() < 1
    for i, other in ((0, 1), (1, 0), (2, 2), (3, 3)):  # 0 and 1 stand in for each other
        alone = mask.clone()
        alone[..., other] = alone[..., other] if other == i else 0.0
        without = alone.clone()
        without[..., i] = 0.0
        before, after = (predictors.out_of_fold_outputs(shown) for shown in (without, alone))
        y, gets = predictors.folds.training[1].flatten(1), mask[..., i].flatten(1)
        change = (after - before).diff(dim=-1).squeeze(-1)
        mean = (change * gets).sum(1, keepdim=True) / gets.sum(1, keepdim=True)
        score = (y - before.softmax(-1)[..., 1]) * (change - mean) * gets
        shut[:, i] = score.mean(1) < score.std(1) / score.shape[1] ** 0.5
    assert torch.equal(useless(selector, predictors, penalty), shut)
    assert shut.any()
    assert not shut.all()


def test_where_a_row_is_to_get_some_features_none_is_shut():
    (selector, predictors), penalty = small_parts(replace(SETTINGS, min_features=2)), torch.full((2,), -5.0)
    with_scores(selector, 1.0, 1.0, 1.0, 1.0)
    told_by(predictors, lambda mask: 0 * mask[..., 0])
    shut = useless(selector, predictors, penalty)
    assert not shut.any()
    assert masks_without(selector, predictors, penalty, shut).all()


@pytest.mark.parametrize(("spread", "sufficiency"), [(1.0, 1.0), (0.1, 1.0), (0.1, 0.5), (0.1, 0.0)])
def test_the_threshold_is_the_nearest_to_the_usual_of_those_near_the_best(spread, sufficiency):
    """By a loop over the thresholds, with weighted means and errors of paired differences."""
    selector, predictors, _ = weighed_parts()
    predictors.warm_up(60)
    with torch.no_grad():
        selector.network.scores.weight.normal_(std=spread, generator=seeded(8))
    penalty, rows = torch.zeros(1), predictors.folds.training[0]
    chosen = choose_threshold(selector, predictors, penalty, DECISIONS, sufficiency)
    scores = selector.scores(rows.flatten(1, 2), penalty[:, None, None])
    share = (predictors.folds.training_weight / predictors.folds.training_weight.sum())[0]
    thresholds = DECISIONS.score_thresholds
    losses = [
        predictors.out_of_fold_losses((scores > threshold).float().view(*rows.shape[:3], 4))[0]
        for threshold in thresholds
    ]
    best = min(losses, key=lambda loss: float((loss * share).sum()))
    near = []
    for threshold, loss in zip(thresholds, losses, strict=True):
        more = float(((loss - best) * share).sum())
        error = float(((loss - best - more) * share).square().sum().sqrt())
        if more <= sufficiency * error:
            near.append(threshold)
    assert len(near) > 1 or spread == 1
    assert float(chosen) == min(near, key=lambda each: abs(each - sufficiency * DECISIONS.usual_threshold))
