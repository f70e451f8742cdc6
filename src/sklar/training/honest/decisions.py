"""What rows decide that are judged by predictors that never saw them.

The penalty and its unit, the level of the scores, which features are worth their price, and which substitutes do.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.training.honest.gate_correlation import block_pattern
from sklar.training.honest.row_means import deviation, mean_and_error
from sklar.training.honest.stage import SHUT, Stage
from sklar.training.penalty_path import PathChoice, choose_penalty
from sklar.training.tasks import bill

# One of these a score must exceed to select. From 1.5 on scores come to rest (see `inward_only`): all must be below.
LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
USUAL_LEVEL = 1.0


def loss_spread(stage: Stage) -> Tensor:
    """The standard deviation of the loss, of training rows shown everything, judged out of fold: (P,)."""
    x, _ = stage.folds.training
    losses = stage.out_of_fold_losses(stage.alive[:, None, None].expand(*x.shape[:3], -1).to(x.dtype))
    return deviation(losses, stage.folds.training_weight)


def choose_penalties(stage: Stage, grid: Tensor) -> list[PathChoice]:
    """The penalty of each problem, of log-penalties (P, G), by its held-out rows."""
    losses, sizes = _path(stage, grid)
    penalties, weight = grid.exp().cpu().tolist(), stage.folds.held_out_weight
    return [
        choose_penalty(
            penalties[p],
            losses[p].cpu().numpy(),
            sizes[p].cpu().numpy(),
            None if weight is None else weight[p].cpu().numpy(),
        )
        for p in range(len(penalties))
    ]


def _path(stage: Stage, log_penalties: Tensor) -> tuple[Tensor, Tensor]:
    """Held-out losses (P, G, n) and mean features a row (P, G) for G log-penalties (P, G)."""
    x, y = stage.folds.held_out
    masks = [stage.masks(x, column) for column in log_penalties.unbind(1)]
    losses = torch.stack([stage.predictors.row_losses(x, mask, y) for mask in masks], 1)
    return losses, torch.stack([mask.sum(-1).mean(1) for mask in masks], 1)


@torch.no_grad()
def choose_level(stage: Stage, log_penalty: Tensor, plenty: float) -> None:
    """Ask of a score what loses little on training rows, judged out of fold.

    Gains are larger than penalties, so that near a switch the smooth selector leans to selecting: there a score
    above 0 may say no more than that a neighbour needs the feature. Of the levels within one standard error of the best
    the one nearest to the usual is taken: where levels differ little in what they lose, chance would decide. With few
    rows (`plenty` 0, not 1) everything is within one error; there it is the best and, of equal ones, the lowest.
    """
    x, _ = stage.folds.training
    scores = stage.scores(x.flatten(1, 2), log_penalty[:, None, None])
    levels, weight = torch.tensor(LEVELS, device=x.device), stage.folds.training_weight
    masks = (stage.decided(scores, level).to(x.dtype).view(*x.shape[:3], -1) for level in levels)
    losses = torch.stack([stage.out_of_fold_losses(mask) for mask in masks])  # (L, P, n)
    best = torch.stack([mean_and_error(one, weight)[0] for one in losses]).argmin(0)  # (P,)
    least = losses.gather(0, best[None, :, None].expand(1, *losses.shape[1:]))
    more = (mean_and_error(one, weight) for one in losses - least)
    as_good = torch.stack([mean <= plenty * error for mean, error in more])  # (L, P)
    away = torch.where(as_good, (levels - plenty * USUAL_LEVEL).abs().unsqueeze(1), torch.inf)
    stage.level = levels[away.argmin(0)]  # of equally near ones the lower


# Features that are correlated more than this can stand in for each other.
STAND_IN = 0.7


@torch.no_grad()
def shut_useless(stage: Stage, log_penalty: Tensor, errors: float) -> None:
    """Shut the gates of features whose gains may be chance, even where no correlated feature stands in for them.

    Over all rows that get it, what a feature gains must be so many standard errors above 0. Of many features and many
    kinds of rows some look useful to one kind by chance; the selector weighs gains against a price, not against chance.
    """
    if stage.settings.min_features > 0:
        return
    gates = stage.folds.gates
    x, weight = stage.folds.training[0], stage.folds.training_weight
    mask = stage.masks(x.flatten(1, 2), log_penalty).view(*x.shape[:3], -1)
    itself = torch.eye(mask.shape[-1], dtype=torch.bool, device=mask.device)
    stand_ins = block_pattern(x.flatten(1, 2), gates.of_input, STAND_IN).bool() & ~itself

    def worth(i: int) -> Tensor:
        """What feature i gains, in standard errors: (P,)."""
        gets = mask[..., i]
        most = int(gets.sum(2).max())
        rows = gets.argsort(2, descending=True)[:, :, :most]  # the others gain nothing
        alone = mask.gather(2, rows.unsqueeze(-1).expand(-1, -1, -1, mask.shape[-1])) * ~stand_ins[:, i][:, None, None]
        gain = stage.out_of_fold_losses(alone * ~itself[i], rows) - stage.out_of_fold_losses(alone, rows)
        gains = torch.zeros_like(gets).scatter_(2, rows, gain.view_as(rows)).flatten(1)
        mean, error = mean_and_error(gains, weight)
        return mean / error.clamp_min(1e-12)

    free = mask.flatten(1, 2).any(1) if gates.forced is None else mask.flatten(1, 2).any(1) & ~gates.forced
    found = {i: worth(i) for i in free.any(0).nonzero().flatten().tolist()}
    for i in sorted(found, key=lambda i: float(found[i].min())):
        if bool(((found[i] < errors) & free[:, i]).any()):
            idle = (worth(i) < errors) & free[:, i]  # again: others may have gone
            mask[idle, ..., i] = 0
            stage.selector.scores.weight[idle, :, i] = 0
            stage.selector.scores.bias[idle, :, i] = SHUT


# So many standard errors worse must one of several substitutes alone be, for several to be kept.
CLEARLY = 6.0


@torch.no_grad()
def exclude_substitutes(stage: Stage, log_penalty: Tensor) -> None:
    """Select one of the features whose gates exclude each other, unless several clearly earn their price.

    Clearly: loss and price together are worse without the others, by many standard errors. Predictors are regularised,
    and share between copies what they learned: shown one alone they say a little less, so that a copy that is worth
    nothing comes to 4 at times. A feature that is needed beside another one is worth ten and more.
    """
    if stage.correlation is None or stage.settings.min_features > 1:
        return
    groups = stage.correlation.substitutes() & stage.alive.unsqueeze(1) & stage.alive.unsqueeze(2)
    itself = torch.eye(groups.shape[1], dtype=torch.bool, device=groups.device)
    stage.substitutes = accepted = torch.zeros_like(groups)
    before = _paid(stage, log_penalty)
    first = (groups | itself).to(torch.int8).argmax(2)  # of the group of each feature: (P, d)
    for head in first[groups.any(2)].unique().tolist():
        members = (first == head) & groups.any(2)
        stage.substitutes = members.unsqueeze(1) & members.unsqueeze(2) & ~itself
        more, error = mean_and_error(_paid(stage, log_penalty) - before, stage.folds.training_weight)
        accepted |= stage.substitutes & (more <= CLEARLY * error)[:, None, None]
    stage.substitutes = accepted


def _paid(stage: Stage, log_penalty: Tensor) -> Tensor:
    """Loss and price of the training rows' masks without noise, judged out of fold: (P, F n)."""
    x, _ = stage.folds.training
    mask = stage.masks(x.flatten(1, 2), log_penalty).view(*x.shape[:3], -1)
    price = log_penalty.exp().unsqueeze(1) * bill(mask, stage.folds.gates.cost).flatten(1)
    return stage.out_of_fold_losses(mask) + price
