"""The union: weak features behind a switch are found, most irrelevant ones are not kept."""

import numpy as np
import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.folds import deal
from sklar.training.objectives import Task
from sklar.training.predictors import FoldPredictors, PredictorSettings, random_masks
from sklar.training.screening import _best, gain_z, residual_z, union
from tests.helpers import seeded


def switched(n=4000, d=30, seed=0):
    """y depends strongly on x0; where x1 > 0, weakly on |x2| too."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    logit = 3 * x[:, 0] + np.where(x[:, 1] > 0, 1.2 * (np.abs(x[:, 2]) - 0.8), x[:, 1])
    y = rng.random(n) < 1 / (1 + np.exp(-logit))
    return torch.from_numpy(x).float()[None], torch.from_numpy(y).long()[None]


def predictors_of(x, y, steps):
    folds = deal(x, y, 4, 0.0, seeded())
    predictors = FoldPredictors(folds, Task(2), PredictorSettings(hidden=16, batch_size=400), seeded(1), seed=0)
    predictors.warm_up(steps, torch.ones(1, 1, 1, x.shape[-1]))
    return predictors


def test_the_union_holds_the_relevant_features_and_is_narrow():
    keep = union(predictors_of(*switched(), 150), least_width=6, most_width=20, generator=seeded())
    assert keep[0, [0, 1, 2]].all()
    assert 6 <= int(keep.sum()) <= 15


def test_residuals_see_a_weak_feature_behind_a_switch():
    found = torch.zeros(1, 30, dtype=torch.bool)
    found[:, [0, 1]] = True
    z, threshold = residual_z(predictors_of(*switched(), 150), found)
    assert z[0, 2] > threshold
    # 27 irrelevant features, 3 of which may pass on average; more than 12 has a chance below 1e-4
    assert int((z[0, 3:] > threshold).sum()) <= 12


def test_the_threshold_lets_few_irrelevant_features_through():
    """With y independent of everything, FALSE_NOMINATIONS = 3 of all features pass on average."""
    x, y = torch.randn(1, 2000, 400, generator=seeded(5)), torch.randint(2, (1, 2000), generator=seeded(6))
    z, threshold = residual_z(predictors_of(x, y, 1), torch.zeros(1, 400, dtype=torch.bool))
    assert int((z > threshold).sum()) <= 14  # Poisson with mean 3: 15 or more has a chance below 1e-6


def test_best_keeps_at_least_and_at_most():
    strength = torch.tensor([[5.0, 4.0, 3.0, 0.1, 0.2]])
    assert _best(strength, strength > 1, 0, 2)[0].tolist() == [True, True, False, False, False]
    assert _best(strength, strength > 10, 2, 4)[0].tolist() == [True, True, False, False, False]
    assert _best(strength, strength > 1, 4, 5)[0].tolist() == [True, True, True, False, True]


def test_residuals_of_both_tasks():
    output = torch.zeros(1, 2, 3)
    assert Task(3).residuals(output, torch.tensor([[0, 2]])).sum(-1).abs().max() < 1e-6
    assert Task(2).residuals(torch.zeros(1, 2, 2), torch.tensor([[0, 1]])).flatten().tolist() == [-0.5, 0.5]
    assert Task(None).residuals(torch.ones(1, 2, 1), torch.tensor([[0.0, 3.0]])).flatten().tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("weighed", [False, True])
def test_gains_are_the_same_however_gates_are_known(weighed):
    """Plain columns go a faster way than encoded ones: the same gates by either."""
    x, y = switched(400, 5)
    weight = torch.rand(1, 400, generator=seeded(2)) + 0.1 if weighed else None
    found = []
    for gates in (Gates(5), Gates(5, torch.arange(5))):
        folds = deal(x, y, 4, 0.0, seeded(), gates=gates, weight=weight)
        predictors = FoldPredictors(folds, Task(2), PredictorSettings(hidden=8, batch_size=100), seeded(1), seed=0)
        found.append(gain_z(predictors, seeded(3)))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)


def test_the_gain_of_a_feature_of_two_inputs_is_that_of_both():
    """A gate over inputs 1 and 2, against losses with and without them, by hand."""
    x, y = switched(200, 4)
    folds = deal(x, y, 2, 0.0, seeded(), gates=Gates.of(3, [0, 1, 1, 2]))
    predictors = FoldPredictors(folds, Task(2), PredictorSettings(hidden=8, batch_size=100), seeded(1), seed=0)
    z = gain_z(predictors, seeded(3))
    rows, labels = folds.x.flatten(0, 1), folds.y.flatten(0, 1)
    by_hand = torch.full((3,), -torch.inf)
    for mask in (random_masks(folds.gates.like(rows), seeded(3)), torch.ones(2, 100, 3)):
        for gate in range(3):
            shut, opened = mask.clone(), mask.clone()
            shut[..., gate], opened[..., gate] = 0, 1
            loss = [Task(2).row_loss(predictors.judge(rows, m), labels) for m in (shut, opened)]
            gain = (loss[0] - loss[1]).flatten()
            by_hand[gate] = max(by_hand[gate], gain.mean() / (gain.std() / 200**0.5))
    torch.testing.assert_close(z[0], by_hand, rtol=1e-3, atol=1e-3)
