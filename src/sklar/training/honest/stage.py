"""What is trained: predictors, selector and gate correlation of P problems on one set of columns.

Axes: P problems (independent data sets of one size, trained side by side; a user's fit has one), F folds, b rows a
fold and step, d features (gates), D inputs (see `model.gates`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from sklar.model.binary_mask import best_of_groups
from sklar.model.gates import inputs_of, open_forced
from sklar.model.networks import ChoiceNet
from sklar.model.selection import decided
from sklar.training.engine.steps import Beside, Meanwhile
from sklar.training.honest.folds import Folds
from sklar.training.honest.gate_correlation import GateCorrelation, Pull, block_pattern
from sklar.training.honest.predictors import FoldPredictors, PredictorSettings
from sklar.training.tasks import Task

SHUT = -30.0  # the score of what only fills up the width
DEFAULT_PULL = Pull(apart=0.05, together=0.4)


@dataclass(frozen=True)
class SelectorSettings:
    """Every constant of the selector's training. One set for all data."""

    hidden: int = 100
    activation: str = "relu"
    learning_rate: float = 1e-2
    weight_decay: float = 0.1
    sparsity: float = 2.0  # group lasso on the selector's inputs: it may look at few features, but sharply (at h = 100)
    average: float = 0.99  # of the weights
    memory: float = 0.99  # of the optimiser, for squared gradients: they shrink as scores come to rest
    bound: float = 2.5  # scores are not pushed further out than this
    start: float = 0.5  # scores before training
    sharpest: float = (
        2.0  # in the last training gates come to be drawn with scores so many times as far from 0, at most
    )
    flips: int = 8  # features flipped, or swaps tried, per row and step, at most
    bit_flips: float = 0.15  # of the masks of other rows that predictors learn from; at most 1.65 features
    covariance: str = "low-rank"  # of the gates
    n_factors: int = 8  # of L, for "low-rank"
    correlation_rate: float = 1e-2
    pull: Pull = DEFAULT_PULL  # of the gates' correlation toward 0
    k: int | None = None  # exactly so many features a row
    min_features: int = 0  # at least so many, where there is no k
    predictor: PredictorSettings = field(default_factory=PredictorSettings)


class Stage:
    """The networks of P problems, with what was decided about them: how rows are scored, masked and judged."""

    def __init__(
        self, folds: Folds, task: Task, settings: SelectorSettings, generator: torch.Generator, seed: int
    ) -> None:
        problems, d = len(folds.x), folds.gates.n
        self.folds, self.task, self.settings, self.generator, self.seed = folds, task, settings, generator, seed
        self.alive = torch.ones(problems, d, dtype=torch.bool, device=folds.x.device)  # the others fill up the width
        self.predictors = FoldPredictors(folds, task, settings.predictor, generator, seed)
        start = torch.Generator().manual_seed(seed + 1)
        self.selector = ChoiceNet(
            d,
            settings.hidden,
            n_inputs=folds.gates.n_inputs,
            n_extra=1,
            activation=settings.activation,
            replicas=problems,
            generator=start,
        )
        self.selector.scores.start(0.1, settings.start, start)
        self.selector.to(folds.x.device)
        self.correlation: GateCorrelation | None = None
        self.beside = Beside(folds.x.device)  # noise, and what concerns the correlation alone
        self.aside = Beside(folds.x.device)  # which features to flip
        self.meanwhile = Meanwhile(folds.x.device)  # what the predictors learn while flips are tried
        self.middle = torch.zeros(problems, 1, 1, device=folds.x.device)  # of the log-penalties
        self.sharpness = torch.ones((), device=folds.x.device)  # what scores are multiplied by before gates are drawn
        self.level = torch.zeros(problems, device=folds.x.device)  # that a score must exceed
        # features of which one is enough for a row
        self.substitutes = torch.zeros(problems, d, d, dtype=torch.bool, device=folds.x.device)

    def scores(self, x: Tensor, log_penalty: Tensor) -> Tensor:
        """alpha of rows (P, n, D) at log-penalties (P, 1 or n, 1): (P, n, d)."""
        told = ((log_penalty - self.middle) / 2).expand(-1, x.shape[1], -1)
        scores = self.selector(torch.cat([x, told], dim=-1)).scores.masked_fill(~self.alive.unsqueeze(1), SHUT)
        return open_forced(scores, self.folds.gates.forced)

    @torch.no_grad()
    def masks(self, x: Tensor, log_penalty: Tensor) -> Tensor:
        """The masks without noise, of rows (P, n, D) at one log-penalty a problem (P,): (P, n, d)."""
        scores = self.scores(x, log_penalty[:, None, None])
        mask = self.decided(scores, self.level)
        return (mask if self.settings.k is not None else best_of_groups(mask, scores, self.substitutes)).to(x.dtype)

    def decided(self, scores: Tensor, level: Tensor) -> Tensor:
        """The masks of scores (P, n, d) that must exceed a level, one or one a problem (P,); with k there is none."""
        s = self.settings
        return decided(scores if s.k is not None else scores - level.view(-1, 1, 1), s.k, s.min_features)

    def correlate(self) -> None:
        """From now on, gates are correlated; before, when most features are noise, they need not be."""
        problems, d = self.alive.shape
        covariance = self.settings.covariance
        n_factors = min(self.settings.n_factors, d) if covariance == "low-rank" else d
        rows, of_input = self.folds.x.flatten(1, 2), self.folds.gates.of_input
        pattern = block_pattern(rows, of_input) if covariance == "block" else None
        start = torch.Generator().manual_seed(self.seed + 2)
        self.correlation = GateCorrelation(problems, d, n_factors, self.settings.pull, start, pattern).to(
            self.alive.device
        )

    @torch.no_grad()
    def out_of_fold_losses(self, mask: Tensor, rows: Tensor | None = None) -> Tensor:
        """Training rows shown by `mask` (P, F, n, d), each judged by the predictor of its own fold: (P, F n).

        All of them or, of each fold, those numbered `rows` (P, F, n).
        """
        x, y = self.folds.training
        if rows is not None:
            x, y = x.gather(2, rows.unsqueeze(-1).expand(-1, -1, -1, x.shape[-1])), y.gather(2, rows)
        x, y = x.flatten(0, 1), y.flatten(0, 1)
        return self.task.row_loss(self.predictors.judge(x, mask.flatten(0, 1)), y).view(len(self.alive), -1)

    def prune(self, keep: Tensor) -> Tensor:
        """Go on with the features in `keep` (P, d) alone; return their numbers (P, w), w the widest union.

        Networks keep what they learned: a feature's weights are rows (and, of the scores, columns) of theirs.
        """
        order = keep.to(torch.int8).argsort(dim=1, descending=True, stable=True)
        columns = order[:, : int(keep.sum(1).max())]
        of_input = self.folds.gates.of_input
        inputs = columns if of_input is None else inputs_of(of_input, columns[0])[None]
        penalty = torch.full_like(columns[:, :1], self.folds.gates.n_inputs)  # the last input
        self.selector = self.selector.only(columns, torch.cat([inputs, penalty], 1))
        self.alive = keep.gather(1, columns)
        self.folds = self.folds.only(columns, self.alive)
        self.predictors.prune(self.folds, columns)
        self.substitutes = torch.zeros(*self.alive.shape, columns.shape[1], dtype=torch.bool, device=columns.device)
        return columns
