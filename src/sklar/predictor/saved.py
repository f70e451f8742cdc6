"""What stands for a predictor in the parameters of an estimator that came from a file."""

from __future__ import annotations

from typing import Any, NoReturn

from sklearn.base import BaseEstimator


class SavedPredictor(BaseEstimator):
    """The description of an estimator: a file holds what it learned, and not how to make another.

    Examples
    --------
    >>> SavedPredictor("LGBMClassifier(num_leaves=15)").fit([[0]], [0])
    Traceback (most recent call last):
    ...
    ValueError: the file has what this predictor learned, and not how to make another; set predictor to an estimator...
    """

    def __init__(self, description: str) -> None:
        self.description = description

    def fit(self, X: Any, y: Any) -> NoReturn:
        """Raise: there is nothing to fit."""
        raise ValueError(
            "the file has what this predictor learned, and not how to make another; set predictor to an estimator such "
            f"as the one it was, {self.description}"
        )

    def predict(self, X: Any) -> NoReturn:
        """Raise: what was learned is asked through the estimator that the file describes."""
        raise ValueError("ask the estimator that was loaded")
