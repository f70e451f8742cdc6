"""Pieces of the selector's training."""

from dataclasses import replace

import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.folds import deal
from sklar.training.honest import HonestFit
from sklar.training.objectives import Task
from sklar.training.predictors import PredictorSettings
from sklar.training.stage import LEVELS, SelectorSettings, Stage, deviation, inward_only, shrink_inputs
from tests.helpers import seeded

SETTINGS = SelectorSettings(hidden=8, rank=2, predictor=PredictorSettings(hidden=8, batch_size=40))


def stage(settings=SETTINGS, problems=2, n=100, d=4, held=0.2):
    x = torch.randn(problems, n, d, generator=seeded())
    x[..., 1] = 0.9 * x[..., 0] + 0.4 * x[..., 1]
    folds = deal(x, (x[..., 0] > 0).long(), 4, held, seeded())
    return Stage(folds, Task(2), settings, seeded(1), seed=0)


def test_only_inward_pushes_pass_the_bound():
    scores = torch.tensor([3.0, 3.0, -3.0, -3.0, 0.0])
    gradient = torch.tensor([-1.0, 1.0, 1.0, -1.0, -5.0])  # a descent step moves the score against it
    assert inward_only(gradient, scores, 2.5).tolist() == [0.0, 1.0, 0.0, -1.0, -5.0]


def test_shrinking_can_remove_an_input():
    weight = torch.tensor([[[3.0, 4.0], [0.03, 0.04]]])
    shrink_inputs(weight, 1.0)
    torch.testing.assert_close(weight, torch.tensor([[[2.4, 3.2], [0.0, 0.0]]]))


def test_pruning_keeps_the_scores_of_rows_without_the_others():
    whole = stage()
    x = torch.randn(2, 7, 4, generator=seeded(3))
    keep = torch.tensor([[True, False, True, False], [False, True, True, True]])
    x = x * keep[:, None]
    penalty = torch.zeros(2, 1, 1)
    before = whole.scores(x, penalty).detach()
    columns = whole.prune(keep)
    assert columns.shape == (2, 3)
    after = whole.scores(x.gather(2, columns[:, None].expand(2, 7, 3)) * whole.alive[:, None], penalty).detach()
    for problem in range(2):
        inside = columns[problem][whole.alive[problem]]
        torch.testing.assert_close(after[problem][:, whole.alive[problem]], before[problem][:, inside])
        assert (after[problem][:, ~whole.alive[problem]] < -20).all()


def test_problems_do_not_touch_each_other():
    """The weights of one problem get no gradient from another's rows."""
    both = stage()
    both.middle.zero_()
    x, y = both.folds.batch(5, both.folds.n_train, seeded(2))
    both._learn(x, y, torch.tensor([-6.0, -6.0]), torch.tensor([-6.0, -6.0]))
    moved = [p.grad.flatten(1).abs().sum(1) for p in both.selector.parameters()]
    assert all((m > 0).all() for m in moved)
    swapped = stage()
    x2, y2 = x.clone(), y.clone()
    x2[1], y2[1] = 0.0, 1 - y[1]
    swapped._learn(x2, y2, torch.tensor([-6.0, -6.0]), torch.tensor([-6.0, -6.0]))
    for p, q in zip(both.selector.parameters(), swapped.selector.parameters(), strict=True):
        torch.testing.assert_close(p.grad[0], q.grad[0])


@pytest.mark.parametrize("covariance", ["low-rank", "full", "block"])
def test_gates_can_be_correlated(covariance):
    correlated = stage(SelectorSettings(hidden=8, rank=2, covariance=covariance, predictor=SETTINGS.predictor))
    correlated.correlate()
    low = torch.full((2,), -6.0)
    start = correlated.correlation.patterned().detach().clone()
    correlated.select(3, low, low, correlated.folds.n_train)
    assert not torch.equal(correlated.correlation.patterned(), start)
    root = correlated.correlation.root()
    assert (root.square().sum(-1) < 1).all()


def test_exactly_k_features():
    ranker = stage(SelectorSettings(hidden=8, k=2, predictor=SETTINGS.predictor))
    low = torch.zeros(2)
    ranker.select(3, low, low, ranker.folds.n_train)
    assert (ranker.masks(torch.randn(2, 9, 4), low).sum(-1) == 2).all()


def test_one_of_two_copies_is_enough_where_it_costs_nothing():
    """Two exact copies whose gates exclude each other: the second is dropped; where it would cost, both stay."""
    whole = stage(problems=1)
    whole.correlate()
    with torch.no_grad():
        whole.correlation.loadings.zero_()
        whole.correlation.loadings[:, 0, 0], whole.correlation.loadings[:, 1, 0] = 3.0, -3.0
        whole.selector.scores.weight.zero_()
        whole.selector.scores.bias.copy_(torch.tensor([2.0, 1.0, 1.0, -1.0]))
    told = torch.full((1,), -5.0)  # a small price
    whole.out_of_fold_losses = lambda mask: torch.zeros(1, 80)  # nothing costs anything
    whole.exclude_substitutes(told)
    x = whole.folds.training[0].flatten(1, 2)
    assert whole.masks(x, told)[0, 0].tolist() == [1.0, 0.0, 1.0, 0.0]
    whole.out_of_fold_losses = lambda mask: (4 - mask.sum(-1)).flatten(1)  # every feature is worth 1 to every row
    whole.exclude_substitutes(told)
    assert whole.masks(x, told)[0, 0].tolist() == [1.0, 1.0, 1.0, 0.0]


def weighed_stage(level=0.0, **words):
    """One problem of 4 gates, the third of two inputs; the last gate is forced."""
    x = torch.randn(1, 100, 5, generator=seeded())
    gates = Gates.of(4, [0, 1, 2, 2, 3], forced=[3])
    weight = torch.rand(1, 100, generator=seeded(4)) + 0.1
    folds = deal(x, (x[..., 0] > 0).long(), 4, 0.2, seeded(), gates=gates, weight=weight)
    made = Stage(folds, Task(2), replace(SETTINGS, **words), seeded(1), seed=0)
    made.level.fill_(level)
    return made, x


@pytest.mark.parametrize("min_features", [0, 2])
def test_a_level_leaves_forced_gates_and_the_least_number_of_features(min_features):
    high, x = weighed_stage(level=100.0, min_features=min_features)
    masks = high.masks(x, torch.zeros(1))
    assert masks.shape == (1, 100, 4)
    assert masks[..., 3].all()
    assert (masks.sum(-1) == max(1, min_features)).all()


def test_the_level_is_that_of_the_least_weighted_loss_and_the_model_has_it():
    made, x = weighed_stage()
    made.predictors.warm_up(60, made.alive[:, None, None])
    with torch.no_grad():
        made.selector.scores.weight.normal_(generator=seeded(8))
    penalty, rows = torch.zeros(1), made.folds.training[0]
    made.choose_level(penalty)
    scores = made.scores(rows.flatten(1, 2), penalty[:, None, None])
    weight, losses = made.folds.training_weight, []
    for level in LEVELS:
        loss = made.out_of_fold_losses((scores > level).float().view(*rows.shape[:3], 4))
        losses.append(float((loss * weight).sum() / weight.sum()))
    assert float(made.level) == LEVELS[losses.index(min(losses))]
    made.level.fill_(0.5)
    model = HonestFit(made, torch.arange(4)[None], penalty, [None], [[]]).model()
    with torch.no_grad():
        found = model.decide(model.scores(x))
    assert torch.equal(found.float(), made.masks(x, penalty))
    assert found[..., 3].all()
    assert 0 < found[..., :3].float().mean() < 1


def test_the_spread_of_the_loss_is_that_of_repeated_rows():
    values, times = torch.randn(1, 30, generator=seeded()), torch.arange(30) % 3 + 1
    repeated = values[0].repeat_interleave(times)
    torch.testing.assert_close(deviation(values, times[None].float()), repeated.std(correction=0)[None])
    torch.testing.assert_close(deviation(values, None), values.std(1))
