"""What any method's masks and predictions are worth, and what its choice says beyond the values, by EVAL-X."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sklar.control import odds_of_choice
from sklar.model.gates import Gates
from sklar.outcomes import Outcome
from sklar.training.honest.evalx import evalx_outputs

UNION_SHARE = 0.01  # a feature selected for a larger share of the rows is in the union
EVALX_STEPS = 3_000
COPIES = 4  # of each row in the control


def selection_scores(
    x: np.ndarray,
    outcome: Outcome,
    masks: np.ndarray,
    predictions: np.ndarray,
    random_state: int = 0,
    gate_of_input: Sequence[int] = (),
) -> dict[str, Any]:
    """The scores of an audit for any method: standardised rows (n, D), outcomes, its masks and its predictions.

    `gate_of_input` says which feature each column of x belongs to, where that is not one each. Every score is of rows
    that the predictor concerned did not learn from.
    """
    masks = np.asarray(masks, dtype=bool)
    rng = np.random.default_rng(random_state)
    dealt = [masks[rng.permutation(len(masks))] for _ in range(COPIES)]
    constant = np.broadcast_to(_most_selected(masks), masks.shape)
    union = np.broadcast_to(masks.mean(axis=0) > UNION_SHARE, masks.shape)
    shown = [masks, np.ones_like(masks), union, constant, *dealt]
    outputs = _evalx_outputs(x, outcome, shown, random_state, gate_of_input)
    selected, everything, of_union, of_constant, *of_dealt = outputs
    control = np.stack(of_dealt, axis=1).reshape(-1, selected.shape[1]), _weights(x, masks, dealt, gate_of_input)
    judgement = outcome.judge(selected, *control)
    return {
        "score_name": outcome.score_name,
        "own_score": outcome.score(predictions),
        "evalx_score": judgement.score,
        "expected_score": judgement.expected_score,
        "excess": judgement.excess,
        "excess_error": judgement.excess_error,
        "constant_excess": outcome.judge(of_constant, *control).excess,
        "everything_score": outcome.score(outcome.predictions(everything)),
        "union_score": outcome.score(outcome.predictions(of_union)),
        "mask_score": outcome.score(outcome.from_masks(masks)),
        "guess_score": outcome.score(outcome.guess()),
        "score_error": outcome.score_error(outcome.predictions(selected)),
    }


def _weights(x: np.ndarray, masks: np.ndarray, dealt: list[np.ndarray], gate_of_input: Sequence[int]) -> np.ndarray:
    """Of each row shown each of the dealt masks, (n * copies,)."""
    gate = np.asarray(gate_of_input or range(masks.shape[1]))
    rows = np.arange(len(x))
    chosen, *others = (np.where(mask[:, gate], x, np.nan) for mask in (masks, *dealt))
    return odds_of_choice(chosen, np.stack(others, axis=1).reshape(-1, x.shape[1]), rows, np.repeat(rows, len(dealt)))


def _most_selected(masks: np.ndarray) -> np.ndarray:
    """The features that are selected most often, as many as a row gets in the mean: bool (d,)."""
    size, often = round(float(masks.sum(axis=1).mean())), masks.mean(axis=0)
    chosen = np.zeros(len(often), dtype=bool)
    chosen[np.argsort(-often, kind="stable")[:size]] = True
    return chosen


def _evalx_outputs(
    x: np.ndarray, outcome: Outcome, masks: list[np.ndarray], seed: int, gate_of_input: Sequence[int]
) -> list[np.ndarray]:
    rows = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    shown = [torch.from_numpy(np.ascontiguousarray(mask))[None] for mask in masks]
    gates = Gates.of(masks[0].shape[1], gate_of_input or None)
    steps = max(100, round(EVALX_STEPS * min(1.0, (len(x) / 10_000) ** 0.5)))
    target = torch.from_numpy(outcome.numbers)
    outputs = evalx_outputs(rows[None], target[None], shown, outcome.task, steps, seed, gates=gates)
    return [output[0].double().numpy() for output in outputs]
