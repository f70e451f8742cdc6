"""Small parts of honest training, before any step."""

from dataclasses import replace

import torch

from sklar.model.gates import Gates
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Decisions, PenaltyRange, new_selector
from sklar.training.honest.screening import Screened
from sklar.training.honest.selector import SelectorTraining
from sklar.training.honest.settings import PredictorSettings, SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

PREDICTOR = PredictorSettings(hidden=8, batch_size=40)
SETTINGS = SelectorSettings(hidden=8, n_factors=2, covariance="independent")


def small_parts(settings=SETTINGS, problems=2, n=100, d=4, held=0.2):
    """An untrained selector, and predictors; features 0 and 1 are correlated at .9, and 0 decides."""
    x = torch.randn(problems, n, d, generator=seeded())
    x[..., 1] = 0.9 * x[..., 0] + 0.4 * x[..., 1]
    return parts_of(deal(x, (x[..., 0] > 0).long(), 4, held, seeded()), settings)


def parts_of(folds, settings=SETTINGS, predictor=PREDICTOR, generator=None):
    """An untrained selector of all features, at log-penalties around 0, and untrained predictors."""
    predictors = FoldPredictors(folds, Task(2), predictor, generator or seeded(1), seed=0)
    device = folds.x.device
    screened = Screened(predictors, torch.arange(folds.gates.n, device=device).expand(len(folds.x), -1))
    centre = torch.zeros(len(folds.x), 1, device=device)
    return new_selector(folds.gates, screened, settings, centre, seed=0), predictors


def weighed_parts(**params):
    """One problem of 4 gates, the third of two inputs; the last gate is forced. Also its rows."""
    x = torch.randn(1, 100, 5, generator=seeded())
    gates = Gates.of(4, [0, 1, 2, 2, 3], forced=[3])
    weight = torch.rand(1, 100, generator=seeded(4)) + 0.1
    folds = deal(x, (x[..., 0] > 0).long(), 4, 0.2, seeded(), gates=gates, weight=weight)
    return *parts_of(folds, replace(SETTINGS, **params)), x


def undecided(selector):
    return Decisions.none(selector.alive)


def training_of(selector, predictors, log_penalty=-6.0):
    """The training of a selector at one log-penalty."""
    price = torch.full((len(selector.alive),), log_penalty, device=selector.alive.device)
    return SelectorTraining(selector, predictors, PenaltyRange(price, price), predictors.folds.n_train)


def with_scores(selector, *scores):
    """The same scores for every row."""
    with torch.no_grad():
        selector.network.scores.weight.zero_()
        selector.network.scores.bias.copy_(torch.tensor(scores).expand_as(selector.network.scores.bias))
