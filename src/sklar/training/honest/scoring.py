"""The selector of P problems: how rows are scored, and which masks follow from the scores and from what was decided.

Axes: P problems (independent data sets of one size, trained side by side; a user's fit has one), F folds, b rows a
fold and step, d features (gates), D inputs (see `model.gates`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sklar.model.binary_mask import after_the_best, best_of_groups, decided
from sklar.model.gates import Gates, inputs_of, open_forced
from sklar.model.honest_model import PENALTY_SCALE
from sklar.model.networks import ChoiceNet
from sklar.training.honest.folds import Folds
from sklar.training.honest.gate_correlation import GateCorrelation, block_pattern
from sklar.training.honest.screening import Screened
from sklar.training.honest.settings import SHUT, SelectorSettings


class PenaltyRange(NamedTuple):
    """Log-penalties to learn, uniform between two."""

    low: Tensor  # (P,)
    high: Tensor

    @classmethod
    def along(cls, grid: Tensor) -> PenaltyRange:
        """From the least to the largest of a path of log-penalties (P, G)."""
        return cls(grid[:, 0], grid[:, -1])


class Decisions(NamedTuple):
    """What rows judged out of fold decided about the scores."""

    score_threshold: Tensor  # that a score must exceed, (P,)
    shut: Tensor  # features that no row gets, bool (P, d)
    substitutes: Tensor  # pairs of features of which one is enough for a row, bool (P, d, d)

    @classmethod
    def none(cls, alive: Tensor) -> Decisions:
        """Nothing decided yet, about features (P, d)."""
        problems, d = alive.shape
        pairs = torch.zeros(problems, d, d, dtype=torch.bool, device=alive.device)
        return cls(torch.zeros(problems, device=alive.device), torch.zeros_like(alive), pairs)


@dataclass(frozen=True)
class Selector:
    """Networks that score the features of rows at any penalty, and the correlation of the gates."""

    settings: SelectorSettings
    network: ChoiceNet  # its last input is the log-penalty
    correlation: GateCorrelation | None
    alive: Tensor  # bool (P, d); the other features fill up the width
    forced: Tensor | None  # bool (d,)
    log_penalty_centre: Tensor  # (P, 1, 1)
    strength: Tensor  # factor on the group lasso of the inputs, (P,)
    sharpness: float = 1.0  # factor on the scores before gates are drawn, at the end of training

    def scores(self, x: Tensor, log_penalty: Tensor) -> Tensor:
        """alpha of rows (P, n, D) at log-penalties (P, 1 or n, 1): (P, n, d)."""
        penalty_input = ((log_penalty - self.log_penalty_centre) * PENALTY_SCALE).expand(-1, x.shape[1], -1)
        scores = self.network(torch.cat([x, penalty_input], dim=-1)).scores
        return open_forced(scores.masked_fill(~self.alive.unsqueeze(1), SHUT), self.forced)

    @torch.no_grad()
    def masks(self, x: Tensor, log_penalty: Tensor, decisions: Decisions) -> Tensor:
        """The masks without noise, of rows (P, n, D) at one log-penalty a problem (P,): (P, n, d)."""
        return self.decided(self.scores(x, log_penalty[:, None, None]), decisions).to(x.dtype)

    def counts(self, log_penalty: Tensor) -> tuple[Tensor, Tensor]:
        """With k the input for the penalty says how many features are wanted: whole numbers up to k, and that input.

        log(count / k) takes the place of log(penalty / that of the centre): at k itself it is 0.
        """
        k = self.settings.k or 1
        count = (k * (log_penalty - self.log_penalty_centre).exp()).round().clamp(1, k)
        return count, self.log_penalty_centre + (count / k).log()

    def decided(self, scores: Tensor, decisions: Decisions) -> Tensor:
        """The masks of scores (P, n, d): bool (P, n, d). With k they are the k best, one of substitutes."""
        s = self.settings
        if s.k is not None:
            return decided(after_the_best(scores, decisions.substitutes), s.k)
        scores = scores.masked_fill(decisions.shut.unsqueeze(1), SHUT)
        mask = decided(scores - decisions.score_threshold.view(-1, 1, 1), None, s.min_features)
        return best_of_groups(mask, scores, decisions.substitutes)


def new_selector(
    gates: Gates, screened: Screened, settings: SelectorSettings, log_penalties: Tensor, seed: int
) -> Selector:
    """An untrained selector of the union, for a path of log-penalties (P, G); `gates` are the whole table's.

    It begins with the weights that a selector of the whole table would have for the union.
    """
    columns, folds = screened.columns, screened.predictors.folds
    start = torch.Generator().manual_seed(seed + 1)
    network = ChoiceNet(
        gates.n,
        settings.hidden,
        n_inputs=gates.n_inputs,
        n_extra=1,
        activation=settings.activation,
        replicas=len(columns),
        generator=start,
    )
    network.scores.start(settings.initial_gain, settings.initial_score, start)
    network.to(columns.device)
    if columns.shape[1] < gates.n:
        inputs = columns if gates.of_input is None else inputs_of(gates.of_input, columns[0])[None]
        of_penalty = torch.full_like(columns[:, :1], gates.n_inputs)  # the last input
        network = network.only(columns, torch.cat([inputs, of_penalty], 1))
    centre, strength = log_penalties.mean(1)[:, None, None], torch.ones(len(columns), device=columns.device)
    correlation = new_correlation(folds, settings, seed + 2)
    return Selector(settings, network, correlation, screened.alive, folds.gates.forced, centre, strength)


def new_correlation(folds: Folds, settings: SelectorSettings, seed: int) -> GateCorrelation | None:
    """The untrained correlation of the gates; None where they are independent, or all shown to every row."""
    covariance, d = settings.covariance, folds.gates.n
    if covariance == "independent" or d in (1, settings.k):
        return None
    n_factors = min(settings.n_factors, d) if covariance == "low-rank" else d
    pattern = block_pattern(folds.x.flatten(1, 2), folds.gates.of_input) if covariance == "block" else None
    start = torch.Generator().manual_seed(seed)
    centred = settings.k is not None  # what moves all keys alike changes no draw of k
    return GateCorrelation(len(folds.x), d, n_factors, settings.pull, start, pattern, centred).to(folds.x.device)
