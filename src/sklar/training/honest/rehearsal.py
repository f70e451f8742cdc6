"""With few rows one held-out fifth decides little: several splits of the table decide together, before the fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from sklar.training.data import TrainingData
from sklar.training.engine.loop import Record
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.beginning import Problems, begin
from sklar.training.honest.settings import HonestSettings
from sklar.training.honest.strength import Candidate, begin_strengths, pool, preferred, shows_something
from sklar.training.tasks import Task


class Rehearsal(NamedTuple):
    """What the held-out rows of several splits say."""

    strength: float
    shows: bool  # whether anything can be shown to matter
    tried: list[Record]


def rehearse(data: TrainingData, task: Task, settings: HonestSettings, seed: int, run: Run) -> Rehearsal | None:
    """Try the strengths on several splits of few rows; None where a fit's own held-out rows are enough."""
    splits = settings.schedule.splits_for(len(data.x))
    if splits == 1 or len(settings.strengths) == 1 or settings.held_fraction == 0:
        return None
    parts = []
    for problems in _splits(data, task, splits, seed):
        begun = begin(problems, settings, seed, run, shuffle=False)
        if not begun.screened.predictors.folds.has_held_out:  # a handful of rows
            return None
        with threads_for(begun.screened.columns.shape[1]):
            tried = begin_strengths(begun.selector, begun.screened.predictors, begun.grid, settings, run)
            parts.append([one.trained(begun.grid, settings.schedule.path_steps, run) for one in tried])
    pooled: list[Candidate] = [pool(candidates) for candidates in zip(*parts, strict=True)]
    everything = range(splits)
    best = pooled[preferred(pooled, everything, settings)]
    shows = shows_something(best.held_out, settings.decisions.false_alarms)
    return Rehearsal(best.strength, shows, [one.record(everything, one is best) for one in pooled])


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
