"""Honest training: masks that cannot leak the label, and a penalty that chooses itself.

Predictors learn from masks that say nothing about their rows; the selector learns through them, and does not move
them. Its gradient is exact: flip a feature, see what the flip gains, and move the score by penalty - gain. The penalty
is one more input of the selector, drawn anew for every row, so that one training gives the whole path.

    warm up the predictors -> screen -> train along the path -> choose the penalty -> train on, with all rows -> decide
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sklar.model.gates import Gates
from sklar.training.data import Trained, TrainingData, combined
from sklar.training.engine.loop import Record, progress_bar
from sklar.training.engine.runtime import spawn_seeds, threads_for
from sklar.training.honest.decisions import choose_penalties, decide, loss_spread, mean_and_error, training_masks
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.result import HonestFit
from sklar.training.honest.scoring import Decisions, Selector, new_selector
from sklar.training.honest.screening import screen
from sklar.training.honest.selector import PenaltyRange, train_selector
from sklar.training.honest.settings import HonestSettings
from sklar.training.penalty_path import PathChoice
from sklar.training.tasks import Task


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
    task, steps = task.to(data.x.device), settings.schedule.steps_for(data.gates.n, k)
    with progress_bar(steps, "training", bool(params["verbose"])) as bar:
        fit = fit_honest(x, y, task, settings, seed=seed, gates=data.gates, weight=weight, report=bar.update)
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
    schedule, k = settings.schedule, settings.selector.k
    generator = torch.Generator(device=x.device).manual_seed(seed)
    held = settings.held_fraction if settings.penalty == "auto" and k is None else 0.0
    gates = gates.to(x.device) if gates else None
    folds = deal(x, y, settings.n_folds, held, generator, gates=gates, weight=weight)

    predictors = FoldPredictors(folds, task, settings.predictor, generator, seed)
    with threads_for(folds.gates.n):
        predictors.warm_up(schedule.warm_steps, report)

    screened = screen(predictors, schedule, settings.screening, k, report)
    predictors = screened.predictors
    with threads_for(screened.columns.shape[1]):
        grid = _log_penalties(predictors, settings)  # (P, G)
        selector = new_selector(folds.gates, screened, settings.selector, grid, seed)
        path = PenaltyRange(grid[:, 0], grid[:, -1])
        selector = train_selector(selector, predictors, path, schedule.path_steps, folds.n_train, report)
        middle = grid[:, grid.shape[1] // 2]
        after_path = _records("path", selector, predictors, middle, Decisions.none(selector.alive))

        log_penalty, choices = _choice(selector, predictors, grid)
        sufficiency = settings.decisions.row_sufficiency(folds.n_rows)
        sharpest = 1 + (settings.selector.sharpest - 1) * sufficiency
        last, n_rows = _range_of_last_training(grid, log_penalty), folds.x.shape[2]
        selector = train_selector(selector, predictors, last, schedule.final_steps, n_rows, report, sharpest)

        decisions = decide(selector, predictors, log_penalty, settings.decisions, sufficiency)
        at_end = _records("final", selector, predictors, log_penalty, decisions)
    history = [list(records) for records in zip(after_path, at_end, strict=True)]
    return HonestFit(screened, selector, decisions, log_penalty, choices, history)


def _log_penalties(predictors: FoldPredictors, settings: HonestSettings) -> Tensor:
    """The path of log-penalties, (P, G), small to large; a given penalty is a path of one."""
    unit = loss_spread(predictors).clamp_min(1e-6).unsqueeze(1)
    if settings.penalty == "auto":
        return (unit * torch.tensor(settings.schedule.penalties, device=unit.device)).log()
    return torch.full_like(unit, max(float(settings.penalty), 1e-8)).log()


def _choice(selector: Selector, predictors: FoldPredictors, grid: Tensor) -> tuple[Tensor, list[PathChoice | None]]:
    """The log-penalty of each problem (P,): chosen by held-out rows, or the middle one where there are none."""
    if grid.shape[1] == 1 or predictors.folds.n_train == predictors.folds.x.shape[2]:
        return grid[:, grid.shape[1] // 2], [None] * len(grid)
    choices = choose_penalties(selector, predictors, grid)
    members = torch.tensor([[choice.member] for choice in choices], device=grid.device)
    return grid.gather(1, members).squeeze(1), list(choices)


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
