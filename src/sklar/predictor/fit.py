"""How a predictor of the user's learns: from rows with features hidden, by masks that say nothing about the row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from sklar.predictor.answers import UserPredictor
from sklar.predictor.conversion import as_trees
from sklar.predictor.lesson import Lesson, taught_rows
from sklar.predictor.masks import teaching_masks
from sklar.predictor.saved import SavedPredictor
from sklar.table.schema import Schema
from sklar.target import EncodedTarget

WANTED_ROWS = 60_000  # copies and all
TRIED_ROWS = 40


def train_predictor(
    predictor: Any, schema: Schema, x: np.ndarray, masks: np.ndarray, encoded: EncodedTarget, seed: int
) -> UserPredictor:
    """Clones of `predictor` that learned from inputs x (n, D), shown by the masks (m, d) selected for *other* rows."""
    rng, lesson = np.random.default_rng([seed, 1]), Lesson.of(schema, x, encoded)
    models = tuple(_fitted(predictor, lesson, masks, output, rng) for output in range(lesson.n_models))
    return UserPredictor(lesson.inputs, lesson.kind, models, type(predictor).__name__)


def _fitted(predictor: Any, lesson: Lesson, masks: np.ndarray, output: int, rng: np.random.Generator) -> Any:
    """One estimator, of one output; as plain trees where it is boosted trees."""
    rows = taught_rows(np.arange(len(lesson.values)), lesson, WANTED_ROWS, rng)
    shown = lesson.inputs.hidden(lesson.values[rows], teaching_masks(masks, len(rows), rng))
    model = seeded(clone(predictor), int(rng.integers(2**31)))
    model.fit(shown, lesson.target(rows, output), **lesson.weights(rows))
    return as_trees(model, shown) or model


def seeded(model: Any, seed: int) -> Any:
    """The estimator with a number wherever its random state, or that of a part of it, is open."""
    open_states = [key for key, value in model.get_params().items() if key.endswith("random_state") and value is None]
    return model.set_params(**dict.fromkeys(sorted(open_states), seed))


def require_usable(predictor: Any, kind: str, weighted: bool) -> None:
    """Raise, before the work, where an estimator cannot be the predictor of such a target."""
    if isinstance(predictor, SavedPredictor):
        predictor.fit(None, None)  # raises
    name, classifies = type(predictor).__name__, kind in ("classes", "labels")
    if not (is_classifier if classifies else is_regressor)(predictor):
        needed = "classifier" if classifies else "regressor"
        raise ValueError(f"predictor must be a {needed} here; got {name}")
    if classifies and not hasattr(predictor, "predict_proba"):
        raise ValueError(f"predictor must have predict_proba; {name} has not")
    if weighted and not has_fit_parameter(predictor, "sample_weight"):
        why = "as these rows have weights, or many are copies"
        raise ValueError(f"predictor must take sample_weight, {why}; {name} does not")
    try:
        _try(predictor, classifies)
    except Exception as error:
        raise ValueError(
            f"predictor must take missing values, since a hidden feature is one (NaN); {name} failed on a small table "
            f"with some ({error}). HistGradientBoosting, LightGBM and XGBoost take them; others after a SimpleImputer"
        ) from error


def _try(predictor: Any, classifies: bool) -> None:
    """Fit a clone to a few rows, of which some values are hidden."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((TRIED_ROWS, 2)).astype(np.float32)
    y = np.arange(TRIED_ROWS) % 2 if classifies else rng.random(TRIED_ROWS) + 0.5
    x[rng.random(x.shape) < 0.3] = np.nan
    model = seeded(clone(predictor), 0).fit(x, y)
    model.predict_proba(x) if classifies else model.predict(x)
