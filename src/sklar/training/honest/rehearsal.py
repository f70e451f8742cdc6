"""With few rows one held-out fifth decides little: several splits of the table decide together, before the fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import torch

from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.engine.loop import Record
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.beginning import Problems, begin
from sklar.training.honest.confidence import Said, choose_together, compared_fairly, pooled, said_by
from sklar.training.honest.folds import deal
from sklar.training.honest.one_set import is_wide, screen_to_one_set, shown_whole
from sklar.training.honest.settings import HonestSettings
from sklar.training.honest.strength import Candidate, begin_strengths, is_beyond_chance, pool, preferred, steps_on
from sklar.training.penalty_path import PathChoice
from sklar.training.tasks import Task


class Rehearsal(NamedTuple):
    """What the held-out rows of several splits say."""

    strength: float
    shows: bool  # whether anything can be shown to matter
    one_set: float | None  # where all rows get those most related to the target alone: how far to trust what they say
    price: PathChoice | None  # of the path's penalties, in their unit; None where the fit's own held-out rows choose
    tried: list[Record]

    def applied(self, settings: HonestSettings) -> HonestSettings:
        """The settings of the fit itself."""
        decided = replace(settings, strengths=(self.strength,), shows=self.shows, price=self.price)
        # All that rows held out would say is said: so all of them choose the set, and learn.
        return decided if self.one_set is None else replace(decided, one_set=self.one_set, held_fraction=0.0)


def rehearse(data: TrainingData, task: Task, settings: HonestSettings, seed: int, run: Run) -> Rehearsal | None:
    """Try the strengths on several splits of few rows; None where a fit's own held-out rows are enough.

    Of more features than rows, one set for all rows is tried too, and the rows of all splits choose the price: those
    that one fit holds out are so few that they mostly choose the one that shows nothing.
    """
    splits = settings.schedule.splits_for(len(data.x))
    if splits == 1 or len(settings.strengths) == 1 or settings.held_fraction == 0:
        return None
    parts, y = [], []
    for problems in _splits(data, task, splits, seed):
        begun = begin(problems, settings, seed, run, shuffle=False)
        if not begun.screened.predictors.folds.has_held_out:  # a handful of rows
            return None
        with threads_for(begun.screened.columns.shape[1]):
            tried = begin_strengths(begun.selector, begun.screened.predictors, begun.grid, settings, run)
            steps = steps_on(settings, len(tried)).path
            parts.append([one.trained(begun.grid, steps, run) for one in tried])
        y.append(begun.screened.predictors.folds.held_out[1].flatten())
    target = torch.cat(y)
    candidates: list[Candidate] = [compared_fairly(pool(of_one), task, target) for of_one in zip(*parts, strict=True)]
    everything = range(splits)
    best = candidates[preferred(candidates, everything, settings)]
    records = [one.record(everything, one is best) for one in candidates]
    said, one_set, price = said_by(best.held_out, target), None, None
    if tries_one_set(settings, data.gates, len(data.x)):
        of_set = pooled([_one_set(problems, settings, seed, run) for problems in _splits(data, task, splits, seed)])
        (confidence, losses), (_, of_selector) = (one.at_best_confidence(task) for one in (of_set, said))
        price = choose_together(best.held_out, settings.schedule.penalties, task, target)
        loss, loss_of_selector = float(losses.mean()), float(of_selector.mean())
        if loss < loss_of_selector:
            said, one_set = of_set, confidence
        compared = {"loss": loss, "loss_of_selector": loss_of_selector, "confidence": confidence}
        features = float(min(settings.schedule.one_set, data.gates.n))
        records.append({"part": "one set", **compared, "mean_features": features, "chosen": one_set is not None})
    shows = is_beyond_chance(said.evidence, settings.decisions.false_alarms)
    return Rehearsal(best.strength, shows, one_set, price, records)


def tries_one_set(settings: HonestSettings, gates: Gates, n_rows: int) -> bool:
    """Whether rehearsals of so many rows try one set for all of them: of more features than rows, at one price."""
    priced = settings.selector.k is None and settings.penalty == "auto"
    return is_wide(gates, n_rows, settings) and gates.cost is None and priced


def _one_set(problems: Problems, settings: HonestSettings, seed: int, run: Run) -> Said:
    """What predictors of the features most related to the target alone say of the rows held out."""
    generator = torch.Generator(device=problems.x.device).manual_seed(seed)
    x, y, _, gates, weight = problems
    folds = deal(x, y, settings.n_folds, settings.held_fraction, generator, False, gates, weight)
    return shown_whole(screen_to_one_set(folds, problems.task, settings, generator, seed, run).predictors)


def _splits(data: TrainingData, task: Task, splits: int, seed: int) -> Iterator[Problems]:
    """The rows in several orders, of which every one holds out other rows: side by side where the gates allow it.

    Rows dealt as they come are held out from the end, so every order is rolled on from the one before.
    """
    n = len(data.x)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(data.x.device)
    orders = [order.roll(split * (n // splits)) for split in range(splits)]
    gates = data.gates.to(data.x.device)
    for group in [orders] if gates.plain else [[one] for one in orders]:
        x, y = (torch.stack([value[rows] for rows in group]) for value in (data.x, data.y))
        weight = None if data.weight is None else torch.stack([data.weight[rows] for rows in group])
        yield Problems(x, y, task, gates, weight)
