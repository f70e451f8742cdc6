"""The parameter `predictor`: what predicts instead of the networks, or beside them, and how a fitted model gets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.fitted import FittedModel
from sklar.model.honest_model import mean_output
from sklar.model.row_blocks import RowAnswers, row_blocks
from sklar.predictor.boosting import CrossFitted, Judged, cross_fitted_trees, tried_trees
from sklar.predictor.choice import ERRORS, MEAN, NETWORKS, TREES, PredictorChoice, choose_predictor
from sklar.predictor.fit import require_usable, train_predictor
from sklar.predictor.lesson import Lesson
from sklar.predictor.masks import dealt_to_others
from sklar.report.explorer import to_stderr
from sklar.table.sparse import dense
from sklar.target import EncodedTarget

MOST_MASKS = 20_000  # that are dealt to all rows
N_FOLDS = 4  # where the networks have none
LEAST_ROWS = 500  # from which on "auto" tries trees


def require_predictor(given: Any, encoded: EncodedTarget) -> None:
    """Raise, before the work, where a predictor cannot predict such a target."""
    kind, targets = encoded.target.kind, getattr(encoded.task, "targets", None)
    if given in ("networks", "auto"):
        return
    if kind == "risk":
        raise ValueError("predictor cannot be combined with loss='cox'; leave it out")
    if kind == "labels" and targets is not None and bool((targets == targets[0]).all(0).any()):
        raise ValueError(
            "predictor must have both values of every label to learn from; one label is the same in all rows"
        )
    if not isinstance(given, str):
        require_usable(given, kind, encoded.weight is not None)


def with_predictor(
    fitted: FittedModel,
    given: Any,
    rows: Any,
    encoded: EncodedTarget,
    folds: Sequence[np.ndarray],
    seed: int,
    verbose: bool | int = False,
) -> FittedModel:
    """The model with what the parameter asks for, having learned from the training rows by the masks of others.

    `folds` say which rows the predictors of each network did not learn from. With `verbose` a line says what begins:
    the bar of the training has ended.
    """
    if given == "networks" or (given == "auto" and not _comparable(encoded, folds)):
        return fitted
    tell = to_stderr if verbose else lambda text: None
    tell(f"training: {_what_learns(given)}")
    schema = fitted.schema
    some = np.sort(np.random.default_rng([seed, 0]).permutation(rows.shape[0])[:MOST_MASKS])
    masks = dense(fitted.masks(rows[some]), schema.first_columns)
    x = schema.training_inputs(rows)
    if not isinstance(given, str):
        return replace(fitted, predictor=train_predictor(given, schema, x, masks, encoded, seed))
    rng = np.random.default_rng([seed, 1])
    of_trees = folds[0] if folds else rng.permutation(len(x)) % min(N_FOLDS, len(x))
    lesson, judged = Lesson.of(schema, x, encoded), Judged(some, dealt_to_others(masks, rng))
    if given == "trees":
        return replace(fitted, predictor=cross_fitted_trees(lesson, masks, judged, of_trees, rng).predictor)
    networks = _out_of_fold(fitted, x[some], judged.masks, np.stack(folds)[:, some])
    mine, tried = tried_trees(lesson, masks, judged, of_trees, rng)
    choice = _choice(fitted, networks[mine], tried, encoded, some[mine], errors=0.0)
    if choice.name == NETWORKS:
        return replace(fitted, history=[*fitted.history, choice.record()])
    tell("training: boosted trees of all folds")
    trees = cross_fitted_trees(lesson, masks, judged, of_trees, rng)
    return _chosen(fitted, trees, _choice(fitted, networks, trees.outputs, encoded, some))


def _what_learns(given: Any) -> str:
    """In words, for those who wait."""
    if not isinstance(given, str):
        return f"the predictor ({type(given).__name__})"
    return "boosted trees" if given == "trees" else "boosted trees of one fold, to see whether they predict better"


def _comparable(encoded: EncodedTarget, folds: Sequence[np.ndarray]) -> bool:
    """Whether rows can say which of networks and trees predicts them better.

    They must be many, and judged by networks that never saw them; trees must find something to learn in all folds.
    """
    kind, targets = encoded.target.kind, getattr(encoded.task, "targets", None)
    if not folds or len(folds[0]) < LEAST_ROWS or kind == "risk":
        return False
    if kind == "labels" and targets is not None:  # both values of every label
        return bool((targets != targets[0]).any(0).all())
    if kind == "counts" and targets is not None:  # a count above 0 outside of every fold
        return all(bool((targets[torch.from_numpy(folds[0] != f)].sum(0) > 0).all()) for f in np.unique(folds[0]))
    return True


def _choice(
    fitted: FittedModel,
    networks: Tensor,
    by_trees: np.ndarray,
    encoded: EncodedTarget,
    rows: np.ndarray,
    errors: float = ERRORS,
) -> PredictorChoice:
    """What predicts some rows best that it did not learn from, from outputs of networks and of trees (m, out)."""
    trees = torch.from_numpy(by_trees).to(networks.dtype)
    mean = mean_output(torch.stack([networks, trees]), fitted.network.architecture)[0]
    y, weight = torch.from_numpy(encoded.numbers[rows]), None if encoded.weight is None else encoded.weight[rows]
    return choose_predictor({NETWORKS: networks, MEAN: mean, TREES: trees}, encoded.task, y, weight, errors)


def _chosen(fitted: FittedModel, trees: CrossFitted, choice: PredictorChoice) -> FittedModel:
    """The networks alone, the trees alone, or both."""
    predictor = None if choice.name == NETWORKS else replace(trees.predictor, with_networks=choice.name == MEAN)
    return replace(fitted, predictor=predictor, history=[*fitted.history, choice.record()])


def _out_of_fold(fitted: FittedModel, x: np.ndarray, masks: np.ndarray, folds: np.ndarray) -> Tensor:
    """What networks say of rows (n, D) shown by masks (n, d) that they did not learn from: (n, out)."""
    answers, device = RowAnswers(len(x)), torch.device("cpu")
    widest = 4 * fitted.network.architecture.predict_hidden
    model: Any = fitted.network  # one with folds
    for part, network, inputs in row_blocks(model, len(x), lambda rows: x[rows].astype(float), device, widest):
        shown, fold = torch.from_numpy(masks[part]).to(inputs.dtype)[None], torch.from_numpy(folds[:, part])
        answers.put(part, network.out_of_fold(inputs, shown, fold))
    return torch.from_numpy(answers.values)
