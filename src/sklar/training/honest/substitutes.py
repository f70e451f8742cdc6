"""Of features whose gates exclude each other a row gets one, where rows judged out of fold lose next to nothing by it.

They are judged together and by kinds: features that replace each other in the mean may both be needed by some rows.

Next to nothing is what they save or, in the units of penalties, .008, the largest of a path. Regularised predictors
share between copies, and are not sure enough of one alone, so losses are compared at the best confidence of each (see
`best_confidence`). The limit was set between what copies at .97 and .99 and Adult's marital-status and relationship
lose, and what two of abalone's weights do: on these tables themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from sklearn.tree import DecisionTreeRegressor
from torch import Tensor

from sklar.model.blocks import absolute_correlation
from sklar.training.honest.decisions import mean_and_error, penalty_unit, training_masks
from sklar.training.honest.folds import Folds
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Decisions, Selector
from sklar.training.honest.settings import DecisionSettings
from sklar.training.tasks import bill

LEAST_TOGETHER = 0.01  # of the rows, that get both of two features whose values are alike
MOST_PAIRS = 50  # that are tried


@torch.no_grad()
def find_substitutes(
    selector: Selector,
    predictors: FoldPredictors,
    log_penalty: Tensor,
    decisions: Decisions,
    settings: DecisionSettings,
) -> Tensor:
    """Groups of features of which one is enough for a row: bool (P, d, d), for each pair of different members.

    Pairs whose gates exclude each other, or whose values are alike, are tried, the closest first. Each joins two
    groups, of which a row then gets one feature where it got one of each. Of three copies no two gates can have a
    correlation below -1/2, so that gates alone do not tell. With k, a row gets the next best feature instead.
    """
    accepted = torch.zeros_like(decisions.substitutes)
    if selector.correlation is None or selector.settings.min_features > 1:
        return accepted
    linked, unit = _Links.of(selector, predictors, settings), penalty_unit(predictors, settings.least_unit)
    counted = selector.settings.k is not None  # then every row gets as many, and nothing is saved
    price = torch.zeros_like(log_penalty) if counted else log_penalty.exp()

    def priced(substitutes: Tensor) -> Priced:
        mask = training_masks(selector, predictors, log_penalty, decisions._replace(substitutes=substitutes))
        return Priced.of(predictors.folds, price, mask)

    before = priced(accepted)
    for i, j in linked.pairs(before.mask, only_together=counted):
        tried = joined(accepted, i, j)
        after = priced(tried)
        does = costs_little(after, before, predictors, unit, linked.clear[:, i, j], settings, counted)
        accepted = torch.where((does & linked.any[:, i, j])[:, None, None], tried, accepted)
        if bool(does.any()):
            before = priced(accepted)
    return accepted


class _Links(NamedTuple):
    """Pairs of features that may stand for each other, above the diagonal of each problem."""

    closeness: Tensor  # minus the correlation of their gates, or |that of their values| where it is more, (P, d, d)
    clear: Tensor  # whether the gates exclude each other, bool (P, d, d)
    any: Tensor  # or the values are alike, bool (P, d, d)

    @classmethod
    def of(cls, selector: Selector, predictors: FoldPredictors, settings: DecisionSettings) -> _Links:
        """Those of a trained selector."""
        assert selector.correlation is not None
        root, alive, folds = selector.correlation.root(), selector.alive, predictors.folds
        possible = (alive.unsqueeze(1) & alive.unsqueeze(2)).triu(1)
        of_input = None if folds.gates.of_input is None else folds.gates.of_input.cpu().numpy()
        of_values = [absolute_correlation(x, of_input) for x in folds.training[0].flatten(1, 2).cpu().numpy()]
        alike, apart = torch.from_numpy(np.stack(of_values)).to(root), -(root @ root.mT)
        clear = (apart > -settings.excluding) & possible
        return cls(torch.maximum(alike, apart), clear, clear | ((alike > settings.stand_in) & possible))

    def pairs(self, mask: Tensor, only_together: bool) -> list[tuple[int, int]]:
        """The pairs of any problem, the closest first: those that rows get both of and, unless only these, clear ones.

        mask : (P, F, n, d)
        """
        shown = mask.flatten(1, 2)
        together = (shown.mT @ shown / shown.shape[1]) > LEAST_TOGETHER
        asked = (self.any & (together if only_together else together | self.clear)).any(0)
        closest = self.closeness.amax(0).cpu()  # read pair by pair
        pairs = [(int(i), int(j)) for i, j in asked.nonzero().tolist()]
        return sorted(pairs, key=lambda pair: -float(closest[pair]))[:MOST_PAIRS]


def joined(groups: Tensor, i: int, j: int) -> Tensor:
    """The groups (P, d, d) with those of features i and j made one."""
    itself = torch.eye(groups.shape[-1], dtype=torch.bool, device=groups.device)
    whole = groups | itself
    members = whole[:, i] | whole[:, j]
    return (groups | (members.unsqueeze(1) & members.unsqueeze(2))) & ~itself


class Priced(NamedTuple):
    """Masks of the training rows, and what they pay."""

    mask: Tensor  # (P, F, n, d)
    price: Tensor  # (P, F n)

    @classmethod
    def of(cls, folds: Folds, penalty: Tensor, mask: Tensor) -> Priced:
        """Masks at penalties (P,)."""
        return cls(mask, penalty.unsqueeze(1) * bill(mask, folds.gates.cost).flatten(1))


def costs_little(
    after: Priced,
    before: Priced,
    predictors: FoldPredictors,
    unit: Tensor,
    clear: Tensor,
    settings: DecisionSettings,
    counted: bool = False,
) -> Tensor:
    """Whether rows lose less than they save by masks that show less, and no kind of rows clearly loses: bool (P,).

    Where it is `clear` (P,) that features are substitutes, a share of the unit (P,) may be lost; else nothing may be,
    by one standard error. Masks of as many features (`counted`) must be clearly better or, where it is clear that
    features are substitutes, not worse by more than one standard error.
    """
    folds, saved = predictors.folds, before.price - after.price
    lost = predictors.lost_by(after.mask, before.mask)
    mean, error = mean_and_error(lost, folds.training_weight)
    if counted:
        fine = torch.where(clear, mean <= error, mean + settings.better_by_next * error <= 0)
    else:
        most = torch.maximum(saved.mean(1), settings.lost_by_substitutes * unit)
        fine = torch.where(clear, mean <= most, mean + error <= saved.mean(1))
    for p in fine.nonzero().flatten().tolist():
        where = (after.mask[p] != before.mask[p]).flatten(0, 1).any(-1)
        allowed = torch.maximum(saved[p][where], settings.lost_by_a_kind * unit[p])
        x, beyond = folds.training[0][p].flatten(0, 1)[where], lost[p][where] - allowed
        fine[p] = not some_lose(x.cpu().numpy(), beyond.cpu().numpy(), settings)
    return fine


def some_lose(x: np.ndarray, lost: np.ndarray, settings: DecisionSettings) -> bool:
    """Whether any kind of rows clearly loses: rows x (n, D), and what each loses beyond what it may (n,).

    A small tree of every other row says which kinds there are; the rows between say what they lose.
    """
    if len(x) < 2 * settings.rows_of_a_kind:
        return False
    tree = DecisionTreeRegressor(max_depth=2, min_samples_leaf=settings.rows_of_a_kind // 2, random_state=0)
    kind = tree.fit(x[::2], lost[::2]).apply(x[1::2])
    for leaf in np.unique(kind):
        of_leaf = lost[1::2][kind == leaf]
        if of_leaf.mean() > settings.clearly_worse * of_leaf.std() / len(of_leaf) ** 0.5:
            return True
    return False
