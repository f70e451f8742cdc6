"""For which rows one of two features is enough: the row's own part of the correlation, learned by exact pair flips.

Where gates exclude each other, and one of the two is not enough for all rows, a small network learns how much every
factor of the shared loadings counts for a row (see `model.row_factors`). It is trained as the shared loadings are: both
latents of a pair are put at their thresholds, and the mixed difference of the loss says whether they should exclude
each other *there*. It does not see the features of such pairs: whether the value of one makes the other unnecessary is
for the scores to say, and for this whether it stands for it. Tables without such pairs are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sklar.model.gates import to_inputs
from sklar.model.normalise import normalised_loadings
from sklar.model.row_factors import RowFactors, beaten
from sklar.training.engine.optim import RateSchedule, adamw, step_and_clear
from sklar.training.engine.steps import scheduled
from sklar.training.honest import gradients
from sklar.training.honest.decisions import mean_and_error, penalty_unit, training_masks
from sklar.training.honest.group_lasso import shrink_inputs
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Decisions, Selector
from sklar.training.honest.settings import SHUT, DecisionSettings
from sklar.training.honest.substitutes import Priced, costs_little

SIGNS = ((1, (1.0, 1.0)), (-1, (1.0, 0.0)), (-1, (0.0, 1.0)), (1, (0.0, 0.0)))  # of a mixed difference


@dataclass(frozen=True)
class RowPartSettings:
    """How the row's part of the correlation learns."""

    hidden: int = 16
    steps: int = 600
    learning_rate: float = 1e-2
    weight_decay: float = 0.01
    sparsity: float = 2.0  # group lasso on the inputs, times the noise of the rows: a switch, not a blur of many


@dataclass(frozen=True)
class RowPart:
    """Networks of P problems, and the pairs that they decide about."""

    network: RowFactors
    contested: Tensor  # bool (P, d, d); none of a problem that has no row part

    def hidden_of(self, problem: int) -> int:
        """Hidden units of one problem's; 0 where it has none."""
        return self.network.first.weight.shape[-1] if bool(self.contested[problem].any()) else 0


def learn_row_part(
    selector: Selector,
    predictors: FoldPredictors,
    log_penalty: Tensor,
    decisions: Decisions,
    settings: DecisionSettings,
    learning: RowPartSettings | None = None,
) -> tuple[RowPart | None, Decisions]:
    """The row's part of the correlation, and the decisions without the pairs that it decides; None if it does nowhere.

    Rows judged out of fold must say that it is better than one feature for all rows or, where that was given up before,
    that they lose little by it, as `substitutes` asks of one for all.
    """
    if selector.correlation is None or selector.settings.k is not None or selector.settings.min_features > 0:
        return None, decisions
    free = decisions._replace(substitutes=torch.zeros_like(decisions.substitutes))
    both = training_masks(selector, predictors, log_penalty, free).flatten(1, 2)
    contested = _contested(selector, both, settings)
    if not contested.any():
        return None, decisions
    learning = learning or RowPartSettings()
    part = RowPart(_trained(selector, predictors, log_penalty, decisions, contested, learning), contested)
    kept = contested & _preferred(part, selector, predictors, log_penalty, both, decisions, settings)[:, None, None]
    if not kept.any():
        return None, decisions
    return RowPart(part.network, kept), decisions._replace(substitutes=decisions.substitutes & ~kept)


def _contested(selector: Selector, mask: Tensor, settings: DecisionSettings) -> Tensor:
    """Pairs whose gates exclude each other, and that some rows of masks (P, n, d) get both of: bool (P, d, d)."""
    assert selector.correlation is not None
    root = selector.correlation.root().detach()
    return (root @ root.mT < settings.excluding) & (mask.mT @ mask > settings.least_contested * mask.shape[1])


def _trained(
    selector: Selector,
    predictors: FoldPredictors,
    log_penalty: Tensor,
    decisions: Decisions,
    contested: Tensor,
    settings: RowPartSettings,
) -> RowFactors:
    """The network after its training; selector and predictors stay as they are."""
    folds = predictors.folds
    generator = torch.Generator(folds.x.device).manual_seed(0)  # its own: nothing else changes by it
    network = RowFactors(
        folds.x.shape[-1],
        settings.hidden,
        _loadings(selector).shape[-1],
        len(folds.x),
        torch.Generator().manual_seed(0),
    ).to(folds.x.device)
    seen = _seen(selector, predictors, contested)
    with torch.no_grad():
        network.first.weight.mul_(seen)  # the others stay at 0
    optimiser = adamw(network, settings.learning_rate, settings.weight_decay, no_decay="first.weight")
    for _ in scheduled(settings.steps, [(optimiser, RateSchedule(settings.learning_rate))]):
        x, y = folds.batch(predictors.batch_rows, folds.x.shape[2], generator)
        pairs = _random_pairs(contested, x.shape[1] * x.shape[2], generator)
        flips = PairFlips(selector, predictors, x, y, network(x.flatten(1, 2) * seen.mT), pairs)
        with torch.no_grad():
            mixed = flips.mixed(log_penalty, decisions, generator)
        r, pull = flips.correlation(), selector.settings.pull
        (mixed * r + 0.5 * torch.where(r < 0, pull.apart, pull.together) * r.square()).mean(1).sum().backward()
        step_and_clear(optimiser)
        with torch.no_grad():
            amount = optimiser.param_groups[0]["lr"] * settings.sparsity * folds.noise
            shrink_inputs(network.first.weight, amount, folds.gates)
    return network.requires_grad_(False)


def _seen(selector: Selector, predictors: FoldPredictors, contested: Tensor) -> Tensor:
    """The inputs that a row part may look at, those of no contested feature: (P, D, 1)."""
    free = selector.alive & ~contested.any(1)
    return to_inputs(free, predictors.folds.gates.of_input).unsqueeze(-1).to(predictors.folds.x.dtype)


def _random_pairs(contested: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """One of its problem's pairs for each of n rows; any two features where a problem has none: (P, n, 2)."""
    d = contested.shape[-1]
    weight = contested.flatten(1).double()
    weight[:, 1] += (~contested.flatten(1).any(1)).double()
    cell = torch.multinomial(weight, n, replacement=True, generator=generator)
    return torch.stack([cell // d, cell % d], dim=-1)


def _loadings(selector: Selector) -> Tensor:
    assert selector.correlation is not None
    return selector.correlation.patterned().detach()


class PairFlips:
    """Rows (P, F, b, D) whose factors count s (P, F b, p), and a pair of features of each (P, F b, 2) to be flipped."""

    def __init__(
        self, selector: Selector, predictors: FoldPredictors, x: Tensor, y: Tensor, s: Tensor, pairs: Tensor
    ) -> None:
        self.selector, self.predictors, self.x, self.y, self.s = selector, predictors, x, y, s
        self.loadings = _loadings(selector)
        self.pairs = pairs.unbind(-1)  # (P, n) each

    def correlation(self) -> Tensor:
        """R_ij(x) of each row's pair: (P, n)."""
        first, second = (normalised_loadings(self._of(i) * self.s)[0] for i in self.pairs)
        return (first * second).sum(-1)

    def mixed(self, log_penalty: Tensor, decisions: Decisions, generator: torch.Generator) -> Tensor:
        """f11 - f10 - f01 + f00 of the loss with both latents at their thresholds: (P, n)."""
        alpha = self.selector.scores(self.x.flatten(1, 2), log_penalty[:, None, None])
        alpha = (alpha - decisions.score_threshold.view(-1, 1, 1)) * self.selector.sharpness
        c = gradients.thresholds(alpha.masked_fill(decisions.shut.unsqueeze(1), SHUT))
        shown = self.at_thresholds(c, generator) > c
        return sum(sign * self._losses(shown, *pair) for sign, pair in SIGNS)  # type: ignore[return-value]

    def at_thresholds(self, c: Tensor, generator: torch.Generator) -> Tensor:
        """Latents drawn with each row's R(x), given that both of its pair are at their thresholds c: (P, n, d)."""
        own = (1 + self.s.square() @ self.loadings.square().mT).rsqrt()  # of each gate, (P, n, d)
        xi, eps = (torch.randn(part.shape, generator=generator, device=c.device) for part in (self.s, c))
        q = own * ((self.s * xi) @ self.loadings.mT + eps)
        apart = [(c - q).gather(-1, i.unsqueeze(-1)).squeeze(-1) for i in self.pairs]
        moved = gradients.pair_displacement(apart[0], apart[1], self.correlation())
        for i, step in zip(self.pairs, moved, strict=True):
            of_i = own.gather(-1, i.unsqueeze(-1)) * self._of(i) * self.s.square()
            q = q + own * (of_i @ self.loadings.mT) * step.unsqueeze(-1)
        return q

    def _losses(self, mask: Tensor, first: float, second: float) -> Tensor:
        """Losses of masks (P, n, d) with the gates of the pair as given: (P, n)."""
        mask = mask.to(self.x.dtype)
        for i, value in zip(self.pairs, (first, second), strict=True):
            mask = mask.scatter(-1, i.unsqueeze(-1), value)
        x, y = self.x.flatten(0, 1), self.y.flatten(0, 1)
        output = self.predictors.judge(x, mask.view(*x.shape[:2], -1))
        return self.predictors.task.row_loss(output, y).view(len(mask), -1)

    def _of(self, i: Tensor) -> Tensor:
        """L_i of each row's feature: (P, n, p)."""
        return self.loadings.gather(1, i.unsqueeze(-1).expand(-1, -1, self.loadings.shape[-1]))


@torch.no_grad()
def _preferred(
    part: RowPart,
    selector: Selector,
    predictors: FoldPredictors,
    log_penalty: Tensor,
    both: Tensor,
    decisions: Decisions,
    settings: DecisionSettings,
) -> Tensor:
    """Whether loss and price of training rows, out of fold, speak for the row part: bool (P,).

    both : masks (P, n, d) without any exclusion
    """
    folds = predictors.folds
    x = folds.training[0].flatten(1, 2)
    scores = selector.scores(x, log_penalty[:, None, None])
    lost = beaten(both > 0.5, scores, _loadings(selector), part.network(x), part.contested)
    decided = training_masks(selector, predictors, log_penalty, decisions).flatten(1, 2)
    by_rows, by_all, by_none = (
        Priced.of(folds, log_penalty.exp(), mask.view(*folds.training[0].shape[:3], -1))
        for mask in (both * ~lost, decided, both)
    )
    less = by_all.price - by_rows.price - predictors.lost_by(by_rows.mask, by_all.mask)
    mean, error = mean_and_error(less, folds.training_weight)
    one_for_all = (decisions.substitutes & part.contested).any(2).any(1)
    unit = penalty_unit(predictors, settings.least_unit)
    little = costs_little(by_rows, by_none, predictors, unit, torch.ones_like(one_for_all), settings)
    return torch.where(one_for_all, mean > settings.better_by_rows * error, little)
