"""How the predictors read numbers, and how strongly they are regularised: rows that they did not learn from say.

Numbers as they are suit functions that bend little; cut at quantiles (see `model.piecewise`), predictors follow steps
and thresholds as trees do, and with few rows learn noise. Tables of categories have many inputs, and need a stronger
hand than the numbers that the constants were chosen on. Short trials tell these apart: predictors learn from random
masks, and every training row, shown whole and shown at random, is judged by the one that never saw it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.engine.loop import Record
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.decisions import mean_and_error
from sklar.training.honest.folds import Folds, deal
from sklar.training.honest.one_set import is_wide
from sklar.training.honest.predictors import FoldPredictors, random_masks
from sklar.training.honest.settings import HonestSettings, PredictorSettings
from sklar.training.tasks import Task


class Reading(NamedTuple):
    """A way to learn from a table."""

    n_bins: int  # pieces that numbers are cut into
    regularisation: float  # factor on the predictors' weight decay and group lasso

    def applied(self, settings: PredictorSettings) -> PredictorSettings:
        """The settings of predictors that learn so."""
        return replace(settings.regularised(self.regularisation), n_bins=self.n_bins)


@dataclass(frozen=True)
class Tried:
    """A reading, and what rows lost by it."""

    reading: Reading
    losses: Tensor  # of the training rows, judged out of fold, (n,)

    def record(self, chosen: bool) -> Record:
        """For the history of a fit."""
        kept = {"n_bins": self.reading.n_bins, "regularisation": self.reading.regularisation}
        return {"part": "predictors", **kept, "loss": float(self.losses.mean()), "chosen": chosen}


def with_first_reading(settings: HonestSettings, gates: Gates) -> HonestSettings:
    """The settings with the reading that others are compared with, or that was given."""
    first = Reading(settings.bins_for(gates)[0], settings.regularisations[0])
    return replace(settings, predictor=first.applied(settings.predictor))


def choose_predictors(
    data: TrainingData, task: Task, settings: HonestSettings, seed: int, run: Run
) -> tuple[HonestSettings, list[Record]]:
    """The settings with the predictors that rows choose, and what was tried: nothing where all of it was given.

    The first reading is the one that the constants were chosen with. Another replaces it only if rows lose less by it,
    by `DecisionSettings.other_predictors` standard errors of the paired difference. Strengths are tried first, then
    cuts with the best of them. Of more features than rows none is tried: the first is what rehearsals learn with.
    """
    strengths, cuts = settings.regularisations_for(data.gates), settings.bins_for(data.gates)
    first = Reading(cuts[0], strengths[0])
    if len(strengths) == len(cuts) == 1 or is_wide(data.gates, len(data.x), settings):
        return with_first_reading(settings, data.gates), []
    folds = _folds(data, settings, seed)
    best = _tried(folds, task, settings, first, seed, run)
    trials = [best]
    for strength in strengths[1:]:
        trials.append(_tried(folds, task, settings, first._replace(regularisation=strength), seed, run))
        best = _better(best, trials[-1], folds, settings)
    for n_bins in cuts[1:]:
        trials.append(_tried(folds, task, settings, best.reading._replace(n_bins=n_bins), seed, run))
        best = _better(best, trials[-1], folds, settings)
    records = [one.record(one is best) for one in trials]
    return replace(settings, predictor=best.reading.applied(settings.predictor)), records


def _folds(data: TrainingData, settings: HonestSettings, seed: int) -> Folds:
    """The rows of one problem in folds, a part of them held out, as in the fit itself."""
    generator = torch.Generator(device=data.x.device).manual_seed(seed)
    x, y = data.x.unsqueeze(0), data.y.unsqueeze(0)
    weight = None if data.weight is None else data.weight.unsqueeze(0)
    gates = data.gates.to(x.device)
    return deal(x, y, settings.n_folds, settings.held_fraction, generator, gates=gates, weight=weight)


def _better(best: Tried, other: Tried, folds: Folds, settings: HonestSettings) -> Tried:
    """The one tried before, unless rows clearly lose less by the other."""
    lost, error = mean_and_error((other.losses - best.losses).unsqueeze(0), folds.training_weight)
    return other if bool(lost < -settings.decisions.other_predictors * error) else best


def _tried(folds: Folds, task: Task, settings: HonestSettings, reading: Reading, seed: int, run: Run) -> Tried:
    """Predictors that learned so for a while, and what rows lose by them, shown whole and at random."""
    generator = torch.Generator(device=folds.x.device).manual_seed(seed)
    predictors = FoldPredictors(folds, task, reading.applied(settings.predictor), generator, seed, run.team)
    with threads_for(folds.gates.n):
        predictors.warm_up(settings.schedule.reading_steps, run)
        like = folds.gates.like(folds.training[0])
        whole = torch.ones_like(like)
        shown = random_masks(like, generator, settings.predictor.k)
        losses = [predictors.out_of_fold_losses(mask)[0] for mask in (whole, shown)]
    return Tried(reading, torch.stack(losses).mean(0))
