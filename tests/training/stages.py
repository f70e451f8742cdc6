"""Small stages of honest training, before any step."""

from dataclasses import replace

import torch

from sklar.model.gates import Gates
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import PredictorSettings
from sklar.training.honest.stage import SelectorSettings, Stage
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = SelectorSettings(hidden=8, n_factors=2, predictor=PredictorSettings(hidden=8, batch_size=40))


def small_stage(settings=SETTINGS, problems=2, n=100, d=4, held=0.2):
    x = torch.randn(problems, n, d, generator=seeded())
    x[..., 1] = 0.9 * x[..., 0] + 0.4 * x[..., 1]
    folds = deal(x, (x[..., 0] > 0).long(), 4, held, seeded())
    return Stage(folds, Task(2), settings, seeded(1), seed=0)


def weighed_stage(level=0.0, **words):
    """One problem of 4 gates, the third of two inputs; the last gate is forced."""
    x = torch.randn(1, 100, 5, generator=seeded())
    gates = Gates.of(4, [0, 1, 2, 2, 3], forced=[3])
    weight = torch.rand(1, 100, generator=seeded(4)) + 0.1
    folds = deal(x, (x[..., 0] > 0).long(), 4, 0.2, seeded(), gates=gates, weight=weight)
    made = Stage(folds, Task(2), replace(SETTINGS, **words), seeded(1), seed=0)
    made.level.fill_(level)
    return made, x
