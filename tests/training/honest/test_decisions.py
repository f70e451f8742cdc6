"""What rows judged out of fold decide: the level of the scores, and which substitutes are enough."""

from dataclasses import replace

import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.honest.decisions import LEVELS, USUAL_LEVEL, choose_level, exclude_substitutes, shut_useless
from sklar.training.honest.fit import HonestFit
from tests.helpers import seeded
from tests.training.stages import SETTINGS, small_stage, weighed_stage


def test_one_of_two_copies_is_enough_where_it_costs_nothing():
    """Two exact copies whose gates exclude each other: the second is dropped; where it would cost, both stay."""
    whole = small_stage(problems=1)
    whole.correlate()
    with torch.no_grad():
        whole.correlation.loadings.zero_()
        whole.correlation.loadings[:, 0, 0], whole.correlation.loadings[:, 1, 0] = 3.0, -3.0
        whole.selector.scores.weight.zero_()
        whole.selector.scores.bias.copy_(torch.tensor([2.0, 1.0, 1.0, -1.0]))
    told = torch.full((1,), -5.0)  # a small price
    whole.out_of_fold_losses = lambda mask: torch.zeros(1, 80)  # nothing costs anything
    exclude_substitutes(whole, told)
    x = whole.folds.training[0].flatten(1, 2)
    assert whole.masks(x, told)[0, 0].tolist() == [1.0, 0.0, 1.0, 0.0]
    whole.out_of_fold_losses = lambda mask: (4 - mask.sum(-1)).flatten(1)  # every feature is worth 1 to every row
    exclude_substitutes(whole, told)
    assert whole.masks(x, told)[0, 0].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_groups_of_substitutes_are_judged_apart():
    """Of 0 and 1 one is enough, of 2 and 3 not, or the other way round: one group is thinned, one is not."""
    whole = small_stage(problems=2)
    whole.correlate()
    with torch.no_grad():
        whole.correlation.loadings.zero_()
        whole.correlation.loadings[:, 0, 0], whole.correlation.loadings[:, 1, 0] = 3.0, -3.0
        whole.correlation.loadings[:, 2, 1], whole.correlation.loadings[:, 3, 1] = 3.0, -3.0
        whole.selector.scores.weight.zero_()
        whole.selector.scores.bias.copy_(torch.tensor([2.0, 1.0, 2.0, 1.0]).expand(2, 1, 4))
    told = torch.full((2,), -5.0)
    needed = torch.tensor([[0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]])  # what a row loses without, by problem

    whole.out_of_fold_losses = lambda mask: ((1 - mask) * needed[:, None, None]).sum(-1).flatten(1)
    exclude_substitutes(whole, told)
    masks = whole.masks(whole.folds.training[0].flatten(1, 2), told)
    assert masks[:, 0].tolist() == [[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]]


def stage_that_selects_all(**words):
    """Every gate is open for every row; features 0 and 1 are correlated at .9."""
    whole = small_stage(**words)
    with torch.no_grad():
        whole.selector.scores.weight.zero_()
        whole.selector.scores.bias.fill_(1.0)
    return whole


def test_features_that_gain_nothing_are_shut_and_stand_ins_are_not():
    """One of 0 and 1 is needed, and 2 in one problem, 3 in the other: each problem loses what it does not need."""
    whole, told = stage_that_selects_all(), torch.full((2,), -5.0)
    needed = torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])

    def losses(mask, rows):
        neither = (1 - mask[..., 0]) * (1 - mask[..., 1])
        return (neither + ((1 - mask) * needed[:, None, None]).sum(-1)).flatten(1)

    whole.out_of_fold_losses = losses
    shut_useless(whole, told, 1.0)
    masks = whole.masks(whole.folds.training[0].flatten(1, 2), told)
    assert masks[:, 0].tolist() == [[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]]
    assert torch.equal(masks, masks[:, :1].expand_as(masks))


def test_forced_features_stay_though_they_gain_nothing():
    whole, told = stage_that_selects_all(problems=1), torch.full((1,), -3.0)
    whole.folds = replace(whole.folds, gates=Gates.of(4, None, forced=[2]))
    worth = torch.tensor([0.1, 0.1, 0.0, 0.0])  # what each is worth to a row
    whole.out_of_fold_losses = lambda mask, rows: ((1 - mask) * worth).sum(-1).flatten(1)
    shut_useless(whole, told, 1.0)
    masks = whole.masks(whole.folds.training[0].flatten(1, 2), told)
    assert masks[0, 0].tolist() == [1.0, 1.0, 1.0, 0.0]


def test_a_feature_of_some_rows_is_judged_by_all_of_those_and_no_others():
    """Gates that open for some rows: what is shut is what a loop over features finds that asks about every row."""
    whole, told = small_stage(n=400), torch.full((2,), -4.0)
    whole.predictors.warm_up(60, whole.alive[:, None, None])
    with torch.no_grad():
        whole.selector.scores.weight.normal_(generator=seeded(3))
    x = whole.folds.training[0]
    mask = whole.masks(x.flatten(1, 2), told).view_as(x)
    before, shut = whole.selector.scores.bias.clone(), torch.zeros(2, 4, dtype=torch.bool)
    assert 0 < mask.mean() < 1
    for i, other in ((0, 1), (1, 0), (2, 2), (3, 3)):  # 0 and 1 stand in for each other
        alone = mask.clone()
        alone[..., other] = alone[..., other] if other == i else 0.0
        without = alone.clone()
        without[..., i] = 0.0
        gain = whole.out_of_fold_losses(without) - whole.out_of_fold_losses(alone)
        shut[:, i] = gain.mean(1) < gain.std(1) / gain.shape[1] ** 0.5
    shut_useless(whole, told, 1.0)
    assert torch.equal((whole.selector.scores.bias != before)[:, 0], shut)
    assert shut.any()
    assert not shut.all()


def test_where_a_row_is_to_get_some_features_none_is_shut():
    whole, told = stage_that_selects_all(settings=replace(SETTINGS, min_features=2)), torch.full((2,), -5.0)
    whole.out_of_fold_losses = lambda mask: torch.zeros(2, 80)
    shut_useless(whole, told, 1.0)
    assert whole.masks(whole.folds.training[0].flatten(1, 2), told).all()


@pytest.mark.parametrize(("spread", "plenty"), [(1.0, 1.0), (0.1, 1.0), (0.1, 0.5), (0.1, 0.0)])
def test_the_level_is_the_nearest_to_the_usual_of_those_near_the_best(spread, plenty):
    """By a loop over the levels, with weighted means and errors of paired differences."""
    made, _ = weighed_stage()
    made.predictors.warm_up(60, made.alive[:, None, None])
    with torch.no_grad():
        made.selector.scores.weight.normal_(std=spread, generator=seeded(8))
    penalty, rows = torch.zeros(1), made.folds.training[0]
    choose_level(made, penalty, plenty)
    scores = made.scores(rows.flatten(1, 2), penalty[:, None, None])
    share = (made.folds.training_weight / made.folds.training_weight.sum())[0]
    losses = [made.out_of_fold_losses((scores > level).float().view(*rows.shape[:3], 4))[0] for level in LEVELS]
    best = min(losses, key=lambda loss: float((loss * share).sum()))
    near = []
    for level, loss in zip(LEVELS, losses, strict=True):
        more = float(((loss - best) * share).sum())
        error = float(((loss - best - more) * share).square().sum().sqrt())
        if more <= plenty * error:
            near.append(level)
    assert len(near) > 1 or spread == 1
    assert float(made.level) == min(near, key=lambda level: abs(level - plenty * USUAL_LEVEL))


def test_the_model_has_the_level_and_gates_as_sharp_as_at_the_end():
    made, x = weighed_stage()
    with torch.no_grad():
        made.selector.scores.weight.normal_(generator=seeded(8))
    penalty = torch.zeros(1)
    made.level.fill_(0.5)
    made.sharpness.fill_(2.0)
    model = HonestFit(made, torch.arange(4)[None], penalty, [None], [[]]).model()
    with torch.no_grad():
        found, told = model.decide(model.scores(x)), made.scores(x, penalty[:, None, None])
    torch.testing.assert_close(model.scores(x)[..., :3], 2 * (told[..., :3] - 0.5))
    assert torch.equal(found.float(), made.masks(x, penalty))
    assert found[..., 3].all()
    assert 0 < found[..., :3].float().mean() < 1
