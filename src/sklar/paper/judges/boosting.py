"""Boosted trees by one function: LightGBM where installed, else scikit-learn's histogram boosting. NaN is "hidden".

LightGBM stops when held-out rows say so; scikit-learn's takes a fixed number of rounds, since its own rule would hold
out copies of the rows that it learns from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

Loss = Literal["classes", "values", "variances"]
Trees = Callable[[np.ndarray], np.ndarray]  # rows (n, d) -> log-probabilities (n, classes), or values (n,)


class Rows(NamedTuple):
    """Rows with NaN where hidden, and their target."""

    x: np.ndarray
    y: np.ndarray


class Boosting(NamedTuple):
    """How trees are boosted."""

    rounds: int = 400  # at most, with held-out rows
    rounds_without_held_out: int = 100
    patience: int = 20
    learning_rate: float = 0.1
    leaves: int = 31
    rows_of_a_leaf: int = 20


def boosted(loss: Loss, n_classes: int, rows: Rows, held_out: Rows | None, how: Boosting, seed: int) -> Trees:
    """Trees that predict class probabilities, values, or (for "variances") positive values."""
    try:
        import lightgbm
    except ImportError:
        return _by_scikit_learn(loss, n_classes, rows, how, seed)
    return _by_lightgbm(lightgbm, loss, n_classes, rows, held_out, how, seed)


def _by_lightgbm(
    package: Any, loss: Loss, n_classes: int, rows: Rows, held_out: Rows | None, how: Boosting, seed: int
) -> Trees:
    params: dict[str, Any] = {
        "objective": {"classes": "binary", "values": "regression", "variances": "gamma"}[loss],
        "learning_rate": how.learning_rate,
        "num_leaves": how.leaves,
        "min_data_in_leaf": how.rows_of_a_leaf,
        "max_bin": 127,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    if loss == "classes" and n_classes > 2:
        params |= {"objective": "multiclass", "num_class": n_classes}
    learn = package.Dataset(rows.x, rows.y, params=params)
    if held_out is None:
        trees = package.train(params, learn, how.rounds_without_held_out)
    else:
        check = package.Dataset(held_out.x, held_out.y, reference=learn)
        stop = package.early_stopping(how.patience, verbose=False)
        trees = package.train(params, learn, how.rounds, valid_sets=[check], callbacks=[stop])

    def predict(x: np.ndarray) -> np.ndarray:
        raw = np.asarray(trees.predict(x, raw_score=True))
        if loss == "variances":
            return np.exp(raw)
        if loss == "values":
            return raw
        raw = np.column_stack([np.zeros(len(x)), raw]) if raw.ndim == 1 else raw
        return raw - np.logaddexp.reduce(raw, axis=1, keepdims=True)

    return predict


def _by_scikit_learn(loss: Loss, n_classes: int, rows: Rows, how: Boosting, seed: int) -> Trees:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    params: dict[str, Any] = {
        "max_iter": how.rounds_without_held_out,
        "learning_rate": how.learning_rate,
        "max_leaf_nodes": how.leaves,
        "min_samples_leaf": how.rows_of_a_leaf,
        "early_stopping": False,
        "random_state": seed,
    }
    if loss != "classes":
        kind = "gamma" if loss == "variances" else "squared_error"
        return HistGradientBoostingRegressor(loss=kind, **params).fit(rows.x, rows.y).predict
    model = HistGradientBoostingClassifier(**params).fit(rows.x, rows.y)

    def predict(x: np.ndarray) -> np.ndarray:
        log_p = np.full((len(x), n_classes), -np.inf)
        with warnings.catch_warnings(), np.errstate(divide="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            log_p[:, model.classes_] = np.log(model.predict_proba(x))
        return log_p

    return predict
