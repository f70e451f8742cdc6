"""Does a selection leak the label, and is it stable?

A selector that is trained together with its predictor can tell it the answer through the choice of features. The
audit asks predictors that cannot have agreed on anything with it: cross-fitted networks that learn from random masks
alone (EVAL-X; Jethani et al., 2021), and a classifier that sees the mask without a single value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklar.fitted import FittedModel
from sklar.table.adapter import SparseTable, adapt

# The own predictor may be ahead of EVAL-X by this much (points) before it counts: it saw the masks it is asked about.
# With fewer rows than 10,000 EVAL-X, which learns from the audited rows, falls behind: measured on a model without a
# leak, by 0.7 points with 6,000 rows, 1.5 with 3,000 and 5.2 with 1,000.
TOLERATED_GAP = 3.0
ROWS_OF_TOLERANCE = 10_000
# A difference counts if it is also this many standard errors.
SIGNIFICANT = 2.0
NOISE = 0.05  # of the input, in standard deviations
UNION_SHARE = 0.01  # a feature selected for a larger share of the rows is in the union
MOST_REFIT_ROWS = 5_000  # and fewer rows take fewer steps
EVALX_STEPS = 3_000


@dataclass(frozen=True)
class AuditReport:
    """What an audit found. Scores are accuracy for classes, R^2 for values, in percent; agreement is in percent."""

    score_name: str
    own_score: float  # the model's own predictor, on its masks
    evalx_score: float  # predictors trained on random masks only, on the same masks
    everything_score: float  # the same, shown all features
    union_score: float  # the same, shown the union of the selected features, for every row alike
    mask_score: float  # a predictor that sees which features were selected, and no value
    guess_score: float  # the best constant guess
    score_error: float  # standard error of a score, points
    mean_features: float
    union_features: int
    noise_agreement: float  # of the masks, under small noise on the input (Jaccard)
    refit_agreement: float | None  # of the masks, between this model and refits (Jaccard)
    n_rows: int

    @property
    def gap(self) -> float:
        """How far the own predictor is ahead of EVAL-X, in points."""
        return self.own_score - self.evalx_score

    @property
    def leaks(self) -> bool:
        """Whether the choice of features says more about y than the features chosen.

        Either the own predictor reads something in the masks that EVAL-X cannot, or the mask alone predicts better than
        EVAL-X does from the values shown.
        """
        sure = SIGNIFICANT * 2**0.5 * self.score_error
        tolerated = TOLERATED_GAP * max(1.0, ROWS_OF_TOLERANCE / self.n_rows) ** 0.5
        return self.gap > max(tolerated, sure) or self.mask_score - self.evalx_score > max(tolerated / 2, sure)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, and the verdict."""
        return {**asdict(self), "gap": self.gap, "leaks": self.leaks}

    def __str__(self) -> str:
        """A page a person can read."""
        verdict = "LEAKS: the choice of features tells the label" if self.leaks else "passes: no sign of a leak"
        refit = "not measured" if self.refit_agreement is None else f"{self.refit_agreement:5.1f} %"
        return "\n".join(
            (
                f"Audit on {self.n_rows} rows: {verdict}",
                f"  {self.score_name}, %",
                f"    own predictor, selected features   {self.own_score:6.1f}",
                f"    EVAL-X, selected features          {self.evalx_score:6.1f}   (gap {self.gap:+.1f} points)",
                f"    EVAL-X, all features               {self.everything_score:6.1f}",
                f"    EVAL-X, the constant union         {self.union_score:6.1f}   ({self.union_features} features)",
                f"    the mask alone                     {self.mask_score:6.1f}",
                f"    best constant guess                {self.guess_score:6.1f}",
                f"  features per row                       {self.mean_features:6.1f}",
                f"  masks agree under {100 * NOISE:.0f} % input noise     {self.noise_agreement:5.1f} %",
                f"  masks agree over refits              {refit}",
            )
        )


def jaccard(first: ArrayLike, second: ArrayLike) -> float:
    """Mean over rows of |intersection| / |union| of two selections, in percent; two empty ones agree.

    Examples
    --------
    >>> jaccard([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]])
    75.0
    """
    a, b = np.asarray(first).astype(bool), np.asarray(second).astype(bool)
    both, either = (a & b).sum(axis=1), (a | b).sum(axis=1)
    return float(100 * np.mean(np.where(either > 0, both / np.maximum(either, 1), 1.0)))


Refit = Callable[[Any, np.ndarray, int], FittedModel]  # a table, a target and a seed -> a model of them


def audit(
    fitted: FittedModel,
    X: Any,
    y: Any,
    *,
    n_refits: int = 0,
    random_state: int | None = 0,
    refit: Refit | None = None,
) -> AuditReport:
    """Audit a fitted model on rows that it was not trained on.

    Parameters
    ----------
    fitted : the model, an estimator's `fitted_`
    X, y : rows and targets, best others than those of `fit`
    n_refits : how many models to train anew on these rows (at most 5,000) to compare masks with; 0 saves the time
    random_state : seed of the audit's own predictors, noise and refits
    refit : fits a model to a table, a target and a seed; an estimator's `audit` gives its own `fit`

    Returns
    -------
    AuditReport
        prints as a page; `leaks` is the verdict, `to_dict()` the numbers
    """
    rng = np.random.default_rng(random_state)
    table = adapt(X)
    X = table.dense() if isinstance(table, SparseTable) else X  # noise leaves no value of a sparse table 0
    rows, y = fitted.read(X), np.asarray(y)
    _require_one_target(fitted, rows, y)
    schema, masks = fitted.schema, fitted.masks(rows)
    scores = selection_scores(
        schema.inputs(rows),
        y,
        masks[:, schema.first_columns],
        fitted.predictions(rows),
        classes=fitted.target.classes,
        random_state=int(rng.integers(2**31)),
        gate_of_input=fitted.network.architecture.gate_of_input,
    )
    noisy = rows + NOISE * schema.encoding.noise() * rng.standard_normal(rows.shape)
    return AuditReport(
        **scores,
        mean_features=float(masks.sum(axis=1).mean()),
        union_features=int((masks.mean(axis=0) > UNION_SHARE).sum()),
        noise_agreement=jaccard(masks, fitted.masks(noisy)),
        refit_agreement=_refit_agreement(X, y, masks, n_refits, rng, refit),
        n_rows=len(rows),
    )


def _require_one_target(fitted: FittedModel, rows: np.ndarray, y: np.ndarray) -> None:
    """Raise unless model and y have one class or value per row, of those that the model knows."""
    target, n_outputs = fitted.target, fitted.network.architecture.n_outputs
    one_output = target.kind in ("classes", "counts") or n_outputs == 1
    if y.dtype.names or y.ndim > 1 or not one_output or target.kind in ("labels", "risk"):
        raise ValueError("an audit takes one class or one value a row; this y, or this model, has several")
    if y.shape != (len(rows),):
        raise ValueError(f"y must have one value for each of the {len(rows)} rows of X; got shape {y.shape}")
    classes = target.classes
    if classes is not None and not np.isin(y, classes).all():
        new = y[~np.isin(y, classes)][0]
        raise ValueError(f"y holds {_some(np.array([new]))}, which is not one of the model's classes: {_some(classes)}")


def _some(classes: np.ndarray) -> str:
    return ", ".join(repr(label) for label in classes[:10].tolist()) + (", ..." if len(classes) > 10 else "")


def selection_scores(
    x: np.ndarray,
    y: np.ndarray,
    masks: np.ndarray,
    predictions: np.ndarray,
    classes: np.ndarray | None = None,
    random_state: int = 0,
    gate_of_input: Sequence[int] = (),
) -> dict[str, Any]:
    """The scores of an audit for any method: standardised rows (n, D), targets, its masks and its predictions.

    `classes` are the labels for classification, None for regression; `gate_of_input` says which feature each column of
    x belongs to, where that is not one each. Every score is of rows that the predictor concerned did not learn from.
    """
    shown = [masks, np.ones_like(masks), np.broadcast_to(masks.mean(axis=0) > UNION_SHARE, masks.shape)]
    selected, everything, union = _evalx_predictions(x, y, shown, classes, random_state, gate_of_input)
    guess = _best_guess(y, classes)
    return {
        "score_name": "R^2" if classes is None else "accuracy",
        "own_score": _score(y, predictions, classes),
        "evalx_score": _score(y, selected, classes),
        "everything_score": _score(y, everything, classes),
        "union_score": _score(y, union, classes),
        "mask_score": _score(y, _predictions_from_masks(masks, y, classes), classes),
        "guess_score": _score(y, guess, classes),
        "score_error": _score_error(y, selected, classes),
    }


def _evalx_predictions(
    x: np.ndarray,
    y: np.ndarray,
    masks: list[np.ndarray],
    classes: np.ndarray | None,
    seed: int,
    gate_of_input: Sequence[int],
) -> list[np.ndarray]:
    import torch

    from sklar.model.gates import Gates
    from sklar.training.honest.evalx import evalx_outputs
    from sklar.training.tasks import Task

    rows = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    shown = [torch.from_numpy(np.ascontiguousarray(mask))[None] for mask in masks]
    gates = Gates.of(masks[0].shape[1], gate_of_input or None)
    steps = max(100, round(EVALX_STEPS * min(1.0, (len(x) / 10_000) ** 0.5)))
    if classes is not None:
        target = torch.from_numpy(np.searchsorted(classes, y))
        outputs = evalx_outputs(rows[None], target[None], shown, Task(len(classes)), steps, seed, gates=gates)
        return [classes[output[0].argmax(-1).numpy()] for output in outputs]
    centre, spread = y.mean(), y.std() or 1.0
    target = torch.from_numpy(((y - centre) / spread).astype(np.float32))
    outputs = evalx_outputs(rows[None], target[None], shown, Task(None), steps, seed, gates=gates)
    return [output[0, :, 0].numpy() * spread + centre for output in outputs]


def _predictions_from_masks(masks: np.ndarray, y: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """What boosted trees predict from the mask alone, cross-fitted; constant where all masks are equal."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    used = masks[:, masks.std(axis=0) > 0]
    if not used.shape[1]:
        return _best_guess(y, classes)
    model = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    folds = KFold(min(5, len(y)), shuffle=True, random_state=0)
    return cross_val_predict(model(max_iter=50, random_state=0), used.astype(float), y, cv=folds)


def _best_guess(y: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    if classes is None:
        return np.full(len(y), y.mean())
    labels, counts = np.unique(y, return_counts=True)
    return np.full(len(y), labels[counts.argmax()])


def _score(y: np.ndarray, prediction: np.ndarray, classes: np.ndarray | None) -> float:
    if classes is not None:
        return float(100 * np.mean(y == prediction))
    return float(100 * (1 - np.mean((y - prediction) ** 2) / (np.var(y) or 1.0)))


def _score_error(y: np.ndarray, prediction: np.ndarray, classes: np.ndarray | None) -> float:
    """The standard error of a score: that of a mean over rows."""
    if classes is not None:
        return float(100 * np.std(y == prediction) / len(y) ** 0.5)
    return float(100 * np.std((y - prediction) ** 2) / (np.var(y) or 1.0) / len(y) ** 0.5)


def _refit_agreement(
    X: Any, y: np.ndarray, masks: np.ndarray, n_refits: int, rng: np.random.Generator, refit: Refit | None
) -> float | None:
    if not n_refits:
        return None
    if refit is None:
        raise ValueError("n_refits needs `refit`, which fits a model to a table, a target and a seed")
    agreements = []
    for _ in range(n_refits):
        part = rng.permutation(len(y))[:MOST_REFIT_ROWS]
        seed = int(rng.integers(2**31))
        again = refit(adapt(X).take(part), y[part], seed)
        agreements.append(jaccard(masks, again.masks(again.read(X))))
    return float(np.mean(agreements))
