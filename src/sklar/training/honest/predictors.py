"""Cross-fitted predictors that learn nothing from the mask about the row.

F predictors, one a fold, each trained without its fold on masks that carry no information about their rows: so
predictor(x * z, z) estimates p(y | x_S), hiding a feature cannot be a message, and a row judged by the predictor of
its own fold is judged by one that never saw it. Without that last point irrelevant features earn a memorisation
bonus, larger than what some true features earn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.piecewise import Piecewise, cut_inputs
from sklar.training.best_confidence import losses_at_best_confidence
from sklar.training.engine.averaging import AveragedLearner
from sklar.training.engine.graphs import graphed
from sklar.training.engine.optim import RateSchedule, adamw
from sklar.training.engine.run import Run
from sklar.training.engine.side_work import SideWork
from sklar.training.engine.state import State
from sklar.training.engine.team import ALONE, WHOLE, Share, Team
from sklar.training.honest.folds import Folds, of_other_folds
from sklar.training.honest.group_lasso import shrink_features
from sklar.training.honest.settings import LOG_UNIFORM_BELOW, PredictorSettings
from sklar.training.tasks import Task


class FoldPredictors:
    """The predictors of P problems and F folds, side by side.

    They go on learning while the selector trains: the one part of honest training that changes in place.
    """

    def __init__(
        self,
        folds: Folds,
        task: Task,
        settings: PredictorSettings,
        generator: torch.Generator,
        seed: int,
        team: Team = ALONE,
    ) -> None:
        problems, n_folds, m, _ = folds.x.shape
        gates, device = folds.gates, folds.x.device
        self.folds, self.task, self.settings, self.generator, self.team = folds, task, settings, generator, team
        self.alive = torch.ones(problems, gates.n, dtype=torch.bool, device=device)  # others fill up the width
        self.batch_rows = max(1, min(settings.batch_size // n_folds, m))  # of each fold, a step
        if self.batch_rows < team.size:
            raise ValueError(
                f"a batch has {self.batch_rows} rows of each fold, too few for {team.size} processes; start fewer, or "
                "raise batch_size"
            )
        self.share = team.share(self.batch_rows)  # of them, what this process works on
        start, replicas = torch.Generator().manual_seed(seed), problems * n_folds
        of_input, pieces = None if gates.of_input is None else gates.of_input.cpu(), _pieces(folds, settings.n_bins)
        network = MaskedPredictor(gates.n, settings.hidden, task.n_outputs, replicas, start, of_input, pieces)
        self.learner = self._learner(network.to(device))
        self.is_done = False  # whether they have learned all that they are to learn
        # Where they learn while flips are tried; no thread where other processes wait for messages in their order.
        self.beside = SideWork(device, thread=team.is_alone)

    @property
    def state(self) -> State:
        """All that learning changes."""
        return {"learner": self.learner.state, "generator": self.generator}

    @property
    def judge(self) -> MaskedPredictor:
        """The average of the weights, which judges."""
        return self.learner.average

    def warm_up(self, n_steps: int, run: Run | None = None, decay_to_zero: bool = False, whole: bool = False) -> None:
        """Learn from random masks alone or, with `whole`, from all features of every row.

        With `decay_to_zero` the learning rate falls to 0: for predictors that will not learn on.
        """

        def learn_and_judge() -> None:
            x, y = self.batch(self.folds.n_train)
            gates = self.folds.gates.like(x)
            mask = torch.ones_like(gates) if whole else self._random_masks(gates)
            self.learn(x, y, mask * self.alive[:, None, None])
            self.update_judge()

        s = self.settings
        self.learner.begin(n_steps)
        rates = RateSchedule(s.learning_rate, s.warm_up, floor=0.0 if decay_to_zero else 1.0)
        step = graphed(learn_and_judge, self.generator, self.team.is_alone)
        for _ in (run or Run()).steps(n_steps, self.state, [(self.learner.optimiser, rates)], rows=self.folds):
            step()

    def _random_masks(self, like: Tensor) -> Tensor:
        return random_masks(like, self.generator, self.settings.k, self.share)

    def batch(self, n_first: int) -> tuple[Tensor, Tensor]:
        """The next batch, drawn from the first `n_first` rows of every fold: the share of it that is this process's."""
        return self.folds.batch(self.batch_rows, n_first, self.generator, self.share)

    def learn(self, x: Tensor, y: Tensor, mask: Tensor) -> None:
        """One step: rows (P, F, b, D), masks (P, F, b, d); each predictor learns from the folds that are not its own.

        The judge does not change before `update_judge`.
        """
        if self.is_done:
            return
        if self.folds.gates.forced is not None:
            mask = mask.masked_fill(self.folds.gates.forced, 1.0)
        network = self.learner.network
        inputs, y = (of_other_folds(t).flatten(0, 1) for t in (network.inputs(x, mask), y))
        loss = self.task.learning_loss(network.after_first(network.first(inputs)), y).mean(-1).sum()
        (loss * self.share.weight).backward()
        self.learner.step()
        with torch.no_grad():
            shrink_features(network, self.learner.learning_rate * self.sparsity)

    def update_judge(self) -> None:
        """Move the judge toward the weights that learn."""
        if self.is_done:
            return
        self.learner.update_average()

    def only(self, columns: Tensor, alive: Tensor) -> FoldPredictors:
        """The predictors of the features `columns` (P, w) alone; what was learned about them is kept.

        Those not `alive` (P, w) fill up the width, and are never shown.
        """
        narrow = copy.copy(self)
        narrow.folds, narrow.alive = self.folds.only(columns, alive), alive
        keep = columns.repeat_interleave(self.folds.n_folds, 0)
        narrow.learner = narrow._learner(self.learner.network.only(keep), self.judge.only(keep))
        narrow.beside = self.beside.another()
        return narrow

    def with_weights(self, network: MaskedPredictor, judge: MaskedPredictor) -> FoldPredictors:
        """The predictors of the same rows and features with other weights, learning anew from them."""
        other = copy.copy(self)
        other.learner = other._learner(network, judge)
        other.beside = self.beside.another()
        return other

    def of_rows(self, folds: Folds) -> FoldPredictors:
        """The same predictors before other rows of the same features."""
        other = copy.copy(self)
        other.folds = folds
        return other

    def copied(self) -> FoldPredictors:
        """The same predictors, which may learn apart from these."""
        return self.with_weights(copy.deepcopy(self.learner.network), copy.deepcopy(self.judge))

    @property
    def sparsity(self) -> float:
        """The group lasso's strength: weak features are not to pay for noise that is not there."""
        share = min(1.0, self.folds.gates.n / 100)
        return self.settings.sparsity * share * (self.settings.hidden / 64) ** 0.5 * self.folds.noise

    def _learner(
        self, network: MaskedPredictor, average: MaskedPredictor | None = None
    ) -> AveragedLearner[MaskedPredictor]:
        s = self.settings
        optimiser = adamw(network, s.learning_rate, s.weight_decay * self.folds.noise, no_decay="first.weight")
        return AveragedLearner(network, optimiser, s.ema_decay, average, self.team)

    @torch.no_grad()
    def held_out_losses(self, x: Tensor, mask: Tensor, y: Tensor) -> Tensor:
        """Rows that no predictor saw (P, n, D), judged by all, the mean of their losses: (P, n)."""
        problems, n, _ = x.shape
        n_folds = self.folds.n_folds
        share = self.team.share(n)
        x, mask, y = (share.own(t, 1).repeat_interleave(n_folds, 0) for t in (x, mask, y))
        losses = self.task.row_loss(self.judge(x, mask), y)
        return share.together(losses.view(problems, n_folds, -1).mean(1), 1)

    @torch.no_grad()
    def held_out_outputs(self, x: Tensor, mask: Tensor) -> Tensor:
        """The mean output of all predictors for rows (P, n, D) that none of them saw: (P, n, out)."""
        n_folds = self.folds.n_folds
        outputs = self.judge(x.repeat_interleave(n_folds, 0), mask.repeat_interleave(n_folds, 0))
        return outputs.unflatten(0, (-1, n_folds)).mean(1)

    @torch.no_grad()
    def out_of_fold_losses(self, mask: Tensor, rows: Tensor | None = None) -> Tensor:
        """Training rows shown by `mask` (P, F, n, d), each judged by the predictor of its own fold: (P, F n).

        All of them or, of each fold, those numbered `rows` (P, F, n).
        """
        return self._judged(mask, rows, lambda output, y: self.task.row_loss(output, y)).flatten(1)

    def lost_by(self, after: Tensor, before: Tensor) -> Tensor:
        """What each training row loses by masks `after` instead of `before` (P, F, n, d), out of fold: (P, F n).

        At the best confidence of each for the rows whose masks differ.
        """
        where = (after != before).any(-1).flatten(1)
        y, weight = self.folds.training[1].flatten(1), self.folds.training_weight
        outputs = (self.out_of_fold_outputs(mask) for mask in (after, before))
        losses = (losses_at_best_confidence(self.task, output, y, where, weight) for output in outputs)
        return torch.where(where, next(losses) - next(losses), 0.0)

    def out_of_fold_outputs(self, mask: Tensor, rows: Tensor | None = None) -> Tensor:
        """What the same predictors say of these rows: (P, F n, out)."""
        return self._judged(mask, rows, lambda output, y: output).flatten(1, 2)

    @torch.no_grad()
    def _judged(self, mask: Tensor, rows: Tensor | None, says: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """What training rows' outputs and targets say, (R, n, ...) each: (P, F, n, ...)."""
        x, y = self.training_rows(rows)
        share = self.team.share(x.shape[2])
        x, y, mask = (share.own(t, 2).flatten(0, 1) for t in (x, y, mask))
        said = says(self.judge(x, mask), y)
        return share.together(said.unflatten(0, self.folds.x.shape[:2]), 2)

    def training_rows(self, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """All training rows (P, F, n, D) and targets or, of each fold, those numbered `rows` (P, F, n)."""
        x, y = self.folds.training
        if rows is None:
            return x, y
        return x.gather(2, rows.unsqueeze(-1).expand(-1, -1, -1, x.shape[-1])), y.gather(2, rows)

    @torch.no_grad()
    def renew_task(self) -> None:
        """Give the task the outputs of training rows shown everything, out of fold."""
        x, y = (t.flatten(0, 1) for t in self.folds.training)
        shown = self.alive.to(x.dtype).repeat_interleave(self.folds.n_folds, 0).unsqueeze(1)
        output = self.judge(x, shown.expand(*x.shape[:2], -1))
        self.task.renew(output.flatten(0, 1), y.flatten())


def _pieces(folds: Folds, n_bins: int) -> Piecewise | None:
    """The intervals that numbers are seen in; None where there are none, or no numbers."""
    rows = folds.x.flatten(1, 2)
    cut = cut_inputs(rows, folds.gates.of_input) if n_bins else rows.new_empty(0, dtype=torch.long)
    return Piecewise.of(rows, cut, n_bins, folds.n_folds).cpu() if len(cut) else None


def random_masks(like: Tensor, generator: torch.Generator, k: int | None = None, share: Share = WHOLE) -> Tensor:
    """Every row its own rate, and gates that open at that rate: like `like` (..., rows, d).

    Rates are uniform in (0, 1) or, where the masks to be judged show k of very many, log-uniform in (1 / d, 1):
    masks of so few would hardly come up.
    """
    d = like.shape[-1]
    rate = share.rand(like.shape[:-1], -1, generator).unsqueeze(-1)
    if k is not None and k <= LOG_UNIFORM_BELOW * d:
        rate = (1 / d) ** rate
    return (share.rand(like.shape, -2, generator) < rate).to(like.dtype)


def teaching_masks(
    mask: Tensor,
    alive: Tensor,
    bit_flips: float,
    generator: torch.Generator,
    k: int | None = None,
    share: Share = WHOLE,
) -> Tensor:
    """Masks (P, F, b, d) that say nothing about their row, made of masks drawn for it.

    Half are those of the row before, with random bit flips, so that predictors know the masks they will be asked
    about and the counterfactuals "this mask with feature i flipped"; half are random.
    """
    noise = share.rand(mask.shape, 2, generator)
    rolled = share.rolled(mask, 2)
    rolled = torch.where(noise < bit_flips, 1 - rolled, rolled)
    number = share.first + torch.arange(mask.shape[2], device=mask.device).unsqueeze(-1)
    return torch.where(number % 2 == 0, rolled, random_masks(mask, generator, k, share)) * alive
