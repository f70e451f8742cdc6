"""The two tasks, as mixins: how a target becomes numbers, and how numbers become a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from sklar.estimators.weights import class_weights
from sklar.training.objectives import Task

Encoded = tuple[np.ndarray, Task, np.ndarray | None]


class ClassifierTask(ClassifierMixin):
    """Any number of classes, of any label type."""

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row, from its selected features alone: (n,)."""
        return self._predict_rows(self._check_rows(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | selected features), columns as in `classes_`: (n, classes)."""
        return softmax(self._outputs(self._check_rows(X)), axis=1)

    def _predict_rows(self, rows: np.ndarray) -> np.ndarray:
        return self.classes_[self._outputs(rows).argmax(axis=1)]

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> Encoded:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least 2 classes; got 1 class: {self.classes_[0]!r}")
        of_class = class_weights(self.class_weight, self.classes_, codes)
        if of_class is not None:
            weight = of_class if weight is None else of_class * weight
        return codes.astype(np.int64), Task(n_classes=len(self.classes_)), weight


class RegressorTask(RegressorMixin):
    """One real target, standardised inside."""

    def predict(self, X: Any) -> np.ndarray:
        """The expected target of each row, from its selected features alone: (n,)."""
        return self._predict_rows(self._check_rows(X))

    def _predict_rows(self, rows: np.ndarray) -> np.ndarray:
        return self._outputs(rows)[:, 0] * self.target_spread_ + self.target_centre_

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> Encoded:
        values = np.asarray(y, dtype=np.float64)
        self.target_centre_ = float(values.mean())
        self.target_spread_ = float(values.std()) or 1.0
        if not np.isfinite(self.target_spread_):
            raise ValueError("y has values too large to square; rescale it")
        return ((values - self.target_centre_) / self.target_spread_).astype(np.float32), Task(n_classes=None), weight
