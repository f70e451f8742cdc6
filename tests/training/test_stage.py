"""Pieces of the selector's training."""

import pytest
import torch

from sklar.training.folds import deal
from sklar.training.objectives import Task
from sklar.training.predictors import PredictorSettings
from sklar.training.stage import SelectorSettings, Stage, inward_only, shrink_inputs
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
