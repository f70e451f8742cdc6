"""Honest training: masks that cannot leak the label, and a penalty that chooses itself.

Predictors learn from masks that say nothing about their rows; the selector learns through them, and does not move
them. Its gradient is exact: flip a feature, see what the flip gains, and move the score by penalty - gain. The penalty
is one more input of the selector, drawn anew for every row, so that one training gives the whole path.

    choose how predictors read the table -> warm them up -> screen -> train along the path with each strength -> choose
    strength and penalty by rows held out -> train on, with all rows -> decide
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sklar.model.gates import Gates
from sklar.training.data import Trained, TrainingData, combined
from sklar.training.engine.checkpoint import Checkpoint
from sklar.training.engine.loop import Record
from sklar.training.engine.progress import Progress
from sklar.training.engine.renewal import renewing
from sklar.training.engine.run import Run
from sklar.training.engine.runtime import spawn_seeds, threads_for
from sklar.training.engine.team import Team
from sklar.training.honest.beginning import Problems, begin
from sklar.training.honest.deciding import decide
from sklar.training.honest.decisions import HeldOut, mean_and_error, training_masks
from sklar.training.honest.one_set import show_all
from sklar.training.honest.parts import parts_of
from sklar.training.honest.persuasion import with_spread
from sklar.training.honest.predictor_choice import choose_predictors, with_first_reading
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.prices import Start, asked_elsewhere, train_counts, train_prices
from sklar.training.honest.rehearsal import rehearse
from sklar.training.honest.replacing import find_replacements
from sklar.training.honest.result import HonestFit
from sklar.training.honest.row_part import learn_row_part
from sklar.training.honest.scoring import Decisions, PenaltyRange, Selector
from sklar.training.honest.selector import train_selector
from sklar.training.honest.settings import HonestSettings
from sklar.training.honest.strength import choose_strengths, joined, shows_something, steps_on
from sklar.training.penalty_path import PathChoice
from sklar.training.tasks import Task

NOTHING = (
    "no feature can be shown to matter: on held-out rows no selection predicts better than nothing shown, so every row "
    "gets none; more rows may show more, and a given penalty selects regardless"
)
EMPTY = (
    "no training row gets a feature: at the penalty {:.3g}, which {}, none is worth its price; a smaller penalty "
    "selects more"
)


def train_honest(
    params: dict[str, Any],
    data: TrainingData,
    task: Task,
    k: int | None,
    seed: int,
    checkpoint: Checkpoint | None = None,
) -> Trained:
    """Train as an estimator's parameters say; `n_models` of them become one ensemble."""
    n_models = params["n_models"]
    if n_models > 1 and not data.gates.plain:  # such gates are of one union: members screen, and train, in turn
        one = {**params, "n_models": 1}
        return combined([train_honest(one, data, task, k, s, checkpoint) for s in spawn_seeds(seed, n_models)])
    settings = HonestSettings.from_params(params, len(data.x), k)
    # All models side by side, as problems: each has its own folds, weights and draws.
    x, y = (value.expand(n_models, *value.shape) for value in (data.x, data.y))
    weight = None if data.weight is None else data.weight.expand(n_models, -1)
    if settings.selector.max_excess is not None:
        task = with_spread(task)
    task, parts = task.to(data.x.device), parts_of(settings, len(data.x), data.gates, n_models)
    team = Team.current()
    if team.size > 1 and checkpoint is not None:
        raise ValueError("a fit by several processes keeps no checkpoint; leave it out, or fit in one process")
    team.require_same(data.x, "rows")
    team.require_same(data.y, "targets")
    team.require_same(torch.tensor([seed], device=data.x.device), "seeds")
    verbose = bool(params["verbose"]) and team.rank == 0
    with renewing(data.more if team.is_alone else None, verbose) as renewal, Progress(parts, verbose) as bar:
        run = Run(bar, checkpoint, team)
        chosen, tried = choose_predictors(data, task, settings, seed, run)
        # Rehearsals hold out every row once, and would judge by rows that chose.
        rehearsal = rehearse(data, task, with_first_reading(settings, data.gates), seed, run)
        settings = chosen if rehearsal is None else rehearsal.applied(chosen)
        run = Run(bar, checkpoint, team, renewal)  # what was tried before was compared on the same rows
        fit = fit_honest(x, y, task, settings, seed=seed, gates=data.gates, weight=weight, run=run)
    if not any(fit.shows):
        warnings.warn(NOTHING, stacklevel=3)
    elif not any(history[-1]["mean_features"] for history in fit.history):
        whose = "held-out rows chose" if settings.penalty == "auto" else "was given ('auto' lets held-out rows choose)"
        warnings.warn(EMPTY.format(fit.penalty(0), whose), stacklevel=3)
    tried += [] if rehearsal is None else rehearsal.tried
    tried += [] if renewal is None else [{"part": "new rows", "rows": renewal.n_rows}]
    return combined([_trained(fit, i, tried) for i in range(n_models)])


def _trained(fit: HonestFit, problem: int, tried: list[Record]) -> Trained:
    """One problem's model, as an estimator takes it."""
    return Trained(
        fit.model(problem),
        fit.union(problem),
        fit.penalty(problem),
        fit.paths[problem],
        [*tried, *fit.history[problem]],
        None if fit.priced is None else fit.priced.model(problem),
        (fit.screened.predictors.folds.fold_of_row(problem).cpu().numpy(),),
        tuple(find_replacements(fit, problem)),
    )


def fit_honest(
    x: Tensor,
    y: Tensor,
    task: Task,
    settings: HonestSettings,
    *,
    seed: int = 0,
    gates: Gates | None = None,
    weight: Tensor | None = None,
    run: Run | None = None,
) -> HonestFit:
    """Train on standardised rows x (P, n, D) and targets y (P, n).

    `gates` says which inputs a feature has, None one each. Rows are drawn by their `weight` (P, n).
    """
    run = run or Run()
    data = Problems(x, y, task, gates.to(x.device) if gates else None, weight)
    begun = begin(data, settings, seed, run)
    screened, grid = begun.screened, begun.grid
    with threads_for(screened.columns.shape[1]):
        candidates, which = choose_strengths(begun.selector, screened.predictors, grid, settings, run)
        selector, predictors = joined(candidates, which)
        screened = replace(screened, predictors=predictors)
        asked = grid.shape[1] > 1  # else the penalty was given
        held_out = [candidates[i].held_out for i in which]
        choices = [rows[p].choice if rows and asked else None for p, rows in enumerate(held_out)]
        if settings.price is not None:
            choices = [settings.price.in_units(penalties) for penalties in grid.exp().tolist()]
        shows = [_shows(rows[p : p + 1], settings) for p, rows in enumerate(held_out)]
        tried = [[c.record([p], c is candidates[i]) for c in candidates if c.held_out] for p, i in enumerate(which)]
        elsewhere = asked_elsewhere(selector, grid, settings)
        start = Start.of(candidates, grid, settings) if elsewhere and settings.selector.k is None else None
        middle = grid[:, grid.shape[1] // 2]
        after_path = _records("path", selector, predictors, middle, Decisions.none(selector.alive))

        # One set is what the least penalty buys: a larger one shows less of it.
        log_penalty, folds = grid[:, 0] if settings.one_set is not None else _chosen(grid, choices), predictors.folds
        sufficiency = settings.decisions.row_sufficiency(folds.n_rows)
        sharpest = 1 + (settings.selector.sharpest - 1) * sufficiency
        last, n_rows = _range_of_last_training(grid, log_penalty), folds.x.shape[2]
        _, steps, rate = steps_on(settings, len(candidates))
        selector = train_selector(selector, predictors, last, steps, n_rows, run, sharpest, rate)

        if settings.one_set is not None:
            row_part, decisions = None, show_all(selector.alive, shows)
        else:
            decisions = decide(selector, predictors, log_penalty, settings.decisions, sufficiency, shows)
            row_part, decisions = learn_row_part(selector, predictors, log_penalty, decisions, settings.decisions)
        at_end = _records("final", selector, predictors, log_penalty, decisions)
        prices = [choice.records() if choice and settings.one_set is None else [] for choice in choices]
        history = [[*tried[p], *prices[p], after_path[p], at_end[p]] for p in range(len(grid))]
        paths = [choice.path if choice else {} for choice in choices]
        fit = HonestFit(screened, selector, decisions, log_penalty, choices, history, shows, paths, row_part=row_part)
        if start is not None:
            return train_prices(start, fit, settings, sharpest, run)
        return train_counts(fit, settings, run) if elsewhere else fit


def _shows(held_out: list[HeldOut], settings: HonestSettings) -> bool:
    """Whether anything is to be shown to a problem's rows; where the penalty is given, or k, the user has said so."""
    if settings.penalty != "auto" or settings.selector.k is not None:
        return True
    if settings.shows is not None:
        return settings.shows
    return shows_something(held_out, settings.decisions.false_alarms)


def _chosen(grid: Tensor, choices: list[PathChoice | None]) -> Tensor:
    """The log-penalty of each problem (P,): chosen by held-out rows, or the middle one where there are none."""
    middle = grid.shape[1] // 2
    members = torch.tensor([[middle if choice is None else choice.member] for choice in choices], device=grid.device)
    return grid.gather(1, members).squeeze(1)


def _range_of_last_training(grid: Tensor, log_penalty: Tensor) -> PenaltyRange:
    """The whole path again, not the chosen penalty alone.

    At one end of the path alone the selector loses what it has learned: with the smallest penalty the switch blurs,
    with the largest weak features go.
    """
    return PenaltyRange.along(grid)


def _records(
    part: str, selector: Selector, predictors: FoldPredictors, log_penalty: Tensor, decisions: Decisions
) -> list[Record]:
    """Where each problem stands: the loss of its training rows, judged out of fold, and features per row."""
    mask = training_masks(selector, predictors, log_penalty, decisions)
    losses = mean_and_error(predictors.out_of_fold_losses(mask), predictors.folds.training_weight)[0].tolist()
    sizes = mask.sum(-1).mean((1, 2)).tolist()
    return [{"part": part, "loss": a, "mean_features": b} for a, b in zip(losses, sizes, strict=True)]
