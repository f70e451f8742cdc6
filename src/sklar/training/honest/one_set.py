"""Few rows of thousands of features: one set for all rows, of the features most related to the target one by one.

Sixty rows cannot say which of thousands of features decide *this* row, and hardly which decide any: a network that
reads all of them finds others in every fold, and of the prices on the path most show nothing. What each feature says
alone is a mean over all rows, and survives. So where there are more features than rows, rehearsals try that set too,
and take it where held-out rows, each of which was held out once, lose less by it than by the selector's choices.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.model.gates import Gates, largest_by_gate
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.confidence import Said
from sklar.training.honest.decisions import evidence_of
from sklar.training.honest.folds import Folds
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.prescreen import constant_output
from sklar.training.honest.scoring import Decisions
from sklar.training.honest.screening import CHUNK, Screened, score_z
from sklar.training.honest.settings import SHUT, HonestSettings
from sklar.training.tasks import Task

EVERY_SCORE = 0.5 * SHUT  # a threshold that every score exceeds, but for those of gates that are shut


def is_wide(gates: Gates, n_rows: int, settings: HonestSettings) -> bool:
    """Whether there are more features than rows: what all of them say together is noise then."""
    return gates.n > max(n_rows, settings.schedule.least_width)


def most_related(folds: Folds, task: Task, most: int) -> Tensor:
    """The `most` features that training rows relate to the target most clearly one by one, in ascending order: (P, w).

    Forced features are of them. One straight relation is asked about: with thousands of features, every further
    question finds more that fit by chance.
    """
    (x, y), gates = (part.flatten(1, 2) for part in folds.training), folds.gates
    weight = folds.training_weight
    weight = torch.ones_like(x[..., 0]) if weight is None else weight
    pairs = zip(y, weight, strict=True)
    residual = torch.stack([task.residuals(constant_output(task, *pair), pair[0]) for pair in pairs])
    residual, encoded = residual * weight.unsqueeze(-1), gates.of_input is not None
    parts = [score_z(part, residual, encoded, straight=True) for part in x.split(CHUNK, dim=2)]
    strength = largest_by_gate(torch.cat(parts, dim=1), gates.of_input, gates.n)
    if gates.forced is not None:
        strength = strength.masked_fill(gates.forced, torch.inf)
        most = max(most, int(gates.forced.sum()))
    return strength.topk(min(most, gates.n), dim=1).indices.sort(dim=1).values


def screen_to_one_set(
    folds: Folds, task: Task, settings: HonestSettings, generator: torch.Generator, seed: int, run: Run
) -> Screened:
    """The set of each problem, and predictors that have learned all they will from it, shown whole.

    They read no other features. Masks of part of the set would teach them to do without the rest, which costs what few
    rows have to say; and more steps would teach them the rows by heart.
    """
    columns = most_related(folds, task, settings.schedule.one_set)
    narrow = folds.only(columns, torch.ones_like(columns, dtype=torch.bool))
    predictors = FoldPredictors(narrow, task, settings.predictor, generator, seed, run.team)
    n_steps = settings.schedule.warm_steps + settings.schedule.settle_steps
    with threads_for(columns.shape[1]):
        predictors.warm_up(n_steps, run, decay_to_zero=True, whole=True)
    if settings.one_set is not None:
        for network in (predictors.learner.network, predictors.judge):
            network.scale_outputs(settings.one_set, task.n_predicted)
    predictors.is_done = True
    return Screened(predictors, columns)


def shown_whole(predictors: FoldPredictors) -> Said:
    """What predictors of one set say of the held-out rows of all problems, shown all of it."""
    x, y = predictors.folds.held_out
    mask = torch.ones_like(predictors.folds.gates.like(x))
    outputs, evidence = evidence_of(predictors, mask)
    return Said(outputs.flatten(0, 1), y.flatten(), evidence.ravel())


def show_all(alive: Tensor, shows: list[bool]) -> Decisions:
    """All features of the set for every row, or none where a problem `shows` nothing."""
    decisions = Decisions.none(alive)
    idle = ~torch.tensor(shows, device=alive.device).unsqueeze(1).expand_as(alive)
    return decisions._replace(score_threshold=torch.full_like(decisions.score_threshold, EVERY_SCORE), shut=idle)
