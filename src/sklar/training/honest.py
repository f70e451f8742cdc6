"""Honest training: masks that cannot leak the label, and a penalty that chooses itself.

Predictors learn from masks that say nothing about their rows; the selector learns through them, and does not move
them. Its gradient is exact: flip a feature, see what the flip gains, and move the score by penalty - gain, the natural
gradient. The selector is told the penalty as one more input, drawn anew for every row, so that one training gives the
whole path.

Axes: P problems (independent data sets of one size, trained side by side; a user's fit has one), F folds, b rows a
fold and step, d features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sklar.model.honest_model import SHUT
from sklar.model.networks import ChoiceNet
from sklar.training.flips import draw_gates, gains, random_features
from sklar.training.folds import Folds
from sklar.training.objectives import Task
from sklar.training.predictors import FoldPredictors, PredictorSettings, teaching_masks
from sklar.training.steps import adamw, cosine, repeat, set_learning_rate

Report = Callable[[int], object]  # told the steps that were done


@dataclass(frozen=True)
class HonestSettings:
    """Every constant of the method. One set for all data."""

    predictor: PredictorSettings = field(default_factory=PredictorSettings)
    n_folds: int = 4
    held_fraction: float = 0.2
    batch_size: int = 1000  # rows a step, all folds together
    hidden: int = 100
    activation: str = "relu"
    learning_rate: float = 3e-3
    weight_decay: float = 0.1
    sparsity: float = 1.0  # group lasso on the selector's inputs: it may look at few features, but sharply
    average: float = 0.99  # of the selector's weights
    bound: float = 2.5  # scores are not pushed further out than this
    start: float = 0.5  # scores before training
    flips: int = 8  # features flipped per row and step, at most
    bit_flips: float = 0.15  # of the masks of other rows that predictors learn from; at most 1.65 features
    least_width: int = 16  # fewer features than this are not screened
    most_width: int = 128  # and the union never has more
    warm_steps: int = 1500
    settle_steps: int = 500  # of the predictors, after screening
    path_steps: int = 2000
    final_steps: int = 1000
    penalties: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8)  # in standard errors of the loss


class Stage:
    """Predictors and selector of P problems on one set of columns."""

    def __init__(
        self, folds: Folds, alive: Tensor, task: Task, settings: HonestSettings, generator: torch.Generator, seed: int
    ) -> None:
        problems, _, _, d = folds.x.shape
        self.folds, self.task, self.settings, self.generator = folds, task, settings, generator
        self.alive = alive  # bool (P, d): the others only fill up the width
        self.predictors = FoldPredictors(folds, task, settings.predictor, generator, seed)
        start = torch.Generator().manual_seed(seed + 1)
        self.selector = ChoiceNet(
            d, settings.hidden, n_extra=1, activation=settings.activation, replicas=problems, generator=start
        )
        self.selector.scores.start(0.1, settings.start, start)
        self.selector.to(folds.x.device)
        self.middle = torch.zeros(problems, 1, 1, device=folds.x.device)  # of the log-penalties

    def scores(self, x: Tensor, log_penalty: Tensor) -> Tensor:
        """alpha of rows (P, n, d) at log-penalties (P, 1 or n, 1): (P, n, d)."""
        told = ((log_penalty - self.middle) / 2).expand(-1, x.shape[1], -1)
        return self.selector(torch.cat([x, told], dim=-1)).scores.masked_fill(~self.alive.unsqueeze(1), SHUT)

    def masks(self, x: Tensor, log_penalty: Tensor) -> Tensor:
        """The masks without noise, of rows (P, n, d) at one log-penalty a problem (P,): like x."""
        with torch.no_grad():
            return (self.scores(x, log_penalty[:, None, None]) > 0).to(x.dtype)

    def select(self, n_steps: int, low: Tensor, high: Tensor, among: int, report: Report = lambda k: None) -> None:
        """Train the selector, and go on training the predictors, with log-penalties uniform in [low, high] (P,)."""
        s = self.settings
        optimiser = adamw(self.selector, s.learning_rate, s.weight_decay, spare="first.weight")
        weights = list(self.selector.parameters())
        averaged = [weight.detach().clone() for weight in weights]
        alive = self.alive[:, None, None]
        bit_flips = s.bit_flips * min(1.0, 11 / self.alive.shape[1])

        def step() -> None:
            x, y = self.folds.batch(self.predictors.rows, among, self.generator)
            mask = self._learn(x, y, low, high)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            with torch.no_grad():
                shrink_inputs(self.selector.first.weight[:, :-1], optimiser.param_groups[0]["lr"] * s.sparsity)
                torch._foreach_lerp_(averaged, weights, 1 - s.average)
            self.predictors.learn(x, y, teaching_masks(mask, alive, bit_flips, self.generator))

        def before(k: int) -> None:
            fade = cosine(k, n_steps)
            set_learning_rate(optimiser, s.learning_rate * fade * min(1.0, (k + 1) / 50))
            set_learning_rate(self.predictors.optimiser, s.predictor.learning_rate * (0.2 + 0.8 * fade))
            report(k)

        repeat(step, n_steps, before, self.folds.x.device, self.generator)
        with torch.no_grad():
            torch._foreach_copy_(weights, averaged)

    def _learn(self, x: Tensor, y: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Put one step's gradient on the selector; return the masks drawn, (P, F, b, d)."""
        problems, n_folds, b, d = x.shape
        mix = torch.rand(problems, n_folds * b, 1, generator=self.generator, device=x.device)
        log_penalty = torch.lerp(low[:, None, None], high[:, None, None], mix)
        scores = self.scores(x.flatten(1, 2), log_penalty)
        with torch.no_grad():
            # Rows of fold f meet the predictor that never saw them: one replica for each problem and fold.
            alpha = scores.view(problems * n_folds, b, d)
            alive = self.alive.repeat_interleave(n_folds, 0).unsqueeze(1)
            draw = draw_gates(alpha, None, self.generator)
            index = random_features(alpha, alive, self.settings.flips, self.generator)
            gain = gains(
                self.predictors.judge, self.task.row_loss, x.flatten(0, 1), y.flatten(0, 1), draw, index
            )
            push = log_penalty.exp().view(problems * n_folds, b, 1) - gain
            push = inward_only(push, alpha.gather(-1, index), self.settings.bound)
            gradient = torch.zeros_like(alpha).scatter(-1, index, push).view_as(scores)
        # every feature is flipped for a share K / d of the rows
        scores.backward(gradient * (d / (index.shape[-1] * n_folds * b)))
        return draw.mask.view(x.shape)

    def penalty_unit(self) -> Tensor:
        """The standard error of the mean loss over the training rows, from held-out rows shown everything: (P,)."""
        x, y = self.folds.held_out
        shown = self.alive.unsqueeze(1).expand_as(x).to(x.dtype)
        n_train = self.folds.x.shape[1] * self.folds.n_train
        return self.predictors.row_losses(x, shown, y).std(1) / n_train**0.5

    def path(self, log_penalties: Tensor) -> tuple[Tensor, Tensor]:
        """Held-out losses (P, G, n) and mean features a row (P, G) for G log-penalties (P, G)."""
        x, y = self.folds.held_out
        masks = [self.masks(x, column) for column in log_penalties.unbind(1)]
        losses = torch.stack([self.predictors.row_losses(x, mask, y) for mask in masks], 1)
        return losses, torch.stack([mask.sum(-1).mean(1) for mask in masks], 1)

    def prune(self, keep: Tensor) -> Tensor:
        """Go on with the features in `keep` (P, d) alone; return their columns (P, w), w the widest union.

        Networks keep what they learned: a feature's weights are rows (and, of the scores, columns) of theirs.
        """
        order = keep.to(torch.int8).argsort(dim=1, descending=True, stable=True)
        columns = order[:, : int(keep.sum(1).max())]
        self.alive = keep.gather(1, columns)
        self.selector = self._narrow_selector(columns)
        self.folds = self.folds.columns(columns, self.alive)
        self.predictors.prune(self.folds, columns)
        return columns

    def _narrow_selector(self, columns: Tensor) -> ChoiceNet:
        wide, s = self.selector, self.settings
        problems, width = columns.shape
        narrow = ChoiceNet(width, s.hidden, n_extra=1, activation=s.activation, replicas=problems).to(columns.device)
        extra = torch.full((problems, 1), self.folds.x.shape[-1], device=columns.device)
        with torch.no_grad():
            narrow.first.weight.copy_(take_rows(wide.first.weight, torch.cat([columns, extra], 1)))
            narrow.first.bias.copy_(wide.first.bias)
            narrow.second.load_state_dict(wide.second.state_dict())
            narrow.scores.weight.copy_(take_rows(wide.scores.weight.mT, columns).mT)
            narrow.scores.bias.copy_(take_rows(wide.scores.bias.mT, columns).mT)
        return narrow


def inward_only(gradient: Tensor, scores: Tensor, bound: float) -> Tensor:
    """Zero the gradients that would push a score further out than `bound`; keep those that bring it back.

    Nothing saturates: a strong feature is not locked open for all rows before rows are told apart.
    """
    outward = ((scores > bound) & (gradient < 0)) | ((scores < -bound) & (gradient > 0))
    return gradient.masked_fill(outward, 0.0)


def shrink_inputs(weight: Tensor, amount: float | Tensor) -> None:
    """The proximal step of a group lasso: each input's weights (P, inputs, h) lose `amount` of their length."""
    length = weight.norm(dim=-1, keepdim=True)
    weight.mul_((1 - amount / length.clamp_min(1e-12)).clamp_min(0))


def take_rows(weight: Tensor, rows: Tensor) -> Tensor:
    """Rows (P, w) of a stack of matrices (P, d, h): (P, w, h)."""
    return weight.gather(1, rows.unsqueeze(-1).expand(-1, -1, weight.shape[-1]))
