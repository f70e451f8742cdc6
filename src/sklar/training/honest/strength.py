"""How strongly the selector is regularised, and whether anything can be shown: held-out rows say both.

A strength is a factor on the group lasso of the selector's inputs. Strong, the selector looks at few features, and rows
differ only where a few clear switches say so: right where one model holds for all rows but for a switch. Weak, it may
look at every feature: right where what decides a row varies smoothly with all of it, as in most real tables. Held-out
loss knows which of the two a table is. It also knows where there is nothing to find: masks that tell no more about rows
that nothing learned from than showing nothing does.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from scipy.stats import t as student
from torch import Tensor, nn

from sklar.training.engine.loop import Record
from sklar.training.engine.run import Run
from sklar.training.honest.decisions import HeldOut, choose_penalties, loss_of_nothing
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import PenaltyRange, Selector
from sklar.training.honest.selector import train_selector
from sklar.training.honest.settings import HonestSettings
from sklar.training.penalty_path import mean_and_paired_error

Stack = TypeVar("Stack", bound=nn.Module)


@dataclass(frozen=True)
class Candidate:
    """Selectors of P problems trained along the path with one strength, and what their held-out rows say of them."""

    strength: float
    selector: Selector
    predictors: FoldPredictors
    held_out: list[HeldOut]  # one a problem; none where nothing is held out

    def trained(self, grid: Tensor, n_steps: int, run: Run) -> Candidate:
        """The same after so many steps more along the path of log-penalties (P, G)."""
        folds = self.predictors.folds
        selector = train_selector(self.selector, self.predictors, PenaltyRange.along(grid), n_steps, folds.n_train, run)
        held_out = choose_penalties(selector, self.predictors, grid) if folds.has_held_out else []
        return replace(self, selector=selector, held_out=held_out)

    def record(self, problems: Sequence[int], chosen: bool) -> Record:
        """What was tried for these problems, for the history of a fit."""
        rows = [self.held_out[p] for p in problems]
        return {
            "part": "strength",
            "strength": self.strength,
            "loss": float(np.concatenate([one.losses for one in rows]).mean()),
            "mean_features": float(np.concatenate([one.sizes for one in rows]).mean()),
            "chosen": chosen,
        }

    def paid(self, problem: int, penalty: float) -> np.ndarray:
        """Loss of the held-out rows and price of their features, (n,)."""
        return self.held_out[problem].losses + penalty * self.held_out[problem].sizes


def pool(candidates: Sequence[Candidate]) -> Candidate:
    """Candidates of one strength, each for some problems, as one for all; it has the networks of the first."""
    return replace(candidates[0], held_out=[held_out for one in candidates for held_out in one.held_out])


def begin_strengths(
    selector: Selector, predictors: FoldPredictors, grid: Tensor, settings: HonestSettings, run: Run
) -> list[Candidate]:
    """Begin along the path of log-penalties (P, G) with each strength, all from the same start."""
    candidates = []
    for strength in settings.strengths:
        own = predictors.copied() if len(settings.strengths) > 1 else predictors
        start = replace(selector, strength=torch.full_like(selector.strength, strength))
        candidates.append(Candidate(strength, start, own, []).trained(grid, settings.schedule.trial_steps, run))
    return candidates


class Steps(NamedTuple):
    """After the trial of the strengths."""

    path: int  # along it
    final: int  # of what was chosen, with all rows
    rate: float = 1.0  # of learning, in the latter


def steps_on(settings: HonestSettings, n_strengths: int) -> Steps:
    """The steps after the trial of so many strengths."""
    schedule = settings.schedule
    if settings.selector.k is None or n_strengths == 1:
        return Steps(schedule.path_steps, schedule.final_steps)
    return Steps(schedule.rank_path_steps, schedule.rank_final_steps, 0.1)


def choose_strengths(
    selector: Selector, predictors: FoldPredictors, grid: Tensor, settings: HonestSettings, run: Run
) -> tuple[list[Candidate], list[int]]:
    """All that were tried along the path, and the number of the chosen one of each problem.

    A weaker strength is ahead early where it is right, and often where it is not: so where none is ahead half-way, or
    selects fewer features without being clearly worse, the strongest goes on alone, and a weaker one is chosen only at
    the end. Of rankers all go on, and longer: one that will show all rows the same is often ahead for as long.
    """
    begun = begin_strengths(selector, predictors, grid, settings, run)
    steps = steps_on(settings, len(begun)).path
    if settings.selector.k is not None:
        candidates = [one.trained(grid, steps, run) for one in begun]
        return candidates, [preferred(candidates, [p], settings) for p in range(len(grid))]
    strongest = max(range(len(begun)), key=lambda i: begun[i].strength)
    leads = [preferred(begun, [p], settings, settings.decisions.equal_half_way) for p in range(len(grid))]
    if all(lead == strongest for lead in leads):
        run.passed(steps * (len(begun) - 1))
        alone = begun[strongest].trained(grid, steps, run)
        return [alone if i == strongest else one for i, one in enumerate(begun)], leads
    candidates = [one.trained(grid, steps, run) for one in begun]
    return candidates, [
        lead if lead == strongest else preferred(candidates, [p], settings) for p, lead in enumerate(leads)
    ]


def preferred(
    candidates: list[Candidate], problems: Sequence[int], settings: HonestSettings, equal: float | None = None
) -> int:
    """The strongest of those that held-out rows lose least by, or one that loses as little and selects fewer features.

    The held-out rows of all `problems` decide together, by loss and price, at the price that the strongest chose; an
    error is that of a paired difference, and within `equal` of them (`DecisionSettings.equal_selectors`) two lose as
    little. Where one model holds for all rows but for a switch, a weak selector hardly
    ever selects fewer features; where it does, rows differ in what decides them, and a strong one shows them all of it.
    """
    if len(candidates) == 1 or not candidates[0].held_out:
        return 0
    strongest = max(candidates, key=lambda one: one.strength)
    prices = [one.choice.penalty for one in strongest.held_out]
    paid = np.stack([np.concatenate([one.paid(p, prices[p]) for p in problems]) for one in candidates])
    if settings.selector.max_excess is not None:
        held_out = [[one.held_out[p] for p in problems] for one in candidates]
        paid += _persuasion(held_out, settings.selector.max_excess)
    weight = candidates[0].predictors.folds.held_out_weight
    counted = weight is not None and len(weight) > max(problems)  # pooled splits count their rows alike
    rows = torch.cat([weight[p] for p in problems]).cpu().numpy() if weight is not None and counted else None
    decisions = settings.decisions
    means, error = mean_and_paired_error(paid, rows)
    margin = np.maximum(decisions.errors_of_strength(settings.selector.k) * error, _least_gain(candidates[0], settings))
    eligible = np.flatnonzero(means - means.min() <= margin)
    chosen = int(max(eligible, key=lambda i: candidates[i].strength))

    sizes = [np.concatenate([one.held_out[p].sizes for p in problems]).mean() for one in candidates]
    _, error = mean_and_paired_error(paid, rows, to=chosen)
    within = decisions.equal_selectors if equal is None else equal
    as_good = np.flatnonzero(means - means[chosen] <= within * error)
    sparser = [int(i) for i in as_good if sizes[i] <= decisions.fewer_features * sizes[chosen]]
    return min(sparser, key=lambda i: sizes[i], default=chosen)


def _persuasion(held_out: list[list[HeldOut]], most: float) -> np.ndarray:
    """What choices say beyond the values, above `most`, of candidates: (M, 1). They seem to gain it.

    Choices that agree with the answer are told by the least loss, so the loss alone would prefer them.
    """
    rows = [np.concatenate([np.zeros(1) if one.excess is None else one.excess for one in of]) for of in held_out]
    return np.array([[max(0.0, one.mean() - most)] for one in rows])


def _least_gain(candidate: Candidate, settings: HonestSettings) -> float:
    """What a weaker selector must gain at least: where labels have no noise, next to nothing is beyond chance."""
    if settings.selector.k is not None:
        return 0.0
    return settings.decisions.least_gain * float(loss_of_nothing(candidate.predictors).mean())


def shows_something(held_out: Sequence[HeldOut], false_alarms: float) -> bool:
    """Whether masks of held-out rows say anything about y beyond chance: a one-sided t-test of that level.

    It asks whether predictions and targets go together, not whether the loss falls: with few rows predictors are too
    sure of themselves, or not sure enough, long before they are useless.
    """
    if not held_out:
        return True
    return is_beyond_chance(np.concatenate([one.evidence for one in held_out]), false_alarms)


def is_beyond_chance(evidence: np.ndarray, false_alarms: float) -> bool:
    """Whether the mean of evidence (n,), one score a row, is above 0: a one-sided t-test of that level."""
    error = evidence.std(ddof=1) / len(evidence) ** 0.5 if len(evidence) > 1 else np.inf
    return bool(evidence.mean() > error * student.ppf(1 - false_alarms, max(1, len(evidence) - 1)))


def joined(candidates: list[Candidate], which: list[int]) -> tuple[Selector, FoldPredictors]:
    """Each problem's selector and predictors from its own candidate."""
    first = candidates[which[0]]
    if all(best == which[0] for best in which):
        return first.selector, first.predictors
    selectors = [candidate.selector for candidate in candidates]
    correlations = [one.correlation for one in selectors if one.correlation is not None]
    selector = replace(
        first.selector,
        network=_joined([one.network for one in selectors], which),
        correlation=_joined(correlations, which) if correlations else None,
        strength=torch.tensor([candidates[i].strength for i in which], device=first.selector.strength.device),
    )
    n_folds, learners = first.predictors.folds.n_folds, [candidate.predictors.learner for candidate in candidates]
    network = _joined([learner.network for learner in learners], which, n_folds)
    judge = _joined([learner.average for learner in learners], which, n_folds)
    return selector, first.predictors.with_weights(network, judge)


def _joined(stacks: list[Stack], which: list[int], each: int = 1) -> Stack:
    """A stack whose problem p is that of stacks[which[p]]; a problem has `each` replicas."""
    states, result = [stack.state_dict() for stack in stacks], copy.deepcopy(stacks[0])
    rows = [(best, slice(problem * each, (problem + 1) * each)) for problem, best in enumerate(which)]
    result.load_state_dict({key: torch.cat([states[best][key][part] for best, part in rows]) for key in states[0]})
    return result
