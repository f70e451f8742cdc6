"""One fit, every price: a second selector that is asked at penalties other than the chosen one.

The path that a penalty is chosen from is short: larger penalties would give up weak features that are true. A person
may want fewer features all the same. So the selector as the path left it learns on along two orders of magnitude,
beside the fit and without a trace in it, from training rows alone: held-out rows then say what every price costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sklar.training.honest.decisions import decide
from sklar.training.honest.held_out import path_rows
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.result import HonestFit
from sklar.training.honest.scoring import Selector
from sklar.training.honest.selector import PenaltyRange, train_selector
from sklar.training.honest.settings import HonestSettings
from sklar.training.penalty_path import PenaltyPath, path_table


@dataclass(frozen=True)
class Start:
    """The selector and the predictors that the path left, kept as they were."""

    selector: Selector
    predictors: FoldPredictors
    grid: Tensor  # of log-penalties that one was chosen from, (P, G)

    @classmethod
    def of(cls, selector: Selector, predictors: FoldPredictors, grid: Tensor, settings: HonestSettings) -> Start | None:
        """None where a penalty was given, or the fit is not to be asked at others."""
        if grid.shape[1] == 1 or not settings.any_penalty:
            return None
        return cls(selector, predictors.copied(), grid)


def train_prices(
    start: Start, fit: HonestFit, settings: HonestSettings, sharpest: float, report: Callable[[], object]
) -> HonestFit:
    """The fit, with a second one at all prices and the path as its held-out rows see it."""
    grid, predictors = widened(start.grid, settings.schedule.more_penalties), start.predictors
    folds, steps = predictors.folds, settings.schedule.wide_steps
    everywhere = PenaltyRange(grid[:, 0], grid[:, -1])
    selector = train_selector(start.selector, predictors, everywhere, steps, folds.n_train, report, sharpest)
    sufficiency = settings.decisions.row_sufficiency(folds.n_rows)
    decisions = decide(selector, predictors, fit.log_penalty, settings.decisions, sufficiency, fit.shows)
    screened = replace(fit.screened, predictors=predictors)
    priced = replace(fit, screened=screened, selector=selector, decisions=decisions, any_penalty=True)
    x = folds.held_out[0]
    masks = [selector.masks(x, column, decisions) for column in grid.unbind(1)] if folds.has_held_out else []
    return replace(fit, priced=priced, paths=_paths(predictors, masks, grid))


def widened(grid: Tensor, more: int) -> Tensor:
    """Log-penalties (P, G) and, in the same steps, so many above: (P, G + more)."""
    step = (grid[:, -1:] - grid[:, :1]) / (grid.shape[1] - 1)
    return torch.cat([grid, grid[:, -1:] + step * torch.arange(1, more + 1, device=grid.device)], 1)


def _paths(predictors: FoldPredictors, masks: list[Tensor], grid: Tensor) -> list[PenaltyPath]:
    """The path of each problem as a table; of the penalties alone where no row is held out."""
    if not masks:
        return [{"penalty": penalties} for penalties in grid.exp().cpu().tolist()]
    return [path_table(*rows) for rows in path_rows(predictors, masks, grid)]
