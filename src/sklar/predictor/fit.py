"""How a predictor of the user's learns: from rows with features hidden, by masks that say nothing about the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter

from sklar.predictor.answers import UserPredictor
from sklar.predictor.conversion import as_trees
from sklar.predictor.inputs import ShownInputs
from sklar.predictor.masks import teaching_masks
from sklar.predictor.saved import SavedPredictor
from sklar.table.schema import Schema
from sklar.target import EncodedTarget

WANTED_ROWS = 60_000  # copies and all
MOST_COPIES = 16
MOST_ENTRIES = 2**26  # of the copied rows
TRIED_ROWS = 40


@dataclass(frozen=True)
class Lesson:
    """Columns of rows that nothing hides yet, and what is to be learned from them."""

    inputs: ShownInputs
    values: np.ndarray  # (n, C)
    targets: np.ndarray  # codes of classes (n, 1), or numbers (n, T)
    weight: np.ndarray | None
    kind: str


def train_predictor(
    predictor: Any, schema: Schema, x: np.ndarray, masks: np.ndarray, encoded: EncodedTarget, seed: int
) -> UserPredictor:
    """Clones of `predictor` that learned from inputs x (n, D), shown by the masks (n, d) selected for *other* rows."""
    rng = np.random.default_rng([seed, 1])
    inputs = ShownInputs.of(schema, x, _numbers(encoded))
    weight = None if encoded.weight is None else np.asarray(encoded.weight, dtype=np.float64)
    targets = encoded.numbers[:, np.newaxis] if encoded.target.kind == "classes" else _numbers(encoded)
    lesson = Lesson(inputs, inputs.values(x), targets, weight, encoded.target.kind)
    models = [_fitted(predictor, lesson, masks, output, rng) for output in range(lesson.targets.shape[1])]
    return UserPredictor(inputs, lesson.kind, tuple(models), type(predictor).__name__)


def _fitted(predictor: Any, lesson: Lesson, masks: np.ndarray, output: int, rng: np.random.Generator) -> Any:
    """One estimator, of one output; as plain trees where it is boosted trees."""
    n_rows, n_columns = lesson.values.shape
    rows = taught_rows(n_rows, n_columns, rng)
    shown = lesson.inputs.hidden(lesson.values[rows], teaching_masks(masks, len(rows), rng))
    y = lesson.targets[rows, output]
    model = seeded(clone(predictor), int(rng.integers(2**31)))
    weight = {} if lesson.weight is None else {"sample_weight": lesson.weight[rows]}
    model.fit(shown, y.astype(np.int64) if lesson.kind in ("classes", "labels") else y, **weight)
    return as_trees(model, shown) or model


def taught_rows(n_rows: int, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Row numbers, each some times, each time to be shown other features; of a very large table some rows once.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [len(taught_rows(n, 10, rng)) for n in (500, 10_000, 100_000, 10_000_000)]
    [8000, 60000, 200000, 6710886]
    """
    copies = min(MOST_COPIES, max(2, WANTED_ROWS // n_rows))
    room = MOST_ENTRIES // n_columns
    return np.tile(rng.permutation(n_rows)[:room], max(1, min(copies, room // n_rows)))


def seeded(model: Any, seed: int) -> Any:
    """The estimator with a number wherever its random state, or that of a part of it, is open."""
    open_states = [key for key, value in model.get_params().items() if key.endswith("random_state") and value is None]
    return model.set_params(**dict.fromkeys(sorted(open_states), seed))


def require_usable(predictor: Any, kind: str, weighted: bool) -> None:
    """Raise, before the work, where an estimator cannot be the predictor of such a target."""
    if isinstance(predictor, SavedPredictor):
        predictor.fit(None, None)  # raises
    name, classifies = type(predictor).__name__, kind in ("classes", "labels")
    if kind == "risk":
        raise ValueError("predictor= knows no loss='cox': leave predictor out, or fit another loss")
    if not (is_classifier if classifies else is_regressor)(predictor):
        needed = "classifier" if classifies else "regressor"
        raise ValueError(f"predictor must be a {needed} here; got {name}")
    if classifies and not hasattr(predictor, "predict_proba"):
        raise ValueError(f"predictor must have predict_proba; {name} has not")
    if weighted and not has_fit_parameter(predictor, "sample_weight"):
        raise ValueError(f"predictor must take sample_weight, as these rows have weights; {name} does not")
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


def _numbers(encoded: EncodedTarget) -> np.ndarray:
    """The target as numbers (n, T), of classes one column each."""
    if encoded.target.kind == "classes":
        return np.eye(len(encoded.target.classes))[encoded.numbers]  # type: ignore[arg-type]
    table = getattr(encoded.task, "targets", None)
    return encoded.numbers[:, np.newaxis].astype(np.float64) if table is None else table.numpy().astype(np.float64)
