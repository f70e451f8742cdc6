"""Learning what to ask next: exact gains, and cases whose best questions are known."""

import numpy as np
import pytest
import torch

from sklar import CopulaRankerClassifier, CopulaRankerRegressor
from sklar.model.gates import Gates
from sklar.training.acquisition.fit import AcquisitionTraining
from sklar.training.acquisition.settings import AcquisitionSettings
from sklar.training.data import TrainingData
from sklar.training.tasks import Task
from tests.helpers import seeded

QUICK = {"random_state": 0, "device": "cpu", "chooses_from": "shown"}


def training(k=2, d=5, **words):
    x = torch.randn(60, d, generator=seeded(1))
    data = TrainingData(x, (x[:, 0] > 0).long(), None, Gates.of(d))
    return AcquisitionTraining(data, Task(2), AcquisitionSettings(k=k, hidden=16, worth_hidden=16, **words), 0)


def test_gains_are_differences_of_losses():
    t = training()
    e = t.episodes
    x, y, mask = e.x[0], e.y[0], e.mask[0]
    index = torch.arange(5).expand(*mask.shape[:2], 5)
    gains, judge = t.gains(x, y, mask, index), t.predictors.judge
    loss = t.predictors.task.row_loss(judge(x, mask), y)
    for i in range(5):
        flipped = mask.clone()
        flipped[..., i] = 1 - flipped[..., i]
        torch.testing.assert_close(gains[..., i], loss - t.predictors.task.row_loss(judge(x, flipped), y))


def test_candidates_are_hidden_and_differ():
    t = training(candidates=4)
    hidden = t.episodes.mask[0] < 0.5
    worth = torch.randn(hidden.shape, generator=seeded(4))
    index = t.candidates(worth, hidden)
    assert index.shape[-1] == 4
    assert (hidden.gather(-1, index) | (hidden.sum(-1, keepdim=True) < 4)).all()
    assert all(len(set(row)) == 4 for row in index.flatten(0, 1).tolist())
    best = worth.masked_fill(~hidden, -torch.inf).argmax(-1)
    assert (index == best.unsqueeze(-1)).any(-1).all()


def test_units_follow_the_gains_of_rows_that_show_as_many():
    t = training(memory=0.0)
    mask = torch.zeros(1, 4, 5)
    mask[0, 2:, 0] = 1
    gains = torch.tensor([[3.0, 4.0]] * 2 + [[0.3, 0.4]] * 2)[None]
    units = t.in_units(gains, torch.ones_like(gains, dtype=torch.bool), mask)
    assert t.unit[:2].tolist() == pytest.approx([12.5**0.5, 0.125**0.5])
    torch.testing.assert_close(units[0, 0], units[0, 2])


def switched(n=3000, seed=0):
    """x0 says whether x1 or x2 decides."""
    X = np.random.default_rng(seed).standard_normal((n, 6))
    return X, (np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0).astype(int)


def test_a_switch_is_asked_before_what_it_switches_to():
    """Any order that asks all three is as good at k = 3; the third follows from the first two."""
    X, y = switched()
    ranker = CopulaRankerClassifier(k=3, max_epochs=400, **QUICK).fit(X, y)
    test, truth = switched(seed=1)
    assert ranker.score(test, truth) > 0.9
    order = ranker.rank(test)
    wanted = np.where(test[:, 0] > 0, 1, 2)
    assert np.mean((order == wanted[:, None]).any(axis=1)) > 0.9


def test_votes_cannot_be_picked():
    """Any five of 60 votes support 68.3 percent; the deviation of 4,000 rows is 0.7, and 4 are allowed."""
    rng = np.random.default_rng(0)
    y = rng.choice([0, 1], 6000)
    X = np.where(rng.random((6000, 60)) < 0.6, 1.0, -1.0) * (2 * y - 1)[:, None]
    ranker = CopulaRankerClassifier(k=5, max_epochs=120, **QUICK).fit(X[:2000], y[:2000])
    assert 100 * ranker.score(X[2000:], y[2000:]) < 68.3 + 3


def test_values_and_groups_and_forced_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    y = 3 * X[:, 0] + X[:, 1]
    words = {"groups": [[1, 2]], "forced": [4], "max_epochs": 100}
    ranker = CopulaRankerRegressor(k=3, **words, **QUICK).fit(X, y)
    masks = ranker.select(X)
    assert masks[:, 4].all()
    assert (masks[:, 1] == masks[:, 2]).all()
    assert ranker.score(X, y) > 0.5
    assert ranker.rank(X)[:, 0].tolist() == [4] * 600
