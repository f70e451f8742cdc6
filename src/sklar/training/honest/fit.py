"""Honest training: masks that cannot leak the label, and a penalty that chooses itself.

Predictors learn from masks that say nothing about their rows; the selector learns through them, and does not move
them. Its gradient is exact: flip a feature, see what the flip gains, and move the score by penalty - gain. The selector
is told the penalty as one more input, drawn anew for every row, so that one training gives the whole path.

    warm up the predictors -> screen -> train along the path -> choose the penalty -> train on, with all rows
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sklar.model.gates import Gates, to_inputs
from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.training.engine.loop import Record
from sklar.training.engine.runtime import threads_for
from sklar.training.honest.decisions import (
    choose_level,
    choose_penalties,
    exclude_substitutes,
    loss_spread,
    shut_useless,
)
from sklar.training.honest.folds import deal
from sklar.training.honest.row_means import mean_and_error
from sklar.training.honest.screening import union
from sklar.training.honest.selector import train_selector
from sklar.training.honest.stage import SelectorSettings, Stage
from sklar.training.penalty_path import PathChoice
from sklar.training.tasks import Task


@dataclass(frozen=True)
class Schedule:
    """How many steps each part takes, and the penalties tried."""

    warm_steps: int = 1000
    settle_steps: int = 400  # of the predictors, after screening
    path_steps: int = 700
    final_steps: int = 1500
    penalties: tuple[float, ...] = (0.001, 0.002, 0.004, 0.008)  # in standard deviations of the loss
    least_width: int = 16  # as many features or fewer are not screened
    most_width: int = 128  # and a union never has more

    def scaled(self, share: float) -> Schedule:
        """The same in fewer steps."""
        words = {name: max(2, round(getattr(self, name) * share)) for name in STEPS}
        return Schedule(**{**vars(self), **words})

    @property
    def total(self) -> int:
        """All steps together."""
        return sum(getattr(self, name) for name in STEPS)

    def screened_to(self, k: int | None) -> int:
        """As many features or fewer are not screened: so many, and twice as many as a row is to get."""
        return max(self.least_width, 2 * (k or 0))

    def steps_for(self, n_features: int, k: int | None) -> int:
        """The steps that a table takes: predictors settle only after screening."""
        return self.total - (self.settle_steps if n_features <= self.screened_to(k) else 0)


STEPS = ("warm_steps", "settle_steps", "path_steps", "final_steps")


@dataclass(frozen=True)
class HonestFit:
    """P trained problems."""

    stage: Stage
    columns: Tensor  # (P, w), the union's features (gates); those not alive only fill up the width
    log_penalty: Tensor  # (P,)
    choices: list[PathChoice | None]  # None where the penalty was given
    history: list[list[Record]]  # of each problem

    def penalty(self, problem: int = 0) -> float:
        """The penalty that was used."""
        return math.exp(float(self.log_penalty[problem]))

    def union(self, problem: int = 0) -> list[int]:
        """The features (gates) that one problem's model reads, in its order."""
        return [int(i) for i in self.columns[problem][self.stage.alive[problem]].cpu()]

    def model(self, problem: int = 0) -> HonestModel:
        """One problem's model, on the CPU; the penalty it was told and the level of its scores become biases.

        Its gates are as random as they were at the end of training.
        """
        stage = self.stage
        alive = stage.alive[problem].cpu()
        model = HonestModel(self._architecture(problem), torch.Generator())  # the weights are replaced below
        told = float((self.log_penalty[problem] - stage.middle[problem, 0, 0]) / 2)
        selector = {key: value[problem : problem + 1].cpu() for key, value in stage.selector.state_dict().items()}
        first = selector["first.weight"]
        selector["first.bias"] = selector["first.bias"] + told * first[:, -1:]
        sharpness = float(stage.sharpness) if stage.settings.k is None else 1.0
        selector["scores.bias"] = sharpness * (selector["scores.bias"] - stage.level[problem].cpu())
        selector["scores.weight"] = sharpness * selector["scores.weight"]
        gates = stage.folds.gates.to(alive.device)
        selector["first.weight"] = first[:, :-1][:, to_inputs(alive, gates.of_input)]
        for name in ("scores.weight", "scores.bias"):
            selector[name] = selector[name][..., alive]
        model.choice.load_state_dict(selector)
        n_folds = stage.folds.x.shape[1]
        read = torch.arange(len(alive))[alive].to(stage.alive.device)
        judges = stage.predictors.judge.only(read.expand(len(stage.alive) * n_folds, -1)).state_dict()
        mine = slice(problem * n_folds, (problem + 1) * n_folds)
        model.predictors.load_state_dict({key: value[mine].cpu() for key, value in judges.items()})
        model.substitutes.copy_(stage.substitutes[problem].cpu()[alive][:, alive])
        if stage.correlation is not None:
            model.loadings.data.copy_(stage.correlation.patterned()[problem].detach().cpu()[alive])
        return model.eval()

    def _architecture(self, problem: int) -> HonestArchitecture:
        stage, s = self.stage, self.stage.settings
        gates = stage.folds.gates
        if gates.known:
            gates = gates.only(torch.nonzero(stage.alive[problem]).squeeze(1))
        return HonestArchitecture(
            n_features=int(stage.alive[problem].sum()),
            n_outputs=stage.task.n_outputs,
            output_kind=stage.task.kind,
            k=s.k,
            covariance=s.covariance,
            n_factors=0 if stage.correlation is None else stage.correlation.loadings.shape[-1],
            choice_hidden=s.hidden,
            predict_hidden=s.predictor.hidden,
            activation=s.activation,
            n_folds=stage.folds.x.shape[1],
            gate_of_input=() if gates.of_input is None else tuple(gates.of_input.tolist()),
            forced=() if gates.forced is None else tuple(torch.nonzero(gates.forced).squeeze(1).tolist()),
            min_features=s.min_features,
        )


def fit_honest(
    x: Tensor,
    y: Tensor,
    task: Task,
    *,
    penalty: float | str = "auto",
    settings: SelectorSettings,
    schedule: Schedule,
    n_folds: int = 4,
    held_fraction: float = 0.2,
    seed: int = 0,
    gates: Gates | None = None,
    weight: Tensor | None = None,
    report: Callable[[], object] = lambda: None,
) -> HonestFit:
    """Train on standardised rows x (P, n, D) and targets y (P, n); `report` is told of every step.

    `gates` says which inputs a feature has, and what is known about features; None is one input each. `weight` (P, n)
    is what rows count: they are drawn by it.
    """
    generator = torch.Generator(device=x.device).manual_seed(seed)
    automatic = penalty == "auto" and settings.k is None
    gates = gates.to(x.device) if gates else None
    folds = deal(x, y, n_folds, held_fraction if automatic else 0.0, generator, gates=gates, weight=weight)
    stage = Stage(folds, task, settings, generator, seed)
    columns = _screened(stage, schedule, report)
    with threads_for(stage.alive.shape[1]):
        return _select(stage, columns, penalty, schedule, report)


def _screened(stage: Stage, schedule: Schedule, report: Callable[[], object]) -> Tensor:
    """Warm up the predictors and leave the stage with the union of features; return its columns (P, w)."""
    problems, d = stage.alive.shape
    with threads_for(d):
        stage.predictors.warm_up(schedule.warm_steps, stage.alive[:, None, None], report)
    least = schedule.screened_to(stage.settings.k)
    if d <= least:
        return torch.arange(d, device=stage.alive.device).expand(problems, d)
    keep = union(stage.predictors, least, max(schedule.most_width, 2 * least), stage.generator)
    forced = stage.folds.gates.forced
    columns = stage.prune(keep if forced is None else keep | forced)
    with threads_for(columns.shape[1]):
        stage.predictors.warm_up(schedule.settle_steps, stage.alive[:, None, None], report)
    return columns


def _select(
    stage: Stage, columns: Tensor, penalty: float | str, schedule: Schedule, report: Callable[[], object]
) -> HonestFit:
    """Train the selector along the path, choose the penalty, train on with all rows, and choose the level."""
    problems = len(columns)
    history: list[list[Record]] = [[] for _ in range(problems)]
    # a swap of one copy for another gains nothing: with k, gates need not be told to exclude each other
    if stage.settings.covariance != "independent" and stage.settings.k is None and stage.alive.shape[1] > 1:
        stage.correlate()
    grid = _log_penalties(stage, penalty, schedule)  # (P, G)
    stage.middle = grid.mean(1)[:, None, None]
    train_selector(stage, schedule.path_steps, grid[:, 0], grid[:, -1], stage.folds.n_train, report)
    _record(history, "path", stage, grid[:, grid.shape[1] // 2])
    choices: list[PathChoice | None] = [None] * problems
    chosen = grid[:, grid.shape[1] // 2]
    if grid.shape[1] > 1 and stage.folds.n_train < stage.folds.x.shape[2]:
        found = choose_penalties(stage, grid)
        chosen = grid.gather(1, torch.tensor([[choice.member] for choice in found], device=grid.device)).squeeze(1)
        choices = list(found)
    low, high = _range_of_last_training(grid, chosen)
    plenty = _plenty(stage)
    sharpest = 1 + (stage.settings.sharpest - 1) * plenty
    train_selector(stage, schedule.final_steps, low, high, stage.folds.x.shape[2], report, sharpest)
    if stage.settings.k is None:
        choose_level(stage, chosen, plenty)
        if plenty > 0:
            shut_useless(stage, chosen, BEYOND_CHANCE * plenty)
        exclude_substitutes(stage, chosen)
    _record(history, "final", stage, chosen)
    return HonestFit(stage, columns, chosen, choices, history)


FEW_ROWS = 5_000
BEYOND_CHANCE = 2.0  # standard errors that a feature's gains must be above 0, with plenty of rows


def _plenty(stage: Stage) -> float:
    """0 for few rows, 1 for twice as many and more.

    With few, gains are noisy: gates that hardly vary let the selector settle on the noise, and a true feature is worth
    no more standard errors than one that looks useful by chance.
    """
    n = stage.folds.x.shape[1] * stage.folds.x.shape[2]
    return min(1.0, max(0.0, n / FEW_ROWS - 1))


def _range_of_last_training(grid: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The whole path again, not the chosen penalty alone.

    At one end of the path alone the selector loses what it has learned: with the smallest penalty the switch blurs,
    with the largest weak features go.
    """
    return grid[:, 0], grid[:, -1]


def _log_penalties(stage: Stage, penalty: float | str, schedule: Schedule) -> Tensor:
    """The path of log-penalties, (P, G), small to large; a given penalty is a path of one."""
    unit = loss_spread(stage).clamp_min(1e-6).unsqueeze(1)
    if penalty == "auto":
        return (unit * torch.tensor(schedule.penalties, device=unit.device)).log()
    return torch.full_like(unit, max(float(penalty), 1e-8)).log()


def _record(history: list[list[Record]], part: str, stage: Stage, log_penalty: Tensor) -> None:
    """Note where each problem stands: the loss of its training rows, judged out of fold, and features a row."""
    x, _ = stage.folds.training
    mask = stage.masks(x.flatten(1, 2), log_penalty).view(*x.shape[:3], -1)
    losses = mean_and_error(stage.out_of_fold_losses(mask), stage.folds.training_weight)[0].tolist()
    sizes = mask.sum(-1).mean((1, 2)).tolist()
    for records, loss, size in zip(history, losses, sizes, strict=True):
        records.append({"part": part, "loss": loss, "mean_features": size})
