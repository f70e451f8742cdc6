"""What rows decide that are judged by predictors that never saw them.

The penalty and its unit, the threshold of the scores, and which features are worth their price.
Here `selector` scores, `predictors` judge, and a log-penalty is given for each problem (P,).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.training.honest.gate_correlation import block_pattern
from sklar.training.honest.held_out import path_rows
from sklar.training.honest.persuasion import excess_of_held_out
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Decisions, Selector
from sklar.training.honest.settings import DecisionSettings
from sklar.training.penalty_path import PathChoice, choose_penalty
from sklar.training.tasks import Task


def mean_and_error(values: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The mean over rows (P, n) by weight (P, n), and its standard error: (P,), (P,)."""
    if weight is None:
        return values.mean(1), values.std(1) / values.shape[1] ** 0.5
    share = weight / weight.sum(1, keepdim=True)
    mean = (share * values).sum(1)
    return mean, (share * (values - mean.unsqueeze(1))).square().sum(1).sqrt()


def deviation(values: Tensor, weight: Tensor | None) -> Tensor:
    """The standard deviation over rows (P, n), by weight (P, n): (P,)."""
    if weight is None:
        return values.std(1)
    share = weight / weight.sum(1, keepdim=True)
    mean = (share * values).sum(1, keepdim=True)
    return (share * (values - mean).square()).sum(1).sqrt()


def penalty_unit(predictors: FoldPredictors, least_share: float) -> Tensor:
    """The standard deviation of the loss, of training rows shown everything, judged out of fold: (P,).

    But at least so much of the loss of rows shown nothing: where labels have no noise the deviation shrinks to
    nothing, and any feature would be worth a price in such units.
    """
    (x, _), weight = predictors.folds.training, predictors.folds.training_weight
    everything = predictors.alive[:, None, None].expand(*x.shape[:3], -1).to(x.dtype)
    spread = deviation(predictors.out_of_fold_losses(everything), weight)
    return torch.maximum(spread, least_share * loss_of_nothing(predictors))


def loss_of_nothing(predictors: FoldPredictors) -> Tensor:
    """The mean loss of training rows shown nothing, judged out of fold, without its sign: (P,)."""
    (x, _), alive = predictors.folds.training, predictors.alive
    losses = predictors.out_of_fold_losses(
        torch.zeros_like(alive[:, None, None].expand(*x.shape[:3], -1), dtype=x.dtype)
    )
    return mean_and_error(losses, predictors.folds.training_weight)[0].abs()


def training_masks(selector: Selector, predictors: FoldPredictors, log_penalty: Tensor, decisions: Decisions) -> Tensor:
    """The masks of training rows without noise: (P, F, n, d)."""
    x, _ = predictors.folds.training
    return selector.masks(x.flatten(1, 2), log_penalty, decisions).view(*x.shape[:3], -1)


class HeldOut(NamedTuple):
    """What the held-out rows of one problem say at the penalty that they choose."""

    choice: PathChoice
    losses: np.ndarray  # (n,)
    sizes: np.ndarray  # features of each row, (n,)
    evidence: np.ndarray  # that the masks say anything, of mean 0 where they do not, (n,)
    outputs: Tensor  # of the predictors together, at every penalty of the path: (G, n, out)
    excess: np.ndarray | None = None  # what the choice says beyond the values, of mean 0 where it does not, (n,)


def choose_penalties(selector: Selector, predictors: FoldPredictors, grid: Tensor) -> list[HeldOut]:
    """The penalty of each problem, of log-penalties (P, G), by its held-out rows."""
    x, _ = predictors.folds.held_out
    undecided = Decisions.none(selector.alive)
    masks = [selector.masks(x, column, undecided) for column in grid.unbind(1)]
    paths = path_rows(predictors, masks, grid)
    choices = [choose_penalty(*path) for path in paths]
    members = torch.tensor([choice.member for choice in choices], device=x.device)
    chosen = selector.masks(x, grid.gather(1, members.unsqueeze(1)).squeeze(1), undecided)
    sizes = chosen.sum(-1).cpu().numpy()
    evidence = evidence_of(predictors, chosen)[1]
    outputs = torch.stack([predictors.held_out_outputs(x, mask) for mask in masks], 1)  # (P, G, n, out)
    held_out = [
        HeldOut(choice, paths[p].row_losses[choice.member], sizes[p], evidence[p], outputs[p])
        for p, choice in enumerate(choices)
    ]
    priced = selector.settings.k is not None and selector.settings.max_excess is not None
    excess = excess_of_held_out(predictors, chosen) if priced else None
    return held_out if excess is None else [one._replace(excess=e) for one, e in zip(held_out, excess, strict=True)]


def evidence_of(predictors: FoldPredictors, mask: Tensor) -> tuple[Tensor, np.ndarray]:
    """What masks (P, n, d) of held-out rows predict, (P, n, out), and the score of adding it to nothing: (P, n)."""
    x, y = predictors.folds.held_out
    forced = predictors.folds.gates.forced
    nothing = torch.zeros_like(mask) if forced is None else forced.expand_as(mask).to(mask.dtype)
    before, after = (predictors.held_out_outputs(x, m) for m in (nothing, mask))
    score = score_of_change(predictors.task, before, after, y, torch.ones_like(mask[..., 0]))
    return after, score.cpu().numpy()


def score_of_change(task: Task, before: Tensor, after: Tensor, y: Tensor, counted: Tensor) -> Tensor:
    """residual * (change - its mean) of predictions (P, n, out) for the rows `counted` (P, n), 0 for others: (P, n).

    Of mean 0 where the change says nothing about y, however sure the predictors are of it. A loss is not: predictors
    that are too sure of a weak feature lose by it nearly what they gain.
    """
    residual = task.residuals(before, y)  # (P, n, C)
    change = (after - before)[..., : task.n_predicted]
    if change.shape[-1] != residual.shape[-1]:  # of two classes one residual stands for both
        change = change[..., 1:] - change[..., :1]
    counted = counted.unsqueeze(-1)
    mean = (change * counted).sum(1, keepdim=True) / counted.sum(1, keepdim=True).clamp_min(1)
    return (residual * (change - mean) * counted).sum(-1)


@torch.no_grad()
def choose_threshold(
    selector: Selector,
    predictors: FoldPredictors,
    log_penalty: Tensor,
    settings: DecisionSettings,
    row_sufficiency: float,
) -> Tensor:
    """What a score must exceed so that little is lost on training rows, judged out of fold: (P,).

    Gains are larger than penalties, so that near a switch the smooth selector leans to selecting: there a score
    above 0 may say no more than that a neighbour needs the feature. Of the thresholds within one standard error of the
    best the one nearest to the usual is taken: where they differ little in what they lose, chance would decide. With
    few rows (`row_sufficiency` 0) everything is within one error; there it is the best and, of equal ones, the lowest.
    """
    x, _ = predictors.folds.training
    scores = selector.scores(x.flatten(1, 2), log_penalty[:, None, None])
    thresholds, weight = torch.tensor(settings.score_thresholds, device=x.device), predictors.folds.training_weight
    undecided = Decisions.none(selector.alive)
    masks = (selector.decided(scores, undecided._replace(score_threshold=one)) for one in thresholds)
    losses = torch.stack([predictors.out_of_fold_losses(m.to(x.dtype).view(*x.shape[:3], -1)) for m in masks])
    best = torch.stack([mean_and_error(one, weight)[0] for one in losses]).argmin(0)  # losses (L, P, n) -> (P,)
    least = losses.gather(0, best[None, :, None].expand(1, *losses.shape[1:]))
    more = (mean_and_error(one, weight) for one in losses - least)
    as_good = torch.stack([mean <= row_sufficiency * error for mean, error in more])  # (L, P)
    away = (thresholds - row_sufficiency * settings.usual_threshold).abs().unsqueeze(1)
    return thresholds[torch.where(as_good, away, torch.inf).argmin(0)]  # of equally near ones the lower


@torch.no_grad()
def find_useless(
    selector: Selector,
    predictors: FoldPredictors,
    log_penalty: Tensor,
    decisions: Decisions,
    errors: float,
    stand_in: float,
) -> Tensor:
    """Features that may say nothing, even where no correlated feature stands in for them: bool (P, d).

    Over all rows that get it, the score of what a feature changes must be so many standard `errors` above 0. Of many
    features and many kinds of rows some look useful to one kind by chance; the selector weighs gains against a price,
    not against chance.
    """
    shut = torch.zeros_like(selector.alive)
    if selector.settings.min_features > 0:
        return shut
    folds = predictors.folds
    mask = training_masks(selector, predictors, log_penalty, decisions)
    itself = torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
    stand_ins = block_pattern(folds.training[0].flatten(1, 2), folds.gates.of_input, stand_in).bool() & ~itself
    free = mask.flatten(1, 2).any(1) if selector.forced is None else mask.flatten(1, 2).any(1) & ~selector.forced
    clear = {i: _evidence_of(predictors, mask, i, stand_ins) for i in free.any(0).nonzero().flatten().tolist()}
    for i in sorted(clear, key=lambda i: float(clear[i].min())):
        if bool(((clear[i] < errors) & free[:, i]).any()):
            idle = (_evidence_of(predictors, mask, i, stand_ins) < errors) & free[:, i]  # again: others may have gone
            mask[idle, ..., i] = 0
            shut[idle, i] = True
    return shut


def _evidence_of(predictors: FoldPredictors, mask: Tensor, i: int, stand_ins: Tensor) -> Tensor:
    """The score of feature i in masks (P, F, n, d) without its stand-ins (P, d, d), in standard errors: (P,)."""
    gets = mask[..., i]
    rows = gets.argsort(2, descending=True)[:, :, : int(gets.sum(2).max())]  # the others say nothing
    alone = mask.gather(2, rows.unsqueeze(-1).expand(-1, -1, -1, mask.shape[-1])) * ~stand_ins[:, i][:, None, None]
    without = alone * (torch.arange(mask.shape[-1], device=mask.device) != i)
    before, after = (predictors.out_of_fold_outputs(shown, rows) for shown in (without, alone))
    y, counted = predictors.training_rows(rows)[1].flatten(1), gets.gather(2, rows)
    score = score_of_change(predictors.task, before, after, y, counted.flatten(1))
    scores = torch.zeros_like(gets).scatter_(2, rows, score.view_as(rows)).flatten(1)
    mean, error = mean_and_error(scores, predictors.folds.training_weight)
    return mean / error.clamp_min(1e-12)
