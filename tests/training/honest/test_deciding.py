"""All decisions together: with k, with few rows, and where nothing is shown."""

from dataclasses import replace

import torch

from sklar.training.honest.deciding import decide
from sklar.training.honest.settings import DecisionSettings
from tests.training.small import SETTINGS, small_parts, with_scores

DECISIONS = DecisionSettings()


def test_with_k_and_independent_gates_nothing_is_decided_and_with_few_rows_nothing_is_shut():
    selector, predictors = small_parts(replace(SETTINGS, k=2))
    decisions = decide(selector, predictors, torch.zeros(2), DECISIONS, 1.0, [False, False])
    assert not any(part.any() for part in decisions)
    selector, predictors = small_parts()
    predictors.out_of_fold_losses = lambda mask, rows=None: mask.sum(-1).flatten(1)  # every feature does harm
    with_scores(selector, 1.1, 1.1, 1.1, 1.1)
    few, many = (decide(selector, predictors, torch.zeros(2), DECISIONS, rows, [True] * 2) for rows in (0.0, 1e-3))
    assert float(few.score_threshold[0]) == float(many.score_threshold[0]) == 1.25
    assert not few.shut.any()
    assert decide(selector, predictors, torch.zeros(2), DECISIONS, 0.0, [True, False]).shut.all(1).tolist() == [
        False,
        True,
    ]
