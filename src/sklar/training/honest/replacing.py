"""Which features stand for each other, as the training rows of a fit say that are judged out of fold.

Candidates are features whose values are correlated, or whose gates exclude each other; what they are worth in each
other's place is then judged on the masks that rows get (see `training.replacement`).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from sklar.model.blocks import absolute_correlation
from sklar.model.gates import to_inputs
from sklar.training.best_confidence import losses_at_best_confidence
from sklar.training.honest.result import HonestFit
from sklar.training.replacement import MOST_ROWS, Replacement, Rows, candidates, replacements


def find_replacements(fit: HonestFit, problem: int) -> list[Replacement]:
    """The replacements that hold in one problem, of features by their numbers in the table."""
    rows = judged_rows(fit, problem)
    pairs = candidates(rows.masks, _closeness(fit, problem, len(rows.masks)))
    forced = [] if fit.selector.forced is None else torch.nonzero(fit.selector.forced).flatten().tolist()
    columns = fit.screened.columns[problem].tolist()
    found = replacements(rows, pairs, forced)
    return [one._replace(feature=columns[one.feature], by=columns[one.by]) for one in found]


@torch.no_grad()
def judged_rows(fit: HonestFit, problem: int) -> Rows:
    """Masks of a problem's training rows, fold by fold, and their losses by the predictors of their own folds."""
    predictors = fit.screened.predictors
    folds, task = predictors.folds, predictors.task
    n_folds, n = folds.n_folds, min(folds.n_train, max(1, MOST_ROWS // folds.n_folds))
    x, y = (part[problem, :, :n] for part in folds.training)
    alive = fit.selector.alive[problem].cpu().numpy()
    masks = np.zeros((n_folds * n, len(alive)), dtype=bool)
    masks[:, alive] = fit.model(problem).mask(_inputs(fit, problem, x))[0].numpy()  # as rows will get them
    judge = predictors.judge.part(slice(problem * n_folds, (problem + 1) * n_folds))
    weight = None if folds.weight is None else folds.weight[problem, :, :n].flatten()[None]

    @torch.no_grad()
    def losses(shown: np.ndarray, where: np.ndarray) -> np.ndarray:
        mask = torch.from_numpy(shown).to(x.device, x.dtype).view(n_folds, n, -1)
        output, rows = judge(x, mask).flatten(0, 1)[None], torch.from_numpy(where)[None].to(x.device)
        return losses_at_best_confidence(task, output, y.flatten()[None], rows, weight)[0].double().cpu().numpy()

    return Rows(masks, losses, None if weight is None else weight[0].cpu().numpy())


def _inputs(fit: HonestFit, problem: int, x: Tensor) -> Tensor:
    """What a problem's model reads of its rows (F, n, D): (1, F n, D)."""
    alive, of_input = fit.selector.alive[problem], fit.screened.predictors.folds.gates.of_input
    return x.flatten(0, 1)[:, to_inputs(alive, of_input)].unsqueeze(0).cpu()


def _closeness(fit: HonestFit, problem: int, n_rows: int) -> np.ndarray:
    """|correlation| of the values of features, or minus the correlation of their gates where that is more: (d, d)."""
    folds, correlation = fit.screened.predictors.folds, fit.selector.correlation
    x = folds.training[0][problem].flatten(0, 1)[:n_rows].cpu().numpy()
    of_input = None if folds.gates.of_input is None else folds.gates.of_input.cpu().numpy()
    closeness = absolute_correlation(x, of_input)
    if correlation is not None:
        root = correlation.root()[problem].detach().cpu().numpy()
        closeness = np.maximum(closeness, -root @ root.T)
    alive = fit.selector.alive[problem].cpu().numpy()
    return closeness * alive * alive[:, np.newaxis]
