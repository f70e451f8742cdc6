"""A fit takes the steps that its parts say."""

import io
from dataclasses import replace

import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.engine.progress import Part, Progress
from sklar.training.engine.run import Run
from sklar.training.honest.fit import fit_honest
from sklar.training.honest.parts import parts_of, steps_of
from sklar.training.honest.predictor_choice import choose_predictors
from sklar.training.honest.rehearsal import rehearse
from sklar.training.honest.settings import HonestSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

SCHEDULE = Schedule().scaled(0.005)
SETTINGS = HonestSettings(SelectorSettings(n_factors=2), PredictorSettings(batch_size=500), schedule=SCHEDULE)


@pytest.mark.parametrize(("d", "settles"), [(6, False), (20, True)])
def test_it_reports_as_many_steps_as_it_says(d, settles):
    bar = Progress([Part("all", 10**6)], file=io.StringIO())
    x = torch.randn(200, d, generator=seeded(0))
    y, run = (x[:, 0] > 0).long(), Run(bar)
    choose_predictors(TrainingData(x, y, None, Gates(d)), Task(2), SETTINGS, 0, run)
    assert bar.n == 3 * SCHEDULE.reading_steps  # two strengths, and pieces with one of them
    fit_honest(x[None], y[None], Task(2), SETTINGS, run=run)
    s = SCHEDULE  # two strengths, other prices
    expected = 3 * s.reading_steps + s.total + s.trial_steps + s.path_steps + s.wide_steps
    expected -= 0 if settles else s.settle_steps
    assert bar.n == steps_of(SETTINGS, 2000, Gates(d)) == expected


def test_rankers_choose_the_strength_later_in_as_many_steps():
    bar = Progress([Part("all", 10**6)], file=io.StringIO())
    settings = replace(SETTINGS, selector=SelectorSettings(k=2))
    x = torch.randn(200, 6, generator=seeded(0))
    fit_honest(x[None], (x[:, 0] > 0).long()[None], Task(2), settings, run=Run(bar))
    tried = Part("predictors, trials", 3 * SCHEDULE.reading_steps)
    assert parts_of(settings, 2000, Gates(6))[0] == tried
    assert bar.n == steps_of(settings, 2000, Gates(6)) - tried.steps
    whole = Schedule()
    assert whole.rank_path_steps + whole.rank_final_steps == whole.path_steps + whole.final_steps


def test_what_is_given_is_not_tried():
    given = replace(SETTINGS, regularisations=(1.0,), bins=(0,), strengths=(1.0,))
    assert [part.name for part in parts_of(given, 2000, Gates(6))] == [
        "predictors",
        "selector",
        "selector, all rows",
        "selector, other prices",
    ]


def test_rehearsals_with_one_set_take_the_steps_they_say():
    bar = Progress([Part("all", 10**6)], file=io.StringIO())
    x = torch.randn(100, 150, generator=seeded(0))
    y = (x[:, :20].sum(1) > 0).long()
    rehearse(TrainingData(x, y, None, Gates(150)), Task(2), SETTINGS, 0, Run(bar))
    parts = [part for part in parts_of(SETTINGS, 100, Gates(150)) if "rehearsal" in part.name]
    assert [part.name for part in parts] == [
        "predictors, rehearsal",
        "selector, rehearsal",
        "predictors of one set, rehearsal",
    ]
    assert bar.n == sum(part.steps for part in parts)
