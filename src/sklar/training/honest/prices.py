"""One fit, every price: a second selector that is asked at penalties other than the chosen one.

The path that a penalty is chosen from is short: larger penalties would give up weak features that are true. A person
may want fewer features all the same. So the selector as the path left it learns on along two orders of magnitude,
beside the fit and without a trace in it, from training rows alone: held-out rows then say what every price costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from sklar.training.honest.decisions import decide
from sklar.training.honest.held_out import path_rows
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.result import HonestFit
from sklar.training.honest.scoring import Decisions, Selector
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
        """None where a penalty was given, or k = 1, or the fit is not to be asked at others."""
        alone = grid.shape[1] == 1 if selector.settings.k is None else selector.settings.k == _least(selector)
        return None if alone or not settings.any_penalty else cls(selector, predictors.copied(), grid)

    def wide_grid(self, more: int) -> Tensor:
        """Log-penalties to be asked at (P, G), those to choose from and more; with k those of several counts."""
        if self.selector.settings.k is None:
            return widened(self.grid, more)
        return counts_grid(_least(self.selector), self.selector.settings.k, self.grid, more + self.grid.shape[1])


def train_prices(
    start: Start, fit: HonestFit, settings: HonestSettings, sharpest: float, report: Callable[[], object]
) -> HonestFit:
    """The fit, with a second one at all prices, or every k, and the path as its held-out rows see it."""
    grid, predictors = start.wide_grid(settings.schedule.more_penalties), start.predictors
    folds, steps = predictors.folds, settings.schedule.wide_steps
    everywhere = PenaltyRange(grid[:, 0], grid[:, -1])
    selector = train_selector(start.selector, predictors, everywhere, steps, folds.n_train, report, sharpest)
    sufficiency = settings.decisions.row_sufficiency(folds.n_rows)
    decisions = decide(selector, predictors, fit.log_penalty, settings.decisions, sufficiency, fit.shows)
    screened = replace(fit.screened, predictors=predictors)
    priced = replace(fit, screened=screened, selector=selector, decisions=decisions, any_penalty=True)
    return replace(fit, priced=priced, paths=_paths(selector, predictors, decisions, grid))


def widened(grid: Tensor, more: int) -> Tensor:
    """Log-penalties (P, G) and, in the same steps, so many above: (P, G + more)."""
    step = (grid[:, -1:] - grid[:, :1]) / (grid.shape[1] - 1)
    return torch.cat([grid, grid[:, -1:] + step * torch.arange(1, more + 1, device=grid.device)], 1)


def counts_grid(least: int, k: int, centre: Tensor, most: int) -> Tensor:
    """At most so many counts from `least` to k, as inputs in the place of log-penalties around a centre (P, 1)."""
    counts = np.unique(np.geomspace(least, k, most).round().astype(int))
    return centre[:, :1] + torch.tensor(np.log(counts / k), dtype=centre.dtype, device=centre.device)


def _least(selector: Selector) -> int:
    """The fewest features that a row can get."""
    return 1 if selector.forced is None else max(1, int(selector.forced.sum()))


def _paths(selector: Selector, predictors: FoldPredictors, decisions: Decisions, grid: Tensor) -> list[PenaltyPath]:
    """The path of each problem as a table; of the penalties, or counts, alone where no row is held out."""
    counted = selector.settings.k is not None
    asked = selector.counts(grid.unsqueeze(-1))[0].squeeze(-1).log() if counted else grid
    name, x = "k" if counted else "penalty", predictors.folds.held_out[0]
    if not predictors.folds.has_held_out:
        return [{name: one} for one in asked.exp().cpu().tolist()]
    masks = [selector.masks(x, column, decisions) for column in grid.unbind(1)]
    return [path_table(*rows, name=name) for rows in path_rows(predictors, masks, asked)]
