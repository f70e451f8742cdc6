"""The parameter `predictor`: which estimator predicts instead of the networks, and how it comes to a fitted model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sklar.fitted import FittedModel
from sklar.predictor.boosting import boosted_trees
from sklar.predictor.fit import require_usable, train_predictor
from sklar.table.sparse import dense
from sklar.target import EncodedTarget

MOST_MASKS = 20_000  # that are dealt to all rows


def chosen_predictor(given: Any, encoded: EncodedTarget) -> Any:
    """The estimator that a parameter names, checked before the work; None where the networks predict."""
    if given is None:
        return None
    kind = encoded.target.kind
    predictor = boosted_trees(kind, len(encoded.numbers)) if isinstance(given, str) else given
    require_usable(predictor, kind, encoded.weight is not None)
    return predictor


def with_predictor(fitted: FittedModel, predictor: Any, rows: Any, encoded: EncodedTarget, seed: int) -> FittedModel:
    """The model with a predictor that has learned from the training rows, by the masks of others."""
    schema = fitted.schema
    some = np.random.default_rng([seed, 0]).permutation(rows.shape[0])[:MOST_MASKS]
    masks = dense(fitted.masks(rows[np.sort(some)]), schema.first_columns)
    inputs = schema.training_inputs(rows)
    return replace(fitted, predictor=train_predictor(predictor, schema, inputs, masks, encoded, seed))
