"""The selector's training: flip or swap features of masks drawn, see what that gains, and move the scores by it.

The selector learns through predictors that it does not move; they learn on beside it. For the axes see `stage`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from sklar.training.engine.steps import adamw, averaging, cosine, follow, move, repeat, set_learning_rate
from sklar.training.honest import draws, flips, swaps
from sklar.training.honest.copula_flips import CopulaFlips, copula_flips
from sklar.training.honest.group_lasso import shrink_inputs
from sklar.training.honest.predictors import teaching_masks
from sklar.training.honest.stage import Stage
from sklar.training.honest.trial import Trial

Report = Callable[[], object]  # told of every step that was done


def train_selector(
    stage: Stage,
    n_steps: int,
    low: Tensor,
    high: Tensor,
    among: int,
    report: Report = lambda: None,
    sharpest: float = 1.0,
) -> None:
    """Train the selector, and go on training the predictors, with log-penalties uniform in [low, high] (P,).

    Over the first half of the steps gates become less random: they are drawn with scores that many times as far from 0.
    """
    s = stage.settings
    _renew_task(stage)
    optimiser = adamw(stage.selector, s.learning_rate, s.weight_decay, spare="first.weight", memory=s.memory)
    of_correlation = adamw(stage.correlation, s.correlation_rate, 0.0, memory=s.memory) if stage.correlation else None
    weights: list[Tensor] = list(stage.selector.parameters())
    averaged = [weight.detach().clone() for weight in weights]
    stage.predictors.average = averaging(s.predictor.average, n_steps)
    memory = averaging(s.average, n_steps)
    # an input's weights are the longer, the more there are
    sparsity = s.sparsity * (s.hidden / 100) ** 0.5 * stage.folds.noise
    rise = min(50, 1 + n_steps // 5)

    def step() -> None:
        x, y = stage.folds.batch(stage.predictors.rows, among, stage.generator)
        drawn = draw(stage, x, y, low, high)
        _start_teaching(stage, x, y, drawn.mask.view(*x.shape[:3], -1))
        learn(stage, drawn)
        if of_correlation is not None:
            stage.beside.start(lambda: move(of_correlation))
        move(optimiser)
        with torch.no_grad():
            shrink_inputs(
                stage.selector.first.weight[:, :-1], optimiser.param_groups[0]["lr"] * sparsity, stage.folds.gates
            )
        follow(averaged, weights, 1 - memory)
        stage.beside.join()
        stage.meanwhile.join()
        stage.predictors.remember()  # those that judged this step's flips

    def before(k: int) -> None:
        fade = cosine(k, n_steps)
        set_learning_rate(optimiser, s.learning_rate * fade * min(1.0, (k + 1) / rise))
        set_learning_rate(stage.predictors.optimiser, s.predictor.learning_rate * (0.2 + 0.8 * fade))
        if of_correlation is not None:
            set_learning_rate(of_correlation, s.correlation_rate * fade)
        stage.sharpness.fill_(1 + (sharpest - 1) * min(1.0, 2 * k / n_steps))
        report()

    repeat(step, n_steps, before, stage.folds.x.device, stage.generator)
    with torch.no_grad():
        torch._foreach_copy_(weights, averaged)


def _start_teaching(stage: Stage, x: Tensor, y: Tensor, drawn: Tensor) -> None:
    """Let the predictors learn, while the step goes on, from masks made of those `drawn` (P, F, b, d)."""
    s = stage.settings
    bit_flips = s.bit_flips * min(1.0, 11 / stage.alive.shape[1])

    def masks(drawn: Tensor) -> Tensor:
        return teaching_masks(drawn, stage.alive[:, None, None], bit_flips, stage.generator, s.predictor.k)

    if s.k is None:
        stage.meanwhile.start(lambda x, y, drawn: stage.predictors.learn(x, y, masks(drawn)), x, y, drawn)
    else:  # swaps draw numbers too: a thread must not draw beside them
        stage.meanwhile.start(stage.predictors.learn, x, y, masks(drawn))


@torch.no_grad()
def _renew_task(stage: Stage) -> None:
    """Tell the task what training rows get, shown everything, out of fold."""
    x, y = (t.flatten(0, 1) for t in stage.folds.training)
    shown = stage.alive.to(x.dtype).repeat_interleave(stage.folds.x.shape[1], 0).unsqueeze(1)
    output = stage.predictors.judge(x, shown.expand(*x.shape[:2], -1))
    stage.task.renew(output.flatten(0, 1), y.flatten())


class Drawn(NamedTuple):
    """Rows of all problems and folds, one replica each, and the gates drawn for them."""

    scores: Tensor  # (P, F b, d), with their graph
    penalty: Tensor  # (P F, b, 1)
    trial: Trial
    features: Tensor | None  # to flip, (P F, b, K); None where features are swapped

    @property
    def mask(self) -> Tensor:
        """(P F, b, d)."""
        return self.trial.draw.mask


def draw(stage: Stage, x: Tensor, y: Tensor, low: Tensor, high: Tensor) -> Drawn:
    """Score rows (P, F, b, D) at random penalties, and draw their gates."""
    problems, n_folds, b, _ = x.shape
    mix = torch.rand(problems, n_folds * b, 1, generator=stage.generator, device=x.device)
    log_penalty = torch.lerp(low[:, None, None], high[:, None, None], mix)
    noise = features = None
    if stage.settings.k is None:  # these need not wait for the scores
        noise = stage.beside.start(partial(_noise, stage, b))
        features = stage.aside.start(partial(_features_to_flip, stage, b))
    scores = stage.scores(x.flatten(1, 2), log_penalty)
    alpha = scores.detach().view(problems * n_folds, b, -1)
    stage.beside.join()
    with torch.no_grad():
        if stage.settings.k is not None:
            gates = swaps.draw(alpha, stage.settings.k, stage.generator)
        else:
            assert noise is not None
            gates = draws.draw_gates(alpha * stage.sharpness, noise)
    stage.aside.join()
    # Rows of fold f meet the predictor that never saw them.
    trial = Trial(stage.predictors.judge, stage.task.row_loss, x.flatten(0, 1), y.flatten(0, 1), gates)
    return Drawn(scores, log_penalty.exp().view(problems * n_folds, b, 1), trial, features)


def learn(stage: Stage, drawn: Drawn) -> None:
    """Put one step's gradients on selector and correlation."""
    scores, penalty, trial, features = drawn
    alpha = scores.detach().view_as(trial.draw.mask)
    with torch.no_grad():
        if features is not None:
            push = _flip_push(stage, exact_gains(stage, trial, features), alpha, features, penalty)
        else:
            push = _swap_push(stage, trial, alpha)
    scores.backward(push.view_as(scores) / scores.shape[1])


def _eligible(stage: Stage, n_folds: int, b: int) -> Tensor:
    """The gates that can be flipped: (P F, b, d)."""
    forced = stage.folds.gates.forced
    free = stage.alive if forced is None else stage.alive & ~forced
    return free.repeat_interleave(n_folds, 0).unsqueeze(1).expand(-1, b, -1)


def exact_gains(stage: Stage, trial: Trial, index: Tensor) -> Tensor:
    """What K features a row gain (P F, b, K); pair flips put a step's gradient on the correlation besides."""
    if stage.correlation is None or trial.draw.latents is None:
        return flips.gains(trial, index)
    found = copula_flips(trial, trial.draw.latents, index)  # the first two are a random pair
    stage.beside.start(partial(_learn_pairs, stage), index, *found)
    return found.gain


def _learn_pairs(stage: Stage, index: Tensor, *found: Tensor) -> None:
    """Put a step's gradient on the correlation; `found` are the parts of a `CopulaFlips`."""
    assert stage.correlation is not None
    stage.correlation.learn(index[..., :2], CopulaFlips(*found).mixed)


@torch.no_grad()
def _noise(stage: Stage, b: int) -> draws.Noise | Tensor:
    """Noise for b rows of every problem and fold, with the present correlation of the gates, or uniform."""
    (problems, d), n_folds = stage.alive.shape, stage.folds.x.shape[1]
    if stage.correlation is None:
        return torch.rand(problems * n_folds, b, d, generator=stage.generator, device=stage.alive.device)
    return draws.correlated_noise(stage.correlation.patterned(), b, stage.generator, n_folds)


def _features_to_flip(stage: Stage, b: int) -> Tensor:
    """Different features for b rows of every problem and fold, in random order: (P F, b, K)."""
    return draws.random_features(_eligible(stage, stage.folds.x.shape[1], b), stage.settings.flips, stage.generator)


def _flip_push(stage: Stage, gain: Tensor, alpha: Tensor, index: Tensor, price: Tensor) -> Tensor:
    """The natural gradient of the scores, penalty - gain, for K features a row: (P F, b, d)."""
    if stage.folds.gates.cost is not None:  # every feature has its own
        price = price * stage.folds.gates.cost[index]
    push = inward_only(price - gain, alpha.gather(-1, index), stage.settings.bound)
    # every feature is flipped for a share K / d of the rows
    return torch.zeros_like(alpha).scatter(-1, index, push * (alpha.shape[-1] / index.shape[-1]))


def _swap_push(stage: Stage, trial: Trial, alpha: Tensor) -> Tensor:
    """What swaps gain, taken from features that leave and given to those that come: (P F, b, d)."""
    k, d = stage.settings.k or 0, alpha.shape[-1]
    count = min(stage.settings.flips, k, d - k)
    if count < 1:
        return torch.zeros_like(alpha)
    push = swaps.push(trial, _eligible(stage, stage.folds.x.shape[1], alpha.shape[1]), count, stage.generator)
    return inward_only(push, alpha, swaps.bound_for(k, d, stage.settings.bound))


def inward_only(gradient: Tensor, scores: Tensor, bound: float) -> Tensor:
    """Let pushes outward fade over the last unit before `bound`, to none beyond it; keep those that bring a score back.

    Nothing saturates: a strong feature is not locked open for all rows before rows are told apart. They fade because a
    strong feature comes to rest where the bound holds it: pushes in full there would be noise in which the penalty,
    which pulls at the rows that do not need the feature, could not be heard.
    """
    room = (bound - scores.abs()).clamp(0, 1)
    return torch.where(scores * gradient < 0, gradient * room, gradient)
