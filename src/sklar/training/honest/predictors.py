"""Cross-fitted predictors that learn nothing from the mask about the row.

F predictors, one a fold, each trained without its fold on masks that carry no information about their rows: so
predictor(x * z, z) estimates p(y | x_S), hiding a feature cannot be a message, and a row judged by the predictor of
its own fold is judged by one that never saw it. Without that last point irrelevant features earn a memorisation
bonus, larger than what some true features earn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.engine.steps import adamw, averaging, cosine, follow, move, repeat, set_learning_rate
from sklar.training.honest.folds import Folds, of_other_folds
from sklar.training.honest.group_lasso import shrink_features
from sklar.training.tasks import Task


@dataclass(frozen=True)
class PredictorSettings:
    """How the predictors learn. They must be calibrated, not only accurate: over-confidence hides true features."""

    hidden: int = 64
    learning_rate: float = 1e-2
    weight_decay: float = 1.0  # times the noise of the rows, as is the sparsity
    sparsity: float = 1.0  # group lasso on the features, at 100 of them (in proportion below)
    average: float = 0.99  # of the weights: the moving average judges, the last weights learn
    batch_size: int = 1000
    rise: int = 100  # steps over which the learning rate rises
    k: int | None = None  # features that the masks to be judged show; None: any number


class FoldPredictors:
    """The predictors of P problems and F folds, side by side."""

    def __init__(self, folds: Folds, task: Task, settings: PredictorSettings, generator: torch.Generator, seed: int):
        problems, n_folds, m, _ = folds.x.shape
        gates = folds.gates
        self.folds, self.task, self.settings, self.generator = folds, task, settings, generator
        self.average = settings.average
        self.rows = max(1, min(settings.batch_size // n_folds, m))  # of each fold, a step
        start = torch.Generator().manual_seed(seed)
        self.learner = MaskedPredictor(
            gates.n, settings.hidden, task.n_outputs, problems * n_folds, start, gates.of_input
        )
        self.learner.to(folds.x.device)
        self.judge = copy.deepcopy(self.learner).requires_grad_(False)
        self.optimiser = self._new_optimiser()

    def warm_up(
        self, n_steps: int, alive: Tensor, report: Callable[[], object] = lambda: None, settle: bool = False
    ) -> None:
        """Learn from random masks alone; features that are not `alive` (P, 1, 1, d) are never shown.

        With `settle` the learning rate falls to 0: for predictors that will not learn on.
        """

        def step() -> None:
            x, y = self.folds.batch(self.rows, self.folds.n_train, self.generator)
            self.learn(x, y, random_masks(self.folds.gates.like(x), self.generator, self.settings.k) * alive)
            self.remember()

        self.average = averaging(self.settings.average, n_steps)
        rise = min(self.settings.rise, 1 + n_steps // 5)

        def before(k: int) -> None:
            fade = cosine(k, n_steps) if settle else 1.0
            set_learning_rate(self.optimiser, self.settings.learning_rate * fade * min(1.0, (k + 1) / rise))
            report()

        repeat(step, n_steps, before, self.folds.x.device, self.generator)

    def learn(self, x: Tensor, y: Tensor, mask: Tensor) -> None:
        """One step: rows (P, F, b, D), masks (P, F, b, d); each predictor learns from the folds that are not its.

        The judge does not change before `remember`.
        """
        if self.folds.gates.forced is not None:
            mask = mask.masked_fill(self.folds.gates.forced, 1.0)
        inputs, y = (of_other_folds(t).flatten(0, 1) for t in (self.learner.inputs(x, mask), y))
        loss = self.task.row_loss(self.learner.after_first(self.learner.first(inputs)), y).mean(-1).sum()
        loss.backward()
        move(self.optimiser)
        with torch.no_grad():
            shrink_features(self.learner, self.optimiser.param_groups[0]["lr"] * self.sparsity)

    def remember(self) -> None:
        """Let the judge follow the learner."""
        follow(list(self.judge.parameters()), list(self.learner.parameters()), 1 - self.average)

    def prune(self, folds: Folds, keep: Tensor) -> None:
        """Go on with the features (P, w) alone, which `folds` holds; what was learned about them is kept."""
        keep = keep.repeat_interleave(folds.x.shape[1], 0)
        self.learner, self.judge = self.learner.only(keep), self.judge.only(keep)
        self.judge.requires_grad_(False)
        self.folds = folds
        self.optimiser = self._new_optimiser()

    @property
    def sparsity(self) -> float:
        """The group lasso's strength: weak features are not to pay for noise that is not there."""
        share = min(1.0, self.learner.n_features / 100)
        return self.settings.sparsity * share * (self.settings.hidden / 64) ** 0.5 * self.folds.noise

    def _new_optimiser(self) -> torch.optim.AdamW:
        s = self.settings
        return adamw(self.learner, s.learning_rate, s.weight_decay * self.folds.noise, spare="first.weight")

    @torch.no_grad()
    def row_losses(self, x: Tensor, mask: Tensor, y: Tensor) -> Tensor:
        """Rows that no predictor saw (P, n, d), judged by all, the mean of their losses: (P, n)."""
        problems, n, _ = x.shape
        n_folds = self.folds.x.shape[1]
        x, mask, y = (t.repeat_interleave(n_folds, 0) for t in (x, mask, y))
        return self.task.row_loss(self.judge(x, mask), y).view(problems, n_folds, n).mean(1)


# Where masks show a smaller share of the features than this, rates are drawn log-uniformly.
SMALL_SHARE = 0.2


def random_masks(like: Tensor, generator: torch.Generator, k: int | None = None) -> Tensor:
    """Every row its own rate, and gates that open at that rate: like `like` (..., d).

    Rates are uniform in (0, 1) or, where the masks to be judged show k of very many, log-uniform in (1 / d, 1):
    masks of so few would hardly come up.
    """
    d = like.shape[-1]
    rate = torch.rand(like.shape[:-1], generator=generator, device=like.device).unsqueeze(-1)
    if k is not None and k <= SMALL_SHARE * d:
        rate = (1 / d) ** rate
    return (torch.rand(like.shape, generator=generator, device=like.device) < rate).to(like.dtype)


def teaching_masks(
    mask: Tensor, alive: Tensor, bit_flips: float, generator: torch.Generator, k: int | None = None
) -> Tensor:
    """Masks (P, F, b, d) that say nothing about their row, made of masks drawn for it.

    Half are those of the row before, with random bit flips, so that predictors know the masks they will be asked
    about and the counterfactuals "this mask with feature i flipped"; half are random.
    """
    noise = torch.rand(mask.shape, generator=generator, device=mask.device)
    rolled = mask.roll(1, 2)
    rolled = torch.where(noise < bit_flips, 1 - rolled, rolled)
    even = torch.arange(mask.shape[2], device=mask.device).unsqueeze(-1) % 2 == 0
    return torch.where(even, rolled, random_masks(mask, generator, k)) * alive
