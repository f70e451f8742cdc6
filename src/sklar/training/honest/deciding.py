"""All decisions about the scores of a trained selector, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sklar.training.honest.decisions import choose_threshold, find_useless
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.scoring import Decisions, Selector
from sklar.training.honest.settings import DecisionSettings
from sklar.training.honest.substitutes import find_substitutes


def decide(
    selector: Selector,
    predictors: FoldPredictors,
    log_penalty: Tensor,
    settings: DecisionSettings,
    row_sufficiency: float,
    shows: Sequence[bool],
) -> Decisions:
    """All decisions, one after the other; with k only which features are substitutes.

    Where a problem `shows` nothing, all is shut.
    """
    decisions = Decisions.none(selector.alive)
    if selector.settings.k is not None:
        return decisions._replace(substitutes=find_substitutes(selector, predictors, log_penalty, decisions, settings))
    idle = ~torch.tensor(list(shows), device=selector.alive.device).unsqueeze(1).expand_as(selector.alive)
    threshold = choose_threshold(selector, predictors, log_penalty, settings, row_sufficiency)
    decisions = decisions._replace(score_threshold=threshold)
    if row_sufficiency > 0:
        errors = settings.score_errors * row_sufficiency
        useless = find_useless(selector, predictors, log_penalty, decisions, errors, settings.stand_in)
        decisions = decisions._replace(shut=useless)
    if selector.settings.min_features == 0:
        decisions = decisions._replace(shut=decisions.shut | idle)
    substitutes = find_substitutes(selector, predictors, log_penalty, decisions, settings)
    return decisions._replace(substitutes=substitutes)
