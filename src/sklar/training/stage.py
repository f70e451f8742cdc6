"""Predictors and selector of P problems on one set of columns: the inner loop of honest training.

Axes: P problems (independent data sets of one size, trained side by side; a user's fit has one), F folds, b rows a
fold and step, d features (gates), D inputs (see `model.gates`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sklar.model.binary_mask import best_of_groups
from sklar.model.gates import Gates, group_size, inputs_of, open_forced, sum_by_gate, to_inputs
from sklar.model.networks import ChoiceNet
from sklar.model.selection import decided
from sklar.training import draws, flips, swaps
from sklar.training.copula_flips import copula_flips
from sklar.training.folds import Folds
from sklar.training.gate_correlation import GateCorrelation, Pull, block_pattern
from sklar.training.objectives import Task, bill
from sklar.training.predictors import FoldPredictors, PredictorSettings, teaching_masks
from sklar.training.steps import Beside, adamw, averaging, cosine, repeat, set_learning_rate
from sklar.training.trial import Trial

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)  # one of these a score must exceed to select

SHUT = -30.0  # the score of what only fills up the width
Report = Callable[[], object]  # told of every step that was done


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
    flips: int = 8  # features flipped, or swaps tried, per row and step, at most
    bit_flips: float = 0.15  # of the masks of other rows that predictors learn from; at most 1.65 features
    covariance: str = "low-rank"  # of the gates
    rank: int = 8  # of L, for "low-rank"
    correlation_rate: float = 1e-2
    pull: Pull = DEFAULT_PULL  # of the gates' correlation toward 0
    k: int | None = None  # exactly so many features a row
    min_features: int = 0  # at least so many, where there is no k
    predictor: PredictorSettings = field(default_factory=PredictorSettings)


class Stage:
    """Trains the selector through predictors that it does not move."""

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
        self.beside = Beside(folds.x.device)  # what concerns the correlation alone
        self.middle = torch.zeros(problems, 1, 1, device=folds.x.device)  # of the log-penalties
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
        mask = self._decided(scores, self.level)
        return (mask if self.settings.k is not None else best_of_groups(mask, scores, self.substitutes)).to(x.dtype)

    def correlate(self) -> None:
        """From now on, gates are correlated; before, when most features are noise, they need not be."""
        problems, d = self.alive.shape
        covariance = self.settings.covariance
        rank = min(self.settings.rank, d) if covariance == "low-rank" else d
        rows, of_input = self.folds.x.flatten(1, 2), self.folds.gates.of_input
        pattern = block_pattern(rows, of_input) if covariance == "block" else None
        start = torch.Generator().manual_seed(self.seed + 2)
        self.correlation = GateCorrelation(problems, d, rank, self.settings.pull, start, pattern).to(self.alive.device)

    def select(self, n_steps: int, low: Tensor, high: Tensor, among: int, report: Report = lambda: None) -> None:
        """Train the selector, and go on training the predictors, with log-penalties uniform in [low, high] (P,)."""
        s = self.settings
        self._renew_task()
        optimiser = adamw(self.selector, s.learning_rate, s.weight_decay, spare="first.weight", memory=s.memory)
        of_correlation = adamw(self.correlation, s.correlation_rate, 0.0, memory=s.memory) if self.correlation else None
        weights: list[Tensor] = list(self.selector.parameters())
        averaged = [weight.detach().clone() for weight in weights]
        alive = self.alive[:, None, None]
        self.predictors.average = averaging(s.predictor.average, n_steps)
        memory = averaging(s.average, n_steps)
        # an input's weights are the longer, the more there are
        sparsity = s.sparsity * (s.hidden / 100) ** 0.5 * self.folds.noise
        rise = min(50, 1 + n_steps // 5)
        bit_flips = s.bit_flips * min(1.0, 11 / self.alive.shape[1])

        def step() -> None:
            x, y = self.folds.batch(self.predictors.rows, among, self.generator)
            mask = self._learn(x, y, low, high)
            self.beside.join()
            for each in (optimiser, of_correlation):
                if each is not None:
                    each.step()
                    each.zero_grad(set_to_none=True)
            with torch.no_grad():
                shrink_inputs(
                    self.selector.first.weight[:, :-1], optimiser.param_groups[0]["lr"] * sparsity, self.folds.gates
                )
                torch._foreach_lerp_(averaged, weights, 1 - memory)
            self.predictors.learn(x, y, teaching_masks(mask, alive, bit_flips, self.generator, s.predictor.k))

        def before(k: int) -> None:
            fade = cosine(k, n_steps)
            set_learning_rate(optimiser, s.learning_rate * fade * min(1.0, (k + 1) / rise))
            set_learning_rate(self.predictors.optimiser, s.predictor.learning_rate * (0.2 + 0.8 * fade))
            if of_correlation is not None:
                set_learning_rate(of_correlation, s.correlation_rate * fade)
            report()

        repeat(step, n_steps, before, self.folds.x.device, self.generator)
        with torch.no_grad():
            torch._foreach_copy_(weights, averaged)

    @torch.no_grad()
    def _renew_task(self) -> None:
        """Tell the task what training rows get, shown everything, out of fold."""
        x, y = (t.flatten(0, 1) for t in self.folds.training)
        shown = self.alive.to(x.dtype).repeat_interleave(self.folds.x.shape[1], 0).unsqueeze(1)
        output = self.predictors.judge(x, shown.expand(*x.shape[:2], -1))
        self.task.renew(output.flatten(0, 1), y.flatten())

    def _learn(self, x: Tensor, y: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Put one step's gradients on selector and correlation; return the masks drawn, (P, F, b, d)."""
        problems, n_folds, b, _ = x.shape
        mix = torch.rand(problems, n_folds * b, 1, generator=self.generator, device=x.device)
        log_penalty = torch.lerp(low[:, None, None], high[:, None, None], mix)
        copula = None if self.correlation is None else self.beside.start(self._copula)
        scores = self.scores(x.flatten(1, 2), log_penalty)
        # Rows of fold f meet the predictor that never saw them: one replica for each problem and fold.
        rows, labels = x.flatten(0, 1), y.flatten(0, 1)
        alpha = scores.detach().view(problems * n_folds, b, -1)
        self.beside.join()
        eligible = self._eligible(n_folds, b)
        with torch.no_grad():
            if self.settings.k is None:
                draw = draws.draw_gates(alpha, copula, self.generator)
                trial = Trial(self.predictors.judge, self.task.row_loss, rows, labels, draw)
                index = draws.random_features(eligible, self.settings.flips, self.generator)
                gain = self._gains(trial, index)
                push = self._flip_push(gain, alpha, index, log_penalty.exp().view(problems * n_folds, b, 1))
            else:
                draw = swaps.draw(alpha, self.settings.k, self.generator)
                trial = Trial(self.predictors.judge, self.task.row_loss, rows, labels, draw)
                push = self._swap_push(trial, alpha, eligible, self.settings.k)
        scores.backward(push.view_as(scores) / (n_folds * b))
        return draw.mask.view(problems, n_folds, b, -1)

    def _eligible(self, n_folds: int, b: int) -> Tensor:
        """The gates that can be flipped: (P F, b, d)."""
        forced = self.folds.gates.forced
        free = self.alive if forced is None else self.alive & ~forced
        return free.repeat_interleave(n_folds, 0).unsqueeze(1).expand(-1, b, -1)

    def _gains(self, trial: Trial, index: Tensor) -> Tensor:
        """What K features a row gain (P F, b, K); pair flips put a step's gradient on the correlation besides."""
        if self.correlation is None or trial.draw.latents is None:
            return flips.gains(trial, index)
        gain, mixed = copula_flips(trial, trial.draw.latents, index)  # the first two are a random pair
        self.beside.start(self.correlation.learn, index[..., :2], mixed)
        return gain

    @torch.no_grad()
    def _copula(self) -> draws.Copula:
        """The present correlation of the gates, for every problem and fold."""
        assert self.correlation is not None
        return draws.Copula.of(self.correlation.root()).for_folds(self.folds.x.shape[1])

    def _flip_push(self, gain: Tensor, alpha: Tensor, index: Tensor, price: Tensor) -> Tensor:
        """The natural gradient of the scores, penalty - gain, for K features a row: (P F, b, d)."""
        if self.folds.gates.cost is not None:  # every feature has its own
            price = price * self.folds.gates.cost[index]
        push = inward_only(price - gain, alpha.gather(-1, index), self.settings.bound)
        # every feature is flipped for a share K / d of the rows
        return torch.zeros_like(alpha).scatter(-1, index, push * (alpha.shape[-1] / index.shape[-1]))

    def _swap_push(self, trial: Trial, alpha: Tensor, free: Tensor, k: int) -> Tensor:
        """What swaps gain, taken from features that leave and given to those that come: (P F, b, d)."""
        d = alpha.shape[-1]
        count = min(self.settings.flips, k, d - k)
        if count < 1:
            return torch.zeros_like(alpha)
        push = swaps.push(trial, free, count, self.generator)
        return inward_only(push, alpha, swaps.bound_for(k, d, self.settings.bound))

    def loss_spread(self) -> Tensor:
        """The standard deviation of the loss, of training rows shown everything, judged out of fold: (P,)."""
        x, _ = self.folds.training
        losses = self.out_of_fold_losses(self.alive[:, None, None].expand(*x.shape[:3], -1).to(x.dtype))
        return deviation(losses, self.folds.training_weight)

    @torch.no_grad()
    def choose_level(self, log_penalty: Tensor) -> None:
        """Ask of a score what makes the loss of training rows, judged out of fold, least.

        Gains are larger than penalties, so that near a switch the smooth selector leans to selecting: there a score
        above 0 may say no more than that a neighbour needs the feature.
        """
        x, _ = self.folds.training
        scores = self.scores(x.flatten(1, 2), log_penalty[:, None, None])
        levels, weight = torch.tensor(LEVELS, device=x.device), self.folds.training_weight
        masks = (self._decided(scores, level).to(x.dtype).view(*x.shape[:3], -1) for level in levels)
        losses = torch.stack([mean_and_error(self.out_of_fold_losses(mask), weight)[0] for mask in masks], 1)
        best = losses <= losses.amin(1, keepdim=True)
        self.level = torch.where(best, levels, torch.inf).amin(1)  # of equal ones the lowest

    def _decided(self, scores: Tensor, level: Tensor) -> Tensor:
        """The masks of scores (P, n, d) that must exceed a level, one or one a problem (P,); with k there is none."""
        s = self.settings
        return decided(scores if s.k is not None else scores - level.view(-1, 1, 1), s.k, s.min_features)

    @torch.no_grad()
    def exclude_substitutes(self, log_penalty: Tensor) -> None:
        """Select one of the features whose gates exclude each other, unless several clearly earn their price.

        Clearly: loss and price together are worse by more than four standard errors without the others. The rows that
        choose were learned from, so that a copy that is worth nothing comes near two; a feature that is needed beside
        another one is worth ten and more.
        """
        if self.correlation is None or self.settings.min_features > 1:
            return
        groups = self.correlation.substitutes() & self.alive.unsqueeze(1) & self.alive.unsqueeze(2)
        self.substitutes = torch.zeros_like(groups)
        before = self._paid(log_penalty)
        self.substitutes = groups
        more, error = mean_and_error(self._paid(log_penalty) - before, self.folds.training_weight)
        self.substitutes = groups & (more <= 4 * error)[:, None, None]

    def _paid(self, log_penalty: Tensor) -> Tensor:
        """Loss and price of the training rows' masks without noise, judged out of fold: (P, F n)."""
        x, _ = self.folds.training
        mask = self.masks(x.flatten(1, 2), log_penalty).view(*x.shape[:3], -1)
        price = log_penalty.exp().unsqueeze(1) * bill(mask, self.folds.gates.cost).flatten(1)
        return self.out_of_fold_losses(mask) + price

    @torch.no_grad()
    def out_of_fold_losses(self, mask: Tensor) -> Tensor:
        """Training rows shown by `mask` (P, F, n, d), each judged by the predictor of its own fold: (P, F n)."""
        x, y = (t.flatten(0, 1) for t in self.folds.training)
        return self.task.row_loss(self.predictors.judge(x, mask.flatten(0, 1)), y).view(len(self.alive), -1)

    def path(self, log_penalties: Tensor) -> tuple[Tensor, Tensor]:
        """Held-out losses (P, G, n) and mean features a row (P, G) for G log-penalties (P, G)."""
        x, y = self.folds.held_out
        masks = [self.masks(x, column) for column in log_penalties.unbind(1)]
        losses = torch.stack([self.predictors.row_losses(x, mask, y) for mask in masks], 1)
        return losses, torch.stack([mask.sum(-1).mean(1) for mask in masks], 1)

    def prune(self, keep: Tensor) -> Tensor:
        """Go on with the features in `keep` (P, d) alone; return their numbers (P, w), w the widest union.

        Networks keep what they learned: a feature's weights are rows (and, of the scores, columns) of theirs.
        """
        order = keep.to(torch.int8).argsort(dim=1, descending=True, stable=True)
        columns = order[:, : int(keep.sum(1).max())]
        self.selector = narrow_selector(self.selector, columns, self.settings, self.folds.gates)
        self.alive = keep.gather(1, columns)
        self.folds = self.folds.only(columns, self.alive)
        self.predictors.prune(self.folds, columns)
        self.substitutes = torch.zeros(*self.alive.shape, columns.shape[1], dtype=torch.bool, device=columns.device)
        return columns


def narrow_selector(wide: ChoiceNet, columns: Tensor, settings: SelectorSettings, gates: Gates) -> ChoiceNet:
    """A selector of fewer features (P, w) that scores them as `wide` does where the others are 0."""
    problems, width = columns.shape
    inputs = columns if gates.of_input is None else inputs_of(gates.of_input, columns[0])[None]
    unused = torch.Generator()  # the weights are replaced below
    narrow = ChoiceNet(
        width,
        settings.hidden,
        n_inputs=inputs.shape[1],
        n_extra=1,
        activation=settings.activation,
        replicas=problems,
        generator=unused,
    ).to(columns.device)
    extra = torch.full((problems, 1), wide.first.weight.shape[1] - 1, device=columns.device)
    with torch.no_grad():
        narrow.first.weight.copy_(take_rows(wide.first.weight, torch.cat([inputs, extra], 1)))
        narrow.first.bias.copy_(wide.first.bias)
        narrow.second.load_state_dict(wide.second.state_dict())
        narrow.scores.weight.copy_(take_rows(wide.scores.weight.mT, columns).mT)
        narrow.scores.bias.copy_(take_rows(wide.scores.bias.mT, columns).mT)
    return narrow


def mean_and_error(values: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The mean over rows (P, n) by weight (P, n), and its standard error: (P,), (P,)."""
    if weight is None:
        return values.mean(1), values.std(1) / values.shape[1] ** 0.5
    share = weight / weight.sum(1, keepdim=True)
    mean = (share * values).sum(1)
    return mean, (share * (values - mean.unsqueeze(1))).square().sum(1).sqrt()


def deviation(values: Tensor, weight: Tensor | None) -> Tensor:
    """The standard deviation over rows (P, n), by weight (P, n): (P,)."""
    if weight is None:
        return values.std(1)
    share = weight / weight.sum(1, keepdim=True)
    mean = (share * values).sum(1, keepdim=True)
    return (share * (values - mean).square()).sum(1).sqrt()


def inward_only(gradient: Tensor, scores: Tensor, bound: float) -> Tensor:
    """Let pushes outward fade over the last unit before `bound`, to none beyond it; keep those that bring a score back.

    Nothing saturates: a strong feature is not locked open for all rows before rows are told apart. They fade because a
    strong feature comes to rest where the bound holds it: pushes in full there would be noise in which the penalty,
    which pulls at the rows that do not need the feature, could not be heard.
    """
    room = (bound - scores.abs()).clamp(0, 1)
    return torch.where(scores * gradient < 0, gradient * room, gradient)


def shrink_inputs(weight: Tensor, amount: float | Tensor, gates: Gates | None = None) -> None:
    """The proximal step of a group lasso: each feature's weights lose `amount` of their length.

    weight : (P, D, h); the m inputs of one gate are one group, and lose sqrt(m) times as much.
    """
    length = weight.norm(dim=-1, keepdim=True)
    if gates is not None and gates.of_input is not None:
        squares = sum_by_gate(length.squeeze(-1).square(), gates.of_input, gates.n)
        length = to_inputs(squares.sqrt() / group_size(gates.of_input, gates.n).sqrt(), gates.of_input).unsqueeze(-1)
    weight.mul_((1 - amount / length.clamp_min(1e-12)).clamp_min(0))


def take_rows(weight: Tensor, rows: Tensor) -> Tensor:
    """Rows (P, w) of a stack of matrices (P, d, h): (P, w, h)."""
    return weight.gather(1, rows.unsqueeze(-1).expand(-1, -1, weight.shape[-1]))
