"""Pieces of the selector's training."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from sklar.model.covariance import LowRank
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import threads_for
from sklar.training.honest import selector as selector_module
from sklar.training.honest.scoring import PenaltyRange
from sklar.training.honest.selector import train_selector
from sklar.training.honest.settings import SelectorSettings
from tests.helpers import seeded, threads
from tests.training.small import SETTINGS, small_parts, training_of, undecided


def at(log_penalty, problems=2):
    price = torch.full((problems,), float(log_penalty))
    return PenaltyRange(price, price)


def gradients_of_a_step(parts, x, y, monkeypatch):
    """Of the selector's weights, from one step on given rows."""
    training = training_of(*parts)
    monkeypatch.setattr(type(training.folds), "batch", lambda *_: (x, y))
    monkeypatch.setattr(training, "update_network", lambda: None)  # keep the gradients
    training.step()
    return [p.grad for p in training.selector.network.parameters()]


def test_problems_do_not_touch_each_other(monkeypatch):
    """The weights of one problem get no gradient from another's rows."""
    x, y = small_parts()[1].folds.batch(5, 20, seeded(2))
    both = gradients_of_a_step(small_parts(), x, y, monkeypatch)
    assert all((gradient.flatten(1).abs().sum(1) > 0).all() for gradient in both)
    x2, y2 = x.clone(), y.clone()
    x2[1], y2[1] = 0.0, 1 - y[1]
    swapped = gradients_of_a_step(small_parts(), x2, y2, monkeypatch)
    for p, q in zip(both, swapped, strict=True):
        torch.testing.assert_close(p[0], q[0])
    assert not torch.equal(both[0][1], swapped[0][1])


@pytest.mark.parametrize("covariance", ["low-rank", "full", "block"])
def test_gates_can_be_correlated(covariance):
    """L learns where it may, stays 0 between blocks, and gates are drawn with the correlation that was learned."""
    selector, predictors = small_parts(SelectorSettings(hidden=8, n_factors=2, covariance=covariance))
    start = selector.correlation.patterned().detach().clone()
    trained = train_selector(selector, predictors, at(-6), 30, predictors.folds.n_train)
    after = trained.correlation.patterned().detach()
    free = torch.ones_like(start, dtype=torch.bool)
    if covariance == "block":
        blocks = torch.block_diag(torch.ones(2, 2), torch.ones(1), torch.ones(1)).bool()
        assert torch.equal(selector.correlation.pattern[0].bool(), blocks)
        free[..., 2:], free[..., 2:, :] = False, False  # gates alone in their blocks have nothing to learn
    assert (after[free] != start[free]).all()
    assert torch.equal(after[~free], start[~free])
    before, learned = (LowRank(loadings, torch.ones(4)).correlation() for loadings in (start, after))
    assert ((learned - before).abs().amax((1, 2)) > 1e-3).all()
    x, y = predictors.folds.batch(5, 20, seeded(2))
    drawn = training_of(trained, predictors).draw(x, y).trial.draw  # with that correlation, in all four folds
    torch.testing.assert_close(drawn.latents.correlation, learned.repeat_interleave(4, 0))
    assert torch.equal(selector.correlation.patterned(), start)  # what it began from is not changed


def test_gates_sharpen_over_the_first_half(monkeypatch):
    """Drawn with scores twice as far from 0, a gate at 1.5 is open in 95% of the draws instead of 82%."""
    selector, predictors = small_parts()
    seen, made = [], []
    init = selector_module.SelectorTraining.__init__
    monkeypatch.setattr(
        selector_module.SelectorTraining, "__init__", lambda self, *args: (made.append(self), init(self, *args))[1]
    )
    bar = SimpleNamespace(skip=lambda n: None, update=lambda: seen.append(float(made[0].sharpness)))
    trained = train_selector(
        selector,
        predictors,
        at(-6),
        8,
        predictors.folds.n_train,
        Run(bar),
        sharpest=2.0,
    )
    assert seen[1:] == [1.0, 1.25, 1.5, 1.75, 2.0, 2.0, 2.0]  # a bar hears of a step before it is made
    assert (selector.sharpness, trained.sharpness) == (1.0, 2.0)
    training = training_of(selector, predictors)
    with torch.no_grad():
        training.selector.network.scores.weight.zero_()
        training.selector.network.scores.bias.fill_(1.5)
    x, y = predictors.folds.batch(predictors.folds.n_train, predictors.folds.n_train, seeded(2))
    shares = []
    for sharpness in (1.0, 2.0):
        training.sharpness.fill_(sharpness)
        masks = [training.draw(x, y).trial.draw.mask.flatten() for _ in range(10)]
        shares.append(float(torch.cat(masks).mean()))
    # 6,400 gates: an error of at most .005; 5 errors, false alarm below 1e-6
    torch.testing.assert_close(torch.tensor(shares), torch.sigmoid(torch.tensor([1.5, 3.0])), rtol=0, atol=0.025)


@pytest.mark.parametrize("k", [None, 2])
def test_a_second_thread_changes_nothing(k):
    """Predictors that learn beside the selector, and those that learn before it, end with the same weights."""
    ends = []
    for n in (1, 2):
        with threads(n):
            selector, predictors = small_parts(SelectorSettings(hidden=8, k=k))
            with threads_for(4):
                trained = train_selector(selector, predictors, at(-6), 20, predictors.folds.n_train)
        assert predictors.beside.threaded == (n == 2)
        ends.append([*trained.network.parameters(), *predictors.judge.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))


def test_copies_of_predictors_learn_in_a_thread_too():
    """A fit copies them for every strength, after torch was given one thread."""
    with threads(2):
        _, predictors = small_parts()
        with threads_for(4):
            assert predictors.copied().beside.threaded
            assert predictors.copied().beside is not predictors.beside


def test_exactly_k_features():
    selector, predictors = small_parts(replace(SETTINGS, k=2))
    ranker = train_selector(selector, predictors, at(0), 3, predictors.folds.n_train)
    assert (
        ranker.masks(torch.randn(2, 9, 4, generator=seeded()), torch.zeros(2), undecided(ranker)).sum(-1) == 2
    ).all()


def test_the_selector_that_training_begins_from_is_not_changed():
    selector, predictors = small_parts()
    before = {key: value.clone() for key, value in selector.network.state_dict().items()}
    trained = train_selector(selector, predictors, at(-6), 3, predictors.folds.n_train)
    assert all(torch.equal(value, before[key]) for key, value in selector.network.state_dict().items())
    assert not torch.equal(trained.network.first.weight, selector.network.first.weight)
    assert all(weight.requires_grad for weight in trained.network.parameters())
