"""One fit, every price and every k: a second selector that is asked at other penalties, or a second ranker at fewer k.

The path that a penalty is chosen from is short: larger penalties would give up weak features that are true. A person
may want fewer features all the same. So the selector as the path left it learns on along two orders of magnitude,
beside the fit and without a trace in it, from training rows alone: held-out rows then say what every price costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from sklar.model.binary_mask import after_the_best, decided
from sklar.model.order import dealt, nested, told_counts
from sklar.model.topk_mask import ranking
from sklar.training.engine.run import Run
from sklar.training.honest.deciding import decide
from sklar.training.honest.decisions import choose_penalties, loss_of_nothing, mean_and_error
from sklar.training.honest.held_out import path_rows
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.result import HonestFit
from sklar.training.honest.row_part import learn_row_part
from sklar.training.honest.scoring import Decisions, PenaltyRange, Selector
from sklar.training.honest.selector import train_selector
from sklar.training.honest.settings import HonestSettings
from sklar.training.honest.strength import Candidate, joined, preferred
from sklar.training.penalty_path import PenaltyPath, path_table

SMALLEST_SHARE = 0.001  # of the loss, that the smallest penalty is where its unit is the whole of it


@dataclass(frozen=True)
class Start:
    """The selector and the predictors that the path left, kept as they were."""

    selector: Selector
    predictors: FoldPredictors
    grid: Tensor  # of log-penalties that one was chosen from, (P, G)

    @classmethod
    def of(cls, candidates: list[Candidate], grid: Tensor, settings: HonestSettings) -> Start:
        """The strength that held-out rows prefer at the largest penalty: with few features to pay for, another may do.

        The predictors are copied: they learn on.
        """
        which = [0] * len(grid)
        if candidates[0].held_out:
            judged = [choose_penalties(one.selector, one.predictors, grid[:, -1:]) for one in candidates]
            dearest = [replace(one, held_out=rows) for one, rows in zip(candidates, judged, strict=True)]
            which = [preferred(dearest, [p], settings) for p in range(len(grid))]
        selector, predictors = joined(candidates, which)
        return cls(selector, predictors.copied(), grid)


def asked_elsewhere(selector: Selector, grid: Tensor, settings: HonestSettings) -> bool:
    """Whether there is another penalty, or k, to be asked at: none where it was given, or k is 1."""
    alone = grid.shape[1] == 1 if selector.settings.k is None else selector.settings.k == least_count(selector)
    return settings.any_penalty and not alone


def train_prices(start: Start, fit: HonestFit, settings: HonestSettings, sharpest: float, run: Run) -> HonestFit:
    """The fit, with a second selector along all prices, and the path as its held-out rows see it."""
    predictors, schedule = start.predictors, settings.schedule
    folds = predictors.folds
    grid = widened(start.grid, schedule.more_penalties, loss_of_nothing(predictors).clamp_min(1e-12).log())
    everywhere = PenaltyRange.along(grid)
    selector = train_selector(start.selector, predictors, everywhere, schedule.wide_steps, folds.n_train, run, sharpest)
    sufficiency = settings.decisions.row_sufficiency(folds.n_rows)
    decisions = decide(selector, predictors, fit.log_penalty, settings.decisions, sufficiency, fit.shows)
    screened = replace(fit.screened, predictors=predictors)
    row_part = None
    if fit.row_part is not None:  # else no row asked for one at the chosen price
        row_part, decisions = learn_row_part(selector, predictors, fit.log_penalty, decisions, settings.decisions)
    priced = replace(
        fit, screened=screened, selector=selector, decisions=decisions, any_penalty=True, row_part=row_part
    )
    return replace(fit, priced=priced, paths=_paths(selector, predictors, decisions, grid))


def train_counts(fit: HonestFit, settings: HonestSettings, run: Run) -> HonestFit:
    """The fit, with a second ranker that is told how many features a row is to get: it goes on from the first.

    Its group lasso is the weakest of those allowed: where fewer features are shown than matter, which of them say most
    depends on the values of all, also where one switch decides which k to show.
    """
    predictors, weakest = fit.screened.predictors.copied(), min(settings.strengths)
    start = replace(fit.selector, strength=torch.full_like(fit.selector.strength, weakest))
    centre = start.log_penalty_centre.flatten()
    fewest = math.log(least_count(start) / (start.settings.k or 1))
    n_rows, steps = predictors.folds.x.shape[2], settings.schedule.count_steps
    ranker = train_selector(start, predictors, PenaltyRange(centre + fewest, centre), steps, n_rows, run)
    screened = replace(fit.screened, predictors=predictors)
    priced = replace(fit, screened=screened, selector=ranker, any_penalty=True)
    return replace(fit, priced=priced, paths=_count_paths(fit, priced, settings.schedule.most_counts))


@torch.no_grad()
def _count_paths(fit: HonestFit, told: HonestFit, most: int) -> list[PenaltyPath]:
    """Losses of rows judged out of fold, of up to so many counts: `loss` of what was told the count, and
    `prefix_loss` of the first features of the fitted ranking, which is the better one for counts close to its k.

    Rows are those that neither ranker learned from, where there are any: it may know by heart what to show the others.
    """
    fit, told = _for_judging(fit), _for_judging(told)
    k, least = fit.selector.settings.k or 1, least_count(fit.selector)
    counts = np.unique(np.geomspace(least, k, most).round().astype(int)).tolist()
    scores = _scores(fit, k)
    below = [(count, _scores(told, count)) for count in told_counts(least, k)]
    ranked = dealt(scores, nested(ranking(scores, k), [*below, (k, scores)]))
    of_told = torch.stack([_out_of_fold(told, _scores(told, count), count) for count in counts], 1)
    of_prefix = torch.stack([_out_of_fold(fit, ranked, count) for count in counts], 1)
    columns = zip(of_told.tolist(), of_prefix.tolist(), strict=True)
    return [{"k": counts, "loss": a, "prefix_loss": b} for a, b in columns]


def _for_judging(fit: HonestFit) -> HonestFit:
    """The fit with the held-out rows in the place of those it learned from, if its ranker was never shown them."""
    predictors = fit.screened.predictors
    if fit.selector.settings.max_excess is None or not predictors.folds.has_held_out:
        return fit
    return replace(fit, screened=replace(fit.screened, predictors=predictors.of_rows(predictors.folds.kept_out())))


def _scores(fit: HonestFit, count: int) -> Tensor:
    """Scores of rows to be judged by a ranker that is told to give so many features: (P, F n, d)."""
    selector, (x, _) = fit.selector, fit.screened.predictors.folds.training
    log_penalty = selector.log_penalty_centre + math.log(count / (selector.settings.k or 1))
    return after_the_best(selector.scores(x.flatten(1, 2), log_penalty), fit.decisions.substitutes)


def _out_of_fold(fit: HonestFit, scores: Tensor, count: int) -> Tensor:
    """Mean loss of rows to be judged that show the `count` features of the largest scores (P, F n, d): (P,)."""
    predictors = fit.screened.predictors
    (x, _), weight = predictors.folds.training, predictors.folds.training_weight
    mask = decided(scores, count).to(x.dtype).view(*x.shape[:3], -1)
    return mean_and_error(predictors.out_of_fold_losses(mask), weight)[0]


def least_count(selector: Selector) -> int:
    """The fewest features that a row can get."""
    return 1 if selector.forced is None else max(1, int(selector.forced.sum()))


def widened(grid: Tensor, more: int, log_loss: Tensor) -> Tensor:
    """Log-penalties (P, G) and so many above, in the same steps or longer ones: (P, G + more).

    They end at the same share of the loss of rows shown nothing (P,), whose unit a table without noise does not have.
    """
    step, count = (grid[:, -1:] - grid[:, :1]) / (grid.shape[1] - 1), grid.shape[1] - 1 + more
    least = torch.tensor(SMALLEST_SHARE, device=grid.device).log() + step * count
    last = torch.maximum(grid[:, :1] + step * count, log_loss.unsqueeze(1) + least)
    above = torch.arange(1, more + 1, device=grid.device) / more
    return torch.cat([grid, torch.lerp(grid[:, -1:].expand(-1, more), last.expand(-1, more), above)], 1)


def _paths(selector: Selector, predictors: FoldPredictors, decisions: Decisions, grid: Tensor) -> list[PenaltyPath]:
    """The path of each problem as a table; of the penalties alone where no row is held out."""
    x = predictors.folds.held_out[0]
    if not predictors.folds.has_held_out:
        return [{"penalty": penalties} for penalties in grid.exp().cpu().tolist()]
    masks = [selector.masks(x, column, decisions) for column in grid.unbind(1)]
    return [path_table(*rows) for rows in path_rows(predictors, masks, grid)]
