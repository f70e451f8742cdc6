"""Honest training: masks that cannot leak the label, and a penalty that chooses itself.

Predictors learn from masks that say nothing about their rows; the selector learns through them, and does not move
them. Its gradient is exact: flip a feature, see what the flip gains, and move the score by penalty - gain. The penalty
is one more input of the selector, drawn anew for every row, so that one training gives the whole path.

    warm up the predictors -> screen -> train along the path with each strength -> choose strength and penalty by rows
    held out -> train on, with all rows -> decide
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sklar.model.gates import Gates
from sklar.training.data import Trained, TrainingData, combined
from sklar.training.engine.loop import Record, progress_bar
from sklar.training.engine.runtime import spawn_seeds, threads_for
from sklar.training.honest.decisions import decide, mean_and_error, penalty_unit, training_masks
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.result import HonestFit
from sklar.training.honest.scoring import Decisions, Selector, new_selector
from sklar.training.honest.screening import Screened, screen
from sklar.training.honest.selector import PenaltyRange, train_selector
from sklar.training.honest.settings import HonestSettings
from sklar.training.honest.strength import Candidate, joined, pool, preferred, shows_something, try_strengths
from sklar.training.penalty_path import PathChoice
from sklar.training.tasks import Task

NOTHING = (
    "no feature can be shown to matter: on held-out rows no selection predicts better than nothing shown, so every row "
    "gets none; more rows may show more, and a given penalty selects regardless"
)


def train_honest(params: dict[str, Any], data: TrainingData, task: Task, k: int | None, seed: int) -> Trained:
    """Train as an estimator's parameters say; `n_models` of them become one ensemble."""
    n_models = params["n_models"]
    if n_models > 1 and not data.gates.plain:  # such gates are of one union: members screen, and train, in turn
        one = {**params, "n_models": 1}
        return combined([train_honest(one, data, task, k, s) for s in spawn_seeds(seed, n_models)])
    settings = HonestSettings.from_params(params, len(data.x), k)
    # All models side by side, as problems: each has its own folds, weights and draws.
    x, y = (value.expand(n_models, *value.shape) for value in (data.x, data.y))
    weight = None if data.weight is None else data.weight.expand(n_models, -1)
    task, steps = task.to(data.x.device), settings.steps_for(len(data.x), data.gates.n)
    with progress_bar(steps, "training", bool(params["verbose"])) as bar:
        fit = fit_honest(x, y, task, settings, seed=seed, gates=data.gates, weight=weight, report=bar.update)
    if not any(fit.shows):
        warnings.warn(NOTHING, stacklevel=3)
    paths = [choice.path if choice else {} for choice in fit.choices]
    members = range(n_models)
    return combined([Trained(fit.model(i), fit.union(i), fit.penalty(i), paths[i], fit.history[i]) for i in members])


def fit_honest(
    x: Tensor,
    y: Tensor,
    task: Task,
    settings: HonestSettings,
    *,
    seed: int = 0,
    gates: Gates | None = None,
    weight: Tensor | None = None,
    report: Callable[[], object] = lambda: None,
) -> HonestFit:
    """Train on standardised rows x (P, n, D) and targets y (P, n); `report` is called ahead of every step.

    `gates` says which inputs a feature has, None one each. Rows are drawn by their `weight` (P, n).
    """
    data = Problems(x, y, task, gates.to(x.device) if gates else None, weight)
    settings, rehearsed, shown = _rehearsed(data, settings, seed, report)
    begun = _begin(data, settings, seed, report)
    screened, grid, schedule = begun.screened, begun.grid, settings.schedule
    with threads_for(screened.columns.shape[1]):
        candidates = try_strengths(begun.selector, screened.predictors, grid, settings, report)
        which = [preferred(candidates, [p]) for p in range(len(grid))]
        selector, predictors = joined(candidates, which)
        screened = replace(screened, predictors=predictors)
        choices = [candidates[i].choices[p] if candidates[i].choices else None for p, i in enumerate(which)]
        shows = [_shows(candidates[i], p, settings, shown) for p, i in enumerate(which)]
        tried = [
            [c.record(p, i == best) for i, c in enumerate(candidates) if c.choices] for p, best in enumerate(which)
        ]
        middle = grid[:, grid.shape[1] // 2]
        after_path = _records("path", selector, predictors, middle, Decisions.none(selector.alive))

        log_penalty, folds = _chosen(grid, choices), predictors.folds
        sufficiency = settings.decisions.row_sufficiency(folds.n_rows)
        sharpest = 1 + (settings.selector.sharpest - 1) * sufficiency
        last, n_rows = _range_of_last_training(grid, log_penalty), folds.x.shape[2]
        selector = train_selector(selector, predictors, last, schedule.final_steps, n_rows, report, sharpest)

        decisions = decide(selector, predictors, log_penalty, settings.decisions, sufficiency, shows)
        at_end = _records("final", selector, predictors, log_penalty, decisions)
    history = [[*(rehearsed or tried[p]), after_path[p], at_end[p]] for p in range(len(grid))]
    choices = [None if grid.shape[1] == 1 else choice for choice in choices]
    return HonestFit(screened, selector, decisions, log_penalty, choices, history, shows)


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


def _begin(
    data: Problems, settings: HonestSettings, seed: int, report: Callable[[], object], shuffle: bool = True
) -> Begun:
    """Deal the rows, warm up the predictors, and screen the features."""
    generator = torch.Generator(device=data.x.device).manual_seed(seed)
    folds = deal(data.x, data.y, settings.n_folds, settings.held_fraction, generator, shuffle, data.gates, data.weight)
    predictors = FoldPredictors(folds, data.task, settings.predictor, generator, seed)
    with threads_for(folds.gates.n):
        predictors.warm_up(settings.schedule.warm_steps, report)
    screened = screen(predictors, settings.schedule, settings.screening, settings.selector.k, report)
    with threads_for(screened.columns.shape[1]):
        grid = _log_penalties(screened.predictors, settings)
        return Begun(screened, new_selector(folds.gates, screened, settings.selector, grid, seed), grid)


def _rehearsed(
    data: Problems, settings: HonestSettings, seed: int, report: Callable[[], object]
) -> tuple[HonestSettings, list[Record], bool | None]:
    """The settings with the strength that several splits of few rows choose together.

    With it what was tried, and whether held-out rows show anything; None where the fit's own held-out rows decide.
    """
    n, splits = data.x.shape[1], settings.schedule.splits_for(data.x.shape[1])
    if splits == 1 or len(settings.strengths) == 1 or settings.held_fraction == 0:
        return settings, [], None
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).to(data.x.device)
    # rows dealt as they come are held out from the end: rolled on, every split holds out others
    rows = [order.roll(split * (n // splits)) for split in range(splits)]
    together = data.gates is None or data.gates.plain
    found: list[list[Candidate]] = []
    for part in [rows] if together else [[one] for one in rows]:
        weight = None if data.weight is None else torch.stack([data.weight[0, one] for one in part])
        x, y = (torch.stack([value[0, one] for one in part]) for value in (data.x, data.y))
        begun = _begin(data._replace(x=x, y=y, weight=weight), settings, seed, report, shuffle=False)
        with threads_for(begun.screened.columns.shape[1]):
            found.append(try_strengths(begun.selector, begun.screened.predictors, begun.grid, settings, report))
    pooled = [pool(candidates) for candidates in zip(*found, strict=True)]
    problems = list(range(splits))
    best = preferred(pooled, problems)
    shown = shows_something(pooled[best], problems, settings.decisions.false_alarms)
    records = [one.record_of(problems, one is pooled[best]) for one in pooled]
    return replace(settings, strengths=(pooled[best].strength,)), records, shown


def _shows(candidate: Candidate, problem: int, settings: HonestSettings, rehearsed: bool | None) -> bool:
    """Whether anything is to be shown to a problem's rows; where the penalty is given, or k, the user has said so."""
    if settings.penalty != "auto" or settings.selector.k is not None:
        return True
    if rehearsed is not None:
        return rehearsed
    return shows_something(candidate, [problem], settings.decisions.false_alarms)


def _log_penalties(predictors: FoldPredictors, settings: HonestSettings) -> Tensor:
    """The path of log-penalties, (P, G), small to large; a given penalty is a path of one."""
    unit = penalty_unit(predictors, settings.schedule.least_unit).clamp_min(1e-6).unsqueeze(1)
    if settings.penalty == "auto":
        return (unit * torch.tensor(settings.schedule.penalties, device=unit.device)).log()
    return torch.full_like(unit, max(float(settings.penalty), 1e-8)).log()


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
    return PenaltyRange(grid[:, 0], grid[:, -1])


def _records(
    part: str, selector: Selector, predictors: FoldPredictors, log_penalty: Tensor, decisions: Decisions
) -> list[Record]:
    """Where each problem stands: the loss of its training rows, judged out of fold, and features per row."""
    mask = training_masks(selector, predictors, log_penalty, decisions)
    losses = mean_and_error(predictors.out_of_fold_losses(mask), predictors.folds.training_weight)[0].tolist()
    sizes = mask.sum(-1).mean((1, 2)).tolist()
    return [{"part": part, "loss": a, "mean_features": b} for a, b in zip(losses, sizes, strict=True)]
