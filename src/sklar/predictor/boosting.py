"""`predictor="trees"`: scikit-learn's boosted trees, with settings for rows that are learned from several times."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

SETTINGS: dict[str, Any] = {"max_iter": 150, "learning_rate": 0.1, "max_leaf_nodes": 31, "early_stopping": False}


def boosted_trees(kind: str, n_rows: int) -> Any:
    """Trees for a kind of target; no early stopping: its held-out rows would be copies of rows that were learned from.

    Examples
    --------
    >>> type(boosted_trees("values", 1000)).__name__
    'HistGradientBoostingRegressor'
    """
    if kind in ("classes", "labels"):
        return HistGradientBoostingClassifier(**SETTINGS)
    return HistGradientBoostingRegressor(loss="poisson" if kind == "counts" else "squared_error", **SETTINGS)
