"""Of which features one is enough for a row, by what rows judged out of fold lose."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sklar.training.honest.decisions import training_masks
from sklar.training.honest.settings import DecisionSettings
from sklar.training.honest.substitutes import find_substitutes, joined, some_lose
from tests.helpers import seeded
from tests.training.small import SETTINGS, small_parts, undecided, with_scores

DECISIONS = DecisionSettings()
CORRELATED = replace(SETTINGS, covariance="low-rank")


def with_loadings(selector, pairs):
    """Gates of each pair of features exclude each other, by a factor of their own."""
    with torch.no_grad():
        selector.correlation.loadings.zero_()
        for factor, (i, j) in enumerate(pairs):
            selector.correlation.loadings[:, i, factor], selector.correlation.loadings[:, j, factor] = 3.0, -3.0


def masks_of(selector, predictors, log_penalty):
    """The masks with substitutes decided; rows lose nothing but what `predictors` are made to say."""
    nothing = undecided(selector)
    found = find_substitutes(selector, predictors, log_penalty, nothing, DECISIONS)
    return training_masks(selector, predictors, log_penalty, nothing._replace(substitutes=found))


def losing(predictors, needed):
    """Every row loses `needed` (P, 4) without a feature, and 1 besides."""
    of_rows = lambda mask, rows=None: (1 + ((1 - mask) * needed[:, None, None]).sum(-1)).flatten(1)  # noqa: E731
    predictors.out_of_fold_losses = of_rows
    predictors.lost_by = lambda after, before: of_rows(after) - of_rows(before)


def test_one_of_two_copies_is_enough_where_it_costs_nothing():
    """Two exact copies whose gates exclude each other: the second is dropped; where it would cost, both stay."""
    selector, predictors = small_parts(CORRELATED, problems=1)
    with_loadings(selector, [(0, 1)])
    with_scores(selector, 2.0, 1.0, 1.0, -1.0)
    penalty = torch.full((1,), -5.0)  # a small price
    losing(predictors, torch.zeros(1, 4))
    assert masks_of(selector, predictors, penalty)[0, 0, 0].tolist() == [1.0, 0.0, 1.0, 0.0]
    losing(predictors, torch.ones(1, 4))
    assert masks_of(selector, predictors, penalty)[0, 0, 0].tolist() == [1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(("without", "enough"), [("half as sure", True), ("less right", False)])
def test_a_copy_is_given_up_where_one_alone_is_as_right_and_not_as_sure(without, enough):
    """Shown one of two, predictors say half of what they say with both, or are wrong about a tenth of the rows more.

    The raw loss rises by about as much in both cases, and by more than the limit.
    """
    selector, predictors = small_parts(CORRELATED, problems=1)
    with_loadings(selector, [(0, 1)])
    with_scores(selector, 2.0, 1.0, 1.0, -1.0)
    y = (torch.arange(predictors.folds.y.numel()) % 2).view_as(predictors.folds.y)
    predictors.folds = replace(predictors.folds, y=y)
    target = predictors.folds.training[1].flatten(1)
    number = torch.arange(target.shape[1])
    sign = (2.0 * target - 1) * torch.where(number // 2 % 10 == 0, -1, 1)  # right about nine of ten
    other = sign * torch.where(number // 2 % 10 == 1, -1, 1)  # about eight

    def outputs(mask, rows=None):
        alone = mask[..., 1].flatten(1) == 0
        said = torch.where(alone, sign if without == "half as sure" else other, sign)
        said = said * torch.where(alone & (without == "half as sure"), 1.1, 2.2)
        return torch.stack([-said / 2, said / 2], dim=-1)

    predictors.out_of_fold_outputs = outputs
    predictors.out_of_fold_losses = lambda mask, rows=None: predictors.task.row_loss(outputs(mask), target)
    both = torch.ones(*predictors.folds.training[0].shape[:3], 4)
    alone = both.clone()
    alone[..., 1] = 0
    raw = (predictors.out_of_fold_losses(alone) - predictors.out_of_fold_losses(both)).mean()
    assert raw > 0.05
    shown = masks_of(selector, predictors, torch.full((1,), -5.0))[0, 0, 0]
    assert shown.tolist() == ([1.0, 0.0, 1.0, 0.0] if enough else [1.0, 1.0, 1.0, 0.0])


def test_a_loss_below_the_price_is_no_loss():
    selector, predictors = small_parts(CORRELATED, problems=1)
    with_loadings(selector, [(0, 1)])
    with_scores(selector, 2.0, 1.0, 1.0, -1.0)
    losing(predictors, torch.full((1, 4), 0.09))
    shown = {price: masks_of(selector, predictors, torch.tensor([price]).log())[0, 0, 0, 1] for price in (0.08, 0.1)}
    assert shown == {0.08: 1.0, 0.1: 0.0}


def test_groups_of_substitutes_are_judged_apart():
    """Of 0 and 1 one is enough, of 2 and 3 not, or the other way round: one group is thinned, one is not."""
    selector, predictors = small_parts(CORRELATED)
    with_loadings(selector, [(0, 1), (2, 3)])
    with_scores(selector, 2.0, 1.0, 2.0, 1.0)
    losing(predictors, torch.tensor([[0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]]))
    masks = masks_of(selector, predictors, torch.full((2,), -5.0))
    assert masks[:, 0, 0].tolist() == [[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]]


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(("lost", "enough"), [(0.0001, (True, True)), (0.0006, (True, False)), (0.006, (False, False))])
def test_where_gates_are_not_apart_values_that_are_alike_must_save_what_they_lose(apart, lost, enough):
    """The price is .0002, and the unit .3 of the loss of 1; 0 and 1 are correlated at .9, 2 and 3 are not."""
    selector, predictors = small_parts(CORRELATED, problems=1)
    with_loadings(selector, [(0, 1)] if apart else [])
    with_scores(selector, 2.0, 1.0, 1.0, 1.0)
    losing(predictors, torch.full((1, 4), lost))
    penalty = torch.tensor([0.0002]).log()
    found = find_substitutes(selector, predictors, penalty, undecided(selector), DECISIONS)
    does = enough[0] if apart else enough[1]
    assert found.nonzero().tolist() == ([[0, 0, 1], [0, 1, 0]] if does else [])


@pytest.mark.parametrize(
    ("needed", "shown"), [([0.0, 0.0, 0.1, 0.0], [1, 0, 1, 0]), ([0.0, 0.1, 0.0, 0.0], [1, 1, 0, 0])]
)
def test_a_ranker_gives_the_place_of_a_substitute_to_the_next_best(needed, shown):
    """Two places: 0 and 1 exclude each other and have the largest scores; rows are better with 2, or with 1."""
    selector, predictors = small_parts(replace(CORRELATED, k=2), problems=1)
    with_loadings(selector, [(0, 1)])
    with_scores(selector, 2.0, 1.0, 0.5, -1.0)
    losing(predictors, torch.tensor([needed]))
    assert masks_of(selector, predictors, torch.zeros(1))[0, 0, 0].tolist() == shown


@pytest.mark.parametrize(("apart", "enough"), [(True, True), (False, False)])
def test_a_ranker_gives_up_what_may_be_as_good_where_gates_exclude_each_other_alone(apart, enough):
    """Rows lose half a standard error; 0 and 1 are correlated at .9, and their gates may exclude each other."""
    selector, predictors = small_parts(replace(CORRELATED, k=2), problems=1)
    with_loadings(selector, [(0, 1)] if apart else [])
    with_scores(selector, 2.0, 1.0, 0.5, -1.0)
    chance = torch.randn(predictors.folds.training[0][0, ..., 0].numel(), generator=seeded())
    chance = (chance - chance.mean()) / chance.std() + 0.5 / len(chance) ** 0.5
    predictors.out_of_fold_losses = lambda mask, rows=None: 1 + 1e-3 * (1 - mask[..., 1].flatten(1)) * chance
    found = find_substitutes(selector, predictors, torch.zeros(1), undecided(selector), DECISIONS)
    assert bool(found.any()) == enough


def test_of_a_ranker_only_pairs_that_rows_get_both_of_are_judged():
    selector, predictors = small_parts(replace(CORRELATED, k=2), problems=1)
    with_loadings(selector, [(0, 1)])
    with_scores(selector, 2.0, -1.0, 1.0, 0.0)
    losing(predictors, torch.zeros(1, 4))
    assert not find_substitutes(selector, predictors, torch.zeros(1), undecided(selector), DECISIONS).any()


def test_a_group_that_is_joined_is_whole():
    groups = joined(joined(torch.zeros(1, 5, 5, dtype=torch.bool), 0, 1), 1, 4)[0]
    assert sorted(map(tuple, groups.nonzero().tolist())) == [(0, 1), (0, 4), (1, 0), (1, 4), (4, 0), (4, 1)]


@pytest.mark.parametrize(("some", "loses"), [(0.5, True), (0.0, False), (-0.5, False)])
def test_a_kind_of_rows_that_loses_is_found_behind_rows_that_gain(some, loses):
    """A quarter of the rows loses what the others gain. False alarms: 4 leaves at 3 errors, below 1 in 150."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, 3))
    kind = (x[:, 0] > 0) & (x[:, 2] > 0)
    lost = np.where(kind, some, -0.3) + 0.5 * rng.standard_normal(1000)
    assert some_lose(x, lost, DECISIONS) == loses
    assert not some_lose(x[:199], np.ones(199), DECISIONS)  # too few to be kinds
