"""What comes before the selector learns: rows in folds, predictors that have warmed up, the union of features."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sklar.model.gates import Gates
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.decisions import penalty_unit
from sklar.training.honest.folds import Folds, deal
from sklar.training.honest.one_set import screen_to_one_set
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Selector, new_selector
from sklar.training.honest.screening import Screened, screen
from sklar.training.honest.settings import HonestSettings
from sklar.training.penalty_path import LARGEST_PENALTY
from sklar.training.tasks import Task


class Problems(NamedTuple):
    """What P problems are trained on."""

    x: Tensor  # (P, n, D)
    y: Tensor  # (P, n)
    task: Task
    gates: Gates | None
    weight: Tensor | None  # (P, n)


class Begun(NamedTuple):
    """Predictors of the union that have warmed up, and a selector that has not learned yet."""

    screened: Screened
    selector: Selector
    grid: Tensor  # of log-penalties, (P, G)


def begin(data: Problems, settings: HonestSettings, seed: int, run: Run, shuffle: bool = True) -> Begun:
    """Deal the rows, warm up the predictors, and screen the features."""
    generator = torch.Generator(device=data.x.device).manual_seed(seed)
    folds = deal(data.x, data.y, settings.n_folds, settings.held_fraction, generator, shuffle, data.gates, data.weight)
    screened = _screened(folds, data.task, settings, generator, seed, run)
    with threads_for(screened.columns.shape[1]):
        grid = log_penalties(screened.predictors, settings)
        return Begun(screened, new_selector(folds.gates, screened, settings.selector, grid, seed), grid)


def _screened(
    folds: Folds, task: Task, settings: HonestSettings, generator: torch.Generator, seed: int, run: Run
) -> Screened:
    """The features to go on with, and their predictors."""
    if settings.one_set is not None:
        return screen_to_one_set(folds, task, settings, generator, seed, run)
    predictors = FoldPredictors(folds, task, settings.predictor, generator, seed, run.team)
    with threads_for(folds.gates.n):
        predictors.warm_up(settings.schedule.warm_steps, run)
    return screen(predictors, settings.schedule, settings.screening, settings.selector.k, run)


def log_penalties(predictors: FoldPredictors, settings: HonestSettings) -> Tensor:
    """The path of log-penalties, (P, G), small to large; a given penalty is a path of one."""
    unit = penalty_unit(predictors, settings.decisions.least_unit).clamp_min(1e-6).unsqueeze(1)
    if settings.penalty == "auto":
        return (unit * torch.tensor(settings.schedule.penalties, device=unit.device)).log()
    return torch.full_like(unit, min(max(float(settings.penalty), 1e-8), LARGEST_PENALTY)).log()
