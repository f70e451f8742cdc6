"""Pieces of the selector's training."""

import pytest
import torch

from sklar.training.engine.runtime import threads_for
from sklar.training.honest.selector import draw, inward_only, learn, train_selector
from sklar.training.honest.stage import SelectorSettings
from tests.helpers import seeded, threads
from tests.training.stages import SETTINGS, small_stage


def test_only_inward_pushes_pass_the_bound():
    scores = torch.tensor([3.0, 3.0, -3.0, -3.0, 0.0])
    gradient = torch.tensor([-1.0, 1.0, 1.0, -1.0, -5.0])  # a descent step moves the score against it
    assert inward_only(gradient, scores, 2.5).tolist() == [0.0, 1.0, 0.0, -1.0, -5.0]


def test_problems_do_not_touch_each_other():
    """The weights of one problem get no gradient from another's rows."""
    both = small_stage()
    both.middle.zero_()
    x, y = both.folds.batch(5, both.folds.n_train, seeded(2))
    learn(both, draw(both, x, y, torch.tensor([-6.0, -6.0]), torch.tensor([-6.0, -6.0])))
    moved = [p.grad.flatten(1).abs().sum(1) for p in both.selector.parameters()]
    assert all((m > 0).all() for m in moved)
    swapped = small_stage()
    x2, y2 = x.clone(), y.clone()
    x2[1], y2[1] = 0.0, 1 - y[1]
    learn(swapped, draw(swapped, x2, y2, torch.tensor([-6.0, -6.0]), torch.tensor([-6.0, -6.0])))
    for p, q in zip(both.selector.parameters(), swapped.selector.parameters(), strict=True):
        torch.testing.assert_close(p.grad[0], q.grad[0])


@pytest.mark.parametrize("covariance", ["low-rank", "full", "block"])
def test_gates_can_be_correlated(covariance):
    correlated = small_stage(
        SelectorSettings(hidden=8, n_factors=2, covariance=covariance, predictor=SETTINGS.predictor)
    )
    correlated.correlate()
    low = torch.full((2,), -6.0)
    start = correlated.correlation.patterned().detach().clone()
    train_selector(correlated, 3, low, low, correlated.folds.n_train)
    assert not torch.equal(correlated.correlation.patterned(), start)
    root = correlated.correlation.root()
    assert (root.square().sum(-1) < 1).all()


def test_gates_sharpen_over_the_first_half():
    """Drawn with scores twice as far from 0, a gate at 1.5 is open in 95% of the draws instead of 82%."""
    sharp = small_stage()
    seen = []
    low = torch.full((2,), -6.0)
    train_selector(sharp, 8, low, low, sharp.folds.n_train, lambda: seen.append(float(sharp.sharpness)), sharpest=2.0)
    assert seen == [1.0, 1.25, 1.5, 1.75, 2.0, 2.0, 2.0, 2.0]
    with torch.no_grad():
        sharp.selector.scores.weight.zero_()
        sharp.selector.scores.bias.fill_(1.5)
    x, y = sharp.folds.batch(sharp.folds.n_train, sharp.folds.n_train, seeded(2))
    shares = []
    for sharpness in (1.0, 2.0):
        sharp.sharpness.fill_(sharpness)
        shares.append(float(torch.cat([draw(sharp, x, y, low, low).mask.flatten() for _ in range(10)]).mean()))
    # 6,400 gates: an error of at most .005; 5 errors, false alarm below 1e-6
    torch.testing.assert_close(torch.tensor(shares), torch.sigmoid(torch.tensor([1.5, 3.0])), rtol=0, atol=0.025)


@pytest.mark.parametrize("k", [None, 2])
def test_a_second_thread_changes_nothing(k):
    """Predictors that learn beside the selector, and those that learn before it, end with the same weights."""
    low, trained = torch.full((2,), -6.0), []
    for n in (1, 2):
        with threads(n):
            stage = small_stage(SelectorSettings(hidden=8, k=k, predictor=SETTINGS.predictor))
            with threads_for(4):
                train_selector(stage, 20, low, low, stage.folds.n_train)
        assert (stage.meanwhile.pool is not None) == (n == 2)
        trained.append([*stage.selector.parameters(), *stage.predictors.judge.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*trained, strict=True))


def test_exactly_k_features():
    ranker = small_stage(SelectorSettings(hidden=8, k=2, predictor=SETTINGS.predictor))
    low = torch.zeros(2)
    train_selector(ranker, 3, low, low, ranker.folds.n_train)
    assert (ranker.masks(torch.randn(2, 9, 4), low).sum(-1) == 2).all()
