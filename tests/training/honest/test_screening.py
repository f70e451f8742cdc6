"""The union: weak features behind a switch are found, most irrelevant ones are not kept."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.engine.run import Run
from sklar.training.honest import screening
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors, random_masks
from sklar.training.honest.screening import _best, gain_z, pair_z, residual_z, screen, union
from sklar.training.honest.settings import PredictorSettings, Schedule, ScreeningSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = ScreeningSettings()


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
    predictors.warm_up(steps)
    return predictors


def test_the_union_holds_the_relevant_features_and_is_narrow():
    keep = union(predictors_of(*switched(), 150), least_width=6, most_width=20, settings=SETTINGS)
    assert keep[0, [0, 1, 2]].all()
    assert 6 <= int(keep.sum()) <= 15


def test_residuals_see_a_weak_feature_behind_a_switch():
    found = torch.zeros(1, 30, dtype=torch.bool)
    found[:, [0, 1]] = True
    z, threshold = residual_z(predictors_of(*switched(), 150), found, SETTINGS)
    assert z[0, 2] > threshold
    # 27 irrelevant features, 3 of which may pass on average; more than 12 has a chance below 1e-4
    assert int((z[0, 3:] > threshold).sum()) <= 12


def test_contexts_are_asked_about_in_parts(monkeypatch):
    found = torch.zeros(1, 30, dtype=torch.bool)
    found[0, :9] = True
    predictors = predictors_of(*switched(), 20)
    whole, threshold = residual_z(predictors, found, SETTINGS)
    monkeypatch.setattr(screening, "CONTEXTS", 4)
    parts, same = residual_z(predictors, found, SETTINGS)
    torch.testing.assert_close(parts, whole)
    assert same == threshold


def test_the_threshold_lets_few_irrelevant_features_through():
    """With y independent of everything, false_nominations = 3 of all features pass on average."""
    x, y = torch.randn(1, 2000, 400, generator=seeded(5)), torch.randint(2, (1, 2000), generator=seeded(6))
    z, threshold = residual_z(predictors_of(x, y, 1), torch.zeros(1, 400, dtype=torch.bool), SETTINGS)
    assert int((z > threshold).sum()) <= 14  # Poisson with mean 3: 15 or more has a chance below 1e-6


def products(n=4000, d=40, seed=0):
    """y depends on x3 x5 for a quarter of the rows, on nothing else for the others."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    logit = np.where(x[:, 0] > 0.67, 3 * x[:, 3] * x[:, 5], 0.0)
    y = rng.random(n) < 1 / (1 + np.exp(-logit))
    return torch.from_numpy(x).float()[None], torch.from_numpy(y).long()[None]


def test_pairs_see_a_product_that_predictors_have_not_learned():
    """Both features of the product, for a part of the rows only, pass; one test alone would find neither."""
    predictors, strength = predictors_of(*products(), 1), torch.zeros(1, 40)
    nothing = torch.zeros(1, 40, dtype=torch.bool)
    z, threshold = pair_z(predictors, nothing, strength, SETTINGS)
    alone, least = residual_z(predictors, nothing, SETTINGS)
    assert (z[0, [3, 5]] > threshold + 1).all()
    assert (alone[0, [3, 5]] < least).all()
    assert union(predictors, 0, 40, SETTINGS)[0, [3, 5]].all()


def test_pairs_agree_with_a_loop_over_them():
    """z of x_i x_j, centred, times the residual, pair by pair in float64."""
    x, y = products(n=500, d=6)
    predictors, strength = predictors_of(x, y, 1), torch.arange(6.0)[None]
    nothing = torch.zeros(1, 6, dtype=torch.bool)
    z, _ = pair_z(predictors, nothing, strength, SETTINGS)
    folds = predictors.folds
    mask = torch.zeros_like(folds.x).flatten(0, 1)
    output = predictors.judge(folds.x.flatten(0, 1), mask).detach().flatten(0, 1)
    residual = (folds.y.flatten().double() - output.softmax(-1)[:, 1].double()).numpy()
    rows = folds.x.flatten(0, 2).clamp(-3, 3).double().numpy()
    rows = rows - rows.mean(0)
    for i in range(6):
        found = []
        for j in set(range(6)) - {i}:
            product = rows[:, i] * rows[:, j]
            total = (residual * (product - product.mean())).sum()
            found.append(abs(total) / np.sqrt((residual**2 * product**2).sum()))
        assert float(z[0, i]) == pytest.approx(max(found), rel=1e-4)


def test_few_pairs_of_irrelevant_features_pass():
    """With y independent of everything false_pairs = 0.5 pairs pass on average; more than 5: a chance below 2e-5."""
    x, y = torch.randn(1, 2000, 100, generator=seeded(5)), torch.randint(2, (1, 2000), generator=seeded(6))
    z, threshold = pair_z(predictors_of(x, y, 1), torch.zeros(1, 100, dtype=torch.bool), torch.zeros(1, 100), SETTINGS)
    assert int((z > threshold).sum()) <= 10  # two features a pair


def test_of_wide_tables_pairs_of_the_strongest_are_asked_about():
    few = ScreeningSettings(pair_products=4000 * 10 * 10)
    strength = torch.zeros(1, 40)
    strength[0, 1:11] = 1.0
    z, _ = pair_z(predictors_of(*products(), 1), torch.zeros(1, 40, dtype=torch.bool), strength, few)
    assert (z[0, 1:11] > 0).all()
    assert not z[0, 11:].any()
    assert float(z[0, 3]) > 4


def test_inputs_of_one_feature_are_no_pair():
    """A feature of two inputs whose product matters is found only by other means."""
    x, y = products()
    x = x[..., [3, 5, 0, 1, 2]]
    gates = Gates.of(4, [0, 0, 1, 2, 3])
    folds = deal(x, y, 4, 0.0, seeded(), gates=gates)
    predictors = FoldPredictors(folds, Task(2), PredictorSettings(hidden=16, batch_size=400), seeded(1), seed=0)
    z, threshold = pair_z(predictors, torch.zeros(1, 4, dtype=torch.bool), torch.zeros(1, 4), SETTINGS)
    assert z.shape == (1, 4)
    assert float(z[0, 0]) < threshold


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


@pytest.mark.parametrize("least_width", [30, 6])
def test_only_wide_tables_are_screened(least_width):
    x, y = switched(600)
    predictors, told = predictors_of(x, y, 60), []
    schedule = Schedule(settle_steps=5).with_union_width(20)
    schedule = replace(schedule, least_width=least_width)
    bar = SimpleNamespace(skip=lambda n: None, update=lambda: told.append(1))
    screened = screen(predictors, schedule, SETTINGS, None, Run(bar))
    if least_width == 30:
        assert screened.predictors is predictors
        assert screened.columns.tolist() == [list(range(30))]
        assert not told
    else:
        assert 6 <= screened.columns.shape[1] <= 20
        assert 0 in screened.columns
        assert screened.alive.all()
        assert screened.predictors.folds.x.shape[-1] == screened.columns.shape[1]
        assert len(told) == 5


def test_with_many_rows_more_features_are_kept_where_each_says_a_little():
    x = torch.randn(1, 1200, 30, generator=seeded())
    predictors = predictors_of(x, (x.sum(-1) > 0).long(), 60)
    few = Schedule(settle_steps=2, least_width=4, most_width=6, widest=0)
    assert screen(predictors, few, SETTINGS, None).columns.shape[1] == 6
    many = replace(few, widest=20, rows_a_feature=100)
    assert screen(predictors, many, SETTINGS, None).columns.shape[1] == 12
