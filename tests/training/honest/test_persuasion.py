"""The price on persuasion: the identity of its loss, how it moves, and what a ranker does under it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import sklar
from sklar.training.honest.folds import deal
from sklar.training.honest.persuasion import PersuasionPrice, Shown, excess_of_held_out, with_spread
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import PenaltyRange
from sklar.training.honest.selector import SelectorTraining
from sklar.training.honest.settings import PersuasionSettings, PredictorSettings
from sklar.training.targets import CountsTask
from sklar.training.tasks import SpreadTask, Task
from tests.helpers import seeded
from tests.training.small import SETTINGS, small_parts


def price(task=None, problems=2, most=0.0, held=0.0):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(problems, 40, 3, generator=generator)
    y = (x[..., 0] > 0).long()
    folds = deal(x, y, 2, held, generator)
    predictors = FoldPredictors(folds, task or Task(2), PredictorSettings(hidden=8), generator, 0)
    return PersuasionPrice(predictors, most, PersuasionSettings())


def vote(x, mask):
    """A judge that takes feature 0 as a vote for class 1 and feature 1 as one for class 0."""
    votes = mask[..., 0] - mask[..., 1]
    return torch.stack([-votes, votes], -1) / 2


def shown(mask, y):
    return Shown(torch.zeros(2, 20, 3), y, mask)


def others(rows):
    return rows._replace(mask=rows.mask.roll(1, 1))


def test_the_priced_loss_lies_between_the_loss_and_the_expected_loss():
    one = price()
    one.weight.copy_(torch.tensor([0.0, 1.0]))
    output, y = torch.randn(4, 5, 2, generator=seeded()), torch.ones(4, 5, dtype=torch.long)
    task, loss = one.predictors.task, one.loss(output, y)
    torch.testing.assert_close(loss[:2], task.row_loss(output, y)[:2])  # replicas of the first problem
    torch.testing.assert_close(loss[2:], task.expected_loss(output, y)[2:])


def test_the_weight_rises_while_choices_agree_with_the_answer_and_falls_when_they_do_not():
    one = price(problems=1)
    y = torch.arange(20).view(1, 20).expand(2, -1) % 2
    one.predictors.learner.average = vote
    one.begin(1000)
    agreeing = shown(torch.stack([y == 1, y == 0, y < 0], -1).float(), y)
    one.update(agreeing, others(agreeing))
    assert one.weight[0] > 0
    risen = float(one.total[0])
    assert risen > 0
    opposing = agreeing._replace(mask=1 - agreeing.mask)
    one.update(opposing, others(opposing))
    assert float(one.total[0]) < risen


def test_what_is_said_about_training_rows_alone_is_not_priced():
    """Training rows are shown by votes that agree with their answers, held-out rows by votes that know nothing."""
    one, also = (price(problems=1, most=0.2, held=0.5) for _ in range(2))
    y = torch.arange(20).view(1, 20).expand(2, -1) % 2
    known = shown(torch.stack([y == 1, y == 0, y < 0], -1).float(), y)
    unknown = known._replace(mask=torch.stack([y >= 0, y < 0, y < 0], -1).float())
    for that, held_out in ((one, unknown), (also, known)):
        that.predictors.learner.average = vote
        that.update(known, unknown, held_out)
    assert one.weight.tolist() == [0.0]
    assert also.weight[0] > 0


def test_what_is_allowed_is_not_priced():
    one = price(problems=1, most=100.0)
    x, y = torch.randn(2, 20, 3, generator=seeded()), torch.zeros(2, 20, dtype=torch.long)
    rows = Shown(x, y, torch.ones(2, 20, 3))
    one.update(rows, others(rows))
    assert one.weight.tolist() == [0.0]


def test_values_get_a_spread_and_other_tasks_stay():
    assert isinstance(with_spread(Task(None)), SpreadTask)
    for task in (Task(3), CountsTask(torch.ones(4, 1))):
        assert with_spread(task) is task


def test_rows_held_out_from_a_ranker_stay_so_to_the_end_and_teach_its_predictors():
    """The last part of a training gives all rows: a priced ranker learns from its own, the predictors from all."""
    settings = replace(SETTINGS, k=2, max_excess=0.01)
    selector, predictors = small_parts(settings, problems=1)
    folds, price = predictors.folds, torch.zeros(1)
    training = SelectorTraining(selector, predictors, PenaltyRange(price, price), folds.x.shape[2])
    x, y = predictors.batch(training.n_first)
    held = folds.held_out[0][0]
    assert not (x.flatten(0, 2)[:, None] == held).all(-1).any()
    lesson = training.lesson(x, y, training.draw(x, y))
    assert (lesson.x.flatten(0, 2)[:, None] == held).all(-1).any()  # misses all with probability .8 ** 40 = .0001


def votes(seed, n=1500, d=20):
    """d votes that are each right with probability .6."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return np.where(rng.random((n, d)) < 0.6, 1.0, -1.0) * (2 * y[:, None] - 1), y


def exact_excess(X, y, masks):
    """H + log p(y) by the exact p of the votes shown."""
    log_odds = (X * masks).sum(1) * np.log(1.5) * (2 * y - 1)
    p = 1 / (1 + np.exp(-log_odds))
    return float(np.mean(-(p * np.log(p) + (1 - p) * np.log1p(-p)) + np.log(p)))


@pytest.mark.parametrize(("max_excess", "least", "most"), [(None, 0.05, 1.0), (0.01, -0.1, 0.03)])
def test_a_ranker_persuades_unless_that_has_a_price(max_excess, least, most):
    X, y = votes(0)
    new, outcome = votes(1)
    ranker = sklar.CopulaRankerClassifier(k=3, max_excess=max_excess, selector_sparsity=0.1, random_state=0)
    masks = ranker.fit(X, y).select(new)
    assert least < exact_excess(new, outcome, masks) < most


@pytest.mark.parametrize(("agreeing", "says_more"), [(True, True), (False, False)])
def test_the_excess_of_held_out_rows_is_what_their_choice_says(agreeing, says_more):
    """Votes right with probability .6: the first that agree with the majority of all, or the first five."""
    y = torch.randint(2, (1, 4000), generator=seeded())
    right = torch.rand(1, 4000, 60, generator=seeded(1)) < 0.6
    x = torch.where(right, 1.0, -1.0) * (2 * y.unsqueeze(-1) - 1)
    wanted = (x * x.sum(-1, keepdim=True) > 0) if agreeing else torch.ones_like(x, dtype=torch.bool)
    mask = (wanted & (wanted.cumsum(-1) <= 5)).float()

    def exact(x, mask):
        evidence = (x * mask).sum(-1, keepdim=True) * np.log(1.5)
        return torch.cat([torch.zeros_like(evidence), evidence], dim=-1)

    predictors = SimpleNamespace(task=Task(2), folds=SimpleNamespace(held_out=(x, y)), held_out_outputs=exact)
    excess = excess_of_held_out(predictors, mask)
    assert excess.shape == (1, 4000)
    error = excess.std() / 4000**0.5
    assert (excess.mean() > 5 * error) == says_more
    assert says_more or abs(excess.mean()) < 4 * error  # one draw in 16,000
    predictors.task = Task(None)  # a value alone expects no loss
    assert excess_of_held_out(predictors, mask) is None
