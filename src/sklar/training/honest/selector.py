"""The selector's training: flip or swap features of masks drawn, see what that gains, and move the scores by it.

The selector learns through predictors that it does not move; they learn on beside it. For the axes see `scoring`.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from sklar.model.binary_mask import decided
from sklar.training.engine.averaging import AveragedLearner
from sklar.training.engine.graphs import graphed
from sklar.training.engine.optim import RateSchedule, adamw, step_and_clear
from sklar.training.engine.run import Run
from sklar.training.engine.side_work import Handle, SideWork
from sklar.training.engine.state import State
from sklar.training.honest import draws, swaps
from sklar.training.honest.copula_flips import CopulaFlips
from sklar.training.honest.draws import Edge, LatentEdge, Trial
from sklar.training.honest.flips import exact_gains, inward_only
from sklar.training.honest.group_lasso import shrink_inputs
from sklar.training.honest.persuasion import PersuasionPrice, Shown
from sklar.training.honest.predictors import FoldPredictors, teaching_masks
from sklar.training.honest.scoring import PenaltyRange, Selector
from sklar.training.penalty_path import HIGHEST_PRICE


def train_selector(
    selector: Selector,
    predictors: FoldPredictors,
    log_penalties: PenaltyRange,
    n_steps: int,
    n_first: int,
    run: Run | None = None,
    sharpest: float = 1.0,
    rate: float = 1.0,
) -> Selector:
    """The selector trained on from `selector`, with the first `n_first` rows of every fold; predictors learn on.

    Over the first half of the steps gates become less random: they are drawn with scores up to `sharpest` times as far
    from 0. The learning rate is multiplied by `rate`.
    """
    training = SelectorTraining(selector, predictors, log_penalties, n_first)
    s, p = selector.settings, predictors.settings
    predictors.renew_task()
    predictors.learner.begin(n_steps)
    training.learner.begin(n_steps)
    if training.persuasion is not None:
        training.persuasion.begin(n_steps)
    rates = [
        (training.learner.optimiser, RateSchedule(rate * s.learning_rate, s.warm_up)),
        (predictors.learner.optimiser, RateSchedule(p.learning_rate, floor=p.rate_floor)),
    ]
    if training.of_correlation is not None:
        rates.append((training.of_correlation, RateSchedule(s.correlation_rate)))

    step = graphed(training.step, predictors.generator, predictors.team.is_alone)
    with training.noise_side, training.features_side, predictors.beside:
        for k in (run or Run()).steps(n_steps, training.state, rates, rows=training.folds):
            training.sharpness.fill_(1 + (sharpest - 1) * min(1.0, 2 * k / n_steps))
            step()
    network = training.learner.average.requires_grad_(True)
    return replace(training.selector, network=network, sharpness=float(training.sharpness))


class Drawn(NamedTuple):
    """Rows of all problems and folds, one replica each, and the gates drawn for them."""

    scores: Tensor  # (P, F b, d), with their graph
    penalty: Tensor  # (P F, b, 1)
    trial: Trial
    features: Tensor | None  # to flip, (P F, b, K); None where features are swapped
    k: int | Tensor | None  # features of each row, where they are counted: (P F, b, 1) where rows differ
    held_out: Shown | None = None  # rows that the selector does not learn from

    @property
    def alpha(self) -> Tensor:
        """The scores by replica: (P F, b, d)."""
        return self.scores.detach().view_as(self.trial.draw.mask)


class SelectorTraining:
    """What a step of the selector's training needs, and the step itself. The selector it begins from stays as it is."""

    def __init__(
        self, selector: Selector, predictors: FoldPredictors, log_penalties: PenaltyRange, n_first: int
    ) -> None:
        self.settings = s = selector.settings
        self.predictors, self.folds, self.generator = predictors, predictors.folds, predictors.generator
        self.log_penalties, self.n_first, self.share = log_penalties, n_first, predictors.share
        self.every_k = s.k is not None and bool((log_penalties.high > log_penalties.low).any())
        network, correlation = copy.deepcopy(selector.network), copy.deepcopy(selector.correlation)
        self.selector = replace(selector, network=network, correlation=correlation)
        optimiser = adamw(network, s.learning_rate, s.weight_decay, no_decay="first.weight", beta2=s.beta2)
        self.learner = AveragedLearner(network, optimiser, s.ema_decay, team=predictors.team)
        self.of_correlation = adamw(correlation, s.correlation_rate, 0.0, beta2=s.beta2) if correlation else None
        # an input's weights are the longer, the more there are
        self.sparsity = s.sparsity * (s.hidden / 100) ** 0.5 * self.folds.noise * selector.strength[:, None, None]
        device = self.folds.x.device
        self.persuasion: PersuasionPrice | None = None
        self.teaches_held_out = False
        if s.k is not None and s.max_excess is not None:
            self.persuasion = PersuasionPrice(predictors, s.max_excess, s.persuasion)
            if self.folds.has_held_out:  # from the selector, to the end: predictors may learn from them
                self.n_first, self.teaches_held_out = self.folds.n_train, n_first > self.folds.n_train
        self.sharpness = torch.ones((), device=device)  # a factor on the scores before gates are drawn
        self.noise_side = SideWork(device)  # noise, and what concerns the correlation alone
        self.features_side = SideWork(device)  # which features to flip

    @property
    def state(self) -> State:
        """All that a step changes."""
        return {
            "selector": self.learner.state,
            "correlation": {"network": self.selector.correlation, "optimiser": self.of_correlation},
            "predictors": self.predictors.state,
            "persuasion": None if self.persuasion is None else self.persuasion.state,
            "sharpness": self.sharpness,
        }

    def step(self) -> None:
        """One step of selector, correlation and predictors."""
        x, y = self.predictors.batch(self.n_first)
        drawn = self.draw(x, y)
        teaching = self.start_teaching(self.lesson(x, y, drawn))
        pairs = None
        with torch.no_grad():
            if drawn.features is None:
                change = self.swap_changes(drawn)
                pairs = self.start_correlation(change, drawn.trial.draw.edge)
                gradient = self.swap_gradient(drawn, change)
            else:
                gain, flips = exact_gains(drawn.trial, drawn.features)
                pairs = self.start_pairs(drawn.features, flips) if flips is not None else None
                gradient = self.flip_gradient(drawn, drawn.features, gain)
        n_rows = self.folds.n_folds * self.share.total  # of all processes
        drawn.scores.backward(gradient.view_as(drawn.scores) / n_rows)
        self.update_network()
        if pairs is not None:
            pairs.result()
        teaching.result()
        self.predictors.update_judge()  # which judged this step's flips

    def draw(self, x: Tensor, y: Tensor) -> Drawn:
        """Score rows (P, F, b, D) at random penalties, and draw their gates."""
        problems, n_folds, b, _ = x.shape
        k, log_penalty = self._asked_for(x)
        scores, gates, features = self._gates(x, log_penalty, k)
        # Rows of fold f meet the predictor that never saw them.
        x, y = x.flatten(0, 1), y.flatten(0, 1)
        loss: draws.RowLoss = self.predictors.task.row_loss
        held_out = None
        if self.persuasion is not None:
            chosen = Shown(x, y, decided(scores.detach().view_as(gates.mask), k).to(x.dtype))
            dealt = chosen._replace(mask=self.share.rolled(chosen.mask, 1))
            held_out = self._held_out() if self.folds.has_held_out else None
            self.persuasion.update(chosen, dealt, held_out)
            loss = self.persuasion.loss
        trial = Trial(self.predictors.judge, loss, x, y, gates)
        return Drawn(scores, log_penalty.exp().view(problems * n_folds, b, 1), trial, features, k, held_out)

    def _asked_for(self, x: Tensor) -> tuple[int | Tensor | None, Tensor]:
        """How many features rows (P, F, b, D) are to get, where they are counted, and the log-penalty (P, F b, 1)."""
        problems, n_folds, b, _ = x.shape
        mix = self.share.rand((problems, n_folds, b, 1), 2, self.generator).flatten(1, 2)
        low, high = self.log_penalties
        log_penalty = torch.lerp(low[:, None, None], high[:, None, None], mix)
        if not self.every_k:
            return self.settings.k, log_penalty
        k, log_penalty = self.selector.counts(log_penalty)
        return k.view(problems * n_folds, b, 1), log_penalty

    def _gates(
        self, x: Tensor, log_penalty: Tensor, k: int | Tensor | None
    ) -> tuple[Tensor, draws.Draw, Tensor | None]:
        """Scores, the gates drawn from them and, but for swaps, the features to flip."""
        by_replica = (x.shape[0] * x.shape[1], x.shape[2], -1)
        noise = self.noise_side.start(self._noise, x)  # these need not wait for the scores
        if k is not None:
            scores = self.selector.scores(x.flatten(1, 2), log_penalty)
            with torch.no_grad():
                gates = swaps.draw(scores.detach().view(by_replica), k, noise.result(), self.share)
            return scores, gates, None
        features = self.features_side.start(self._features, x)
        scores = self.selector.scores(x.flatten(1, 2), log_penalty)
        with torch.no_grad():
            alpha = scores.detach().view(by_replica) * self.sharpness
            gates = draws.draw_gates(alpha, noise.result())
        return scores, gates, features.result()

    @torch.no_grad()
    def _held_out(self) -> Shown:
        """Held-out rows, shown by the average of the weights, which is what remains of the training."""
        x, y = self.folds.held_out_batch(self.predictors.batch_rows, self.generator, self.share)
        k, log_penalty = self._asked_for(x)
        average = replace(self.selector, network=self.learner.average)
        scores = average.scores(x.flatten(1, 2), log_penalty).view(x.shape[0] * x.shape[1], x.shape[2], -1)
        return Shown(x.flatten(0, 1), y.flatten(0, 1), decided(scores, k).to(x.dtype))

    def lesson(self, x: Tensor, y: Tensor, drawn: Drawn) -> Shown:
        """What the predictors learn from: rows (P, F, b, ...) with their draws, and a share of the held-out rows."""
        shown = Shown(x, y, drawn.trial.draw.mask.view(*x.shape[:3], -1))
        if drawn.held_out is None or not self.teaches_held_out:
            return shown
        share = 1 - self.folds.n_train / self.folds.x.shape[2]
        return shown.mixed_with(drawn.held_out, self.share.rand(y.shape, 2, self.generator) < share)

    def start_teaching(self, lesson: Shown) -> Handle[None]:
        """Let the predictors learn, while the step goes on, from masks made of those of rows (P, F, b, ...)."""
        (x, y, drawn), s, predictors = lesson, self.settings, self.predictors
        bit_flips = s.bit_flips * min(1.0, s.bit_flip_features / drawn.shape[-1])

        def masks(drawn: Tensor) -> Tensor:
            alive = predictors.alive[:, None, None]
            return teaching_masks(drawn, alive, bit_flips, self.generator, predictors.settings.k, self.share)

        if s.k is None:
            return predictors.beside.start(lambda x, y, drawn: predictors.learn(x, y, masks(drawn)), x, y, drawn)
        # swaps draw random numbers too: a thread must not draw beside them
        return predictors.beside.start(predictors.learn, x, y, masks(drawn))

    def start_pairs(self, index: Tensor, flips: CopulaFlips) -> Handle[None]:
        """Let the correlation learn, while the step goes on, from flips of the first two features of `index`."""
        correlation, optimiser = self.selector.correlation, self.of_correlation
        assert correlation is not None
        assert optimiser is not None

        def learn(index: Tensor, *flips: Tensor) -> None:
            correlation.learn(index[..., :2], CopulaFlips(*flips).mixed, self.share)
            step_and_clear(optimiser)

        return self.noise_side.start(learn, index, *flips)

    def start_correlation(self, change: Tensor, edge: Edge | None) -> Handle[None] | None:
        """Let the correlation learn, while the step goes on, from swaps; None where gates are independent."""
        correlation, optimiser = self.selector.correlation, self.of_correlation
        if correlation is None or optimiser is None or edge is None or edge.latent is None:
            return None

        def learn(change: Tensor, *edge: Tensor) -> None:
            correlation.learn_from_swaps(change, LatentEdge(*edge), self.share)
            step_and_clear(optimiser)

        return self.noise_side.start(learn, change, *edge.latent)

    def update_network(self) -> None:
        """Step by the gradients, shrink the inputs, and move the average."""
        self.learner.step()
        with torch.no_grad():
            weight = self.selector.network.first.weight[:, :-1]  # the last input is the penalty
            shrink_inputs(weight, self.learner.learning_rate * self.sparsity, self.folds.gates)
        self.learner.update_average()

    def flip_gradient(self, drawn: Drawn, index: Tensor, gain: Tensor) -> Tensor:
        """The natural gradient of the scores, price - gain, from K features a row, `index` (P F, b, K): (P F, b, d)."""
        alpha, price = drawn.alpha, drawn.penalty
        if self.folds.gates.cost is not None:  # every feature has its own
            price = price * self.folds.gates.cost[index]
        price = price.clamp_max(HIGHEST_PRICE)
        gradient = inward_only(price - gain, alpha.gather(-1, index), self.settings.score_bound)
        # every feature is flipped for a share K / d of the rows
        return torch.zeros_like(alpha).scatter(-1, index, gradient * (alpha.shape[-1] / index.shape[-1]))

    def swap_changes(self, drawn: Drawn) -> Tensor:
        """What showing each gate changes, in exchange for the one at the edge of its draw: (P F, b, d)."""
        edge, free = drawn.trial.draw.edge, self._free(drawn.alpha.shape[1])
        assert edge is not None
        return swaps.differences(drawn.trial, edge, free, self.settings.flips, self.generator, self.share)

    def swap_gradient(self, drawn: Drawn, change: Tensor) -> Tensor:
        """The natural gradient of the scores, over how often keys are at their thresholds: (P F, b, d)."""
        alpha, edge, k = drawn.alpha, drawn.trial.draw.edge, drawn.k
        assert edge is not None
        assert k is not None
        bound = swaps.bound_for(k, alpha.shape[-1], self.settings.score_bound)
        return inward_only(swaps.natural(change, edge, self._free(alpha.shape[1])), alpha, bound)

    @torch.no_grad()
    def _noise(self, x: Tensor) -> draws.Noise | Tensor:
        """Noise for the rows of every problem and fold, with the present correlation of the gates, or uniform."""
        problems, n_folds, b, _ = x.shape
        correlation, d = self.selector.correlation, self.folds.gates.n
        if correlation is None:
            return self.share.rand((problems * n_folds, b, d), 1, self.generator)
        return draws.correlated_noise(correlation.patterned(), b, self.generator, n_folds, self.share)

    def _features(self, x: Tensor) -> Tensor:
        """Different features for the rows of every problem and fold, in random order: (P F, b, K)."""
        return draws.random_features(self._free(x.shape[2]), self.settings.flips, self.generator, self.share)

    def _free(self, b: int) -> Tensor:
        """The gates that can be flipped: (P F, b, d)."""
        alive, forced = self.selector.alive, self.selector.forced
        free = alive if forced is None else alive & ~forced
        return free.repeat_interleave(self.folds.n_folds, 0).unsqueeze(1).expand(-1, b, -1)
