"""Before the selector learns: folds, warm predictors, the union and the path of penalties."""

from dataclasses import replace

import pytest
import torch

from sklar.training.engine.run import Run
from sklar.training.honest.beginning import Problems, begin, log_penalties
from sklar.training.honest.settings import HonestSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = HonestSettings(
    SelectorSettings(hidden=8), PredictorSettings(hidden=8, batch_size=100), Schedule().scaled(0.02), n_folds=2
)


def problems(d=6, n=400):
    x = torch.randn(1, n, d, generator=seeded())
    return Problems(x, (x[..., 0] > 0).long(), Task(2), None, None)


def test_a_narrow_table_keeps_all_its_features_and_a_wide_one_does_not():
    narrow, wide = (begin(problems(d), SETTINGS, 0, Run()) for d in (6, 30))
    assert narrow.screened.columns.tolist() == [list(range(6))]
    assert 0 in wide.screened.columns[0].tolist()
    assert wide.screened.columns.shape[1] < 30
    assert narrow.selector.strength.tolist() == [1.0]
    assert narrow.screened.predictors.folds.has_held_out


def test_a_given_penalty_is_a_path_of_one():
    predictors = begin(problems(), SETTINGS, 0, Run()).screened.predictors
    assert log_penalties(predictors, replace(SETTINGS, penalty=0.05)).exp().tolist() == [[pytest.approx(0.05)]]
    path = log_penalties(predictors, SETTINGS).exp()[0]
    assert (path / path[0]).tolist() == pytest.approx([1, 2, 4, 8])


def test_the_unit_of_penalties_does_not_vanish_where_labels_have_no_noise():
    predictors = begin(problems(), SETTINGS, 0, Run()).screened.predictors
    known = problems().y
    predictors.out_of_fold_losses = lambda mask, rows=None: 1e-7 + 0.7 * (mask.sum(-1) == 0).flatten(1)
    assert known.float().mean() < 0.7  # both classes are there
    unit = log_penalties(predictors, SETTINGS).exp()[0, 0] / SETTINGS.schedule.penalties[0]
    assert unit.item() == pytest.approx(SETTINGS.decisions.least_unit * 0.7, rel=1e-3)
