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
from typing import TypeVar

import numpy as np
import torch
from scipy.stats import t as student
from torch import Tensor, nn

from sklar.training.engine.loop import Record
from sklar.training.engine.run import Run
from sklar.training.honest.decisions import HeldOut, choose_penalties
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Selector
from sklar.training.honest.selector import PenaltyRange, train_selector
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


def try_strengths(
    selector: Selector,
    predictors: FoldPredictors,
    grid: Tensor,
    settings: HonestSettings,
    run: Run,
) -> list[Candidate]:
    """Train along the path of log-penalties (P, G) with each strength, all from the same start."""
    folds = predictors.folds
    path = PenaltyRange(grid[:, 0], grid[:, -1])
    candidates = []
    for strength in settings.strengths:
        own = predictors.copied() if len(settings.strengths) > 1 else predictors
        start = replace(selector, strength=torch.full_like(selector.strength, strength))
        trained = train_selector(start, own, path, settings.schedule.path_steps, folds.n_train, run)
        held_out = choose_penalties(trained, own, grid) if folds.has_held_out else []
        candidates.append(Candidate(strength, trained, own, held_out))
    return candidates


def preferred(candidates: list[Candidate], problems: Sequence[int], errors: float) -> int:
    """The strongest of those whose loss and price are within so many standard `errors` of the least.

    The held-out rows of all `problems` decide together, at the price that the strongest chose; an error is that of the
    paired difference to the best.
    """
    if len(candidates) == 1 or not candidates[0].held_out:
        return 0
    strongest = max(candidates, key=lambda one: one.strength)
    prices = [one.choice.penalty for one in strongest.held_out]
    paid = np.stack([np.concatenate([one.paid(p, prices[p]) for p in problems]) for one in candidates])
    weight = candidates[0].predictors.folds.held_out_weight
    counted = weight is not None and len(weight) > max(problems)  # pooled splits count their rows alike
    rows = torch.cat([weight[p] for p in problems]).cpu().numpy() if weight is not None and counted else None
    means, error = mean_and_paired_error(paid, rows)
    eligible = np.flatnonzero(means - means.min() <= errors * error)
    return int(max(eligible, key=lambda i: candidates[i].strength))


def shows_something(candidate: Candidate, problems: Sequence[int], false_alarms: float) -> bool:
    """Whether masks of held-out rows say anything about y beyond chance: a one-sided t-test of that level.

    It asks whether predictions and targets go together, not whether the loss falls: with few rows predictors are too
    sure of themselves, or not sure enough, long before they are useless.
    """
    if not candidate.held_out:
        return True
    evidence = np.concatenate([candidate.held_out[p].evidence for p in problems])
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
