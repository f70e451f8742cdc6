"""The two tasks, as mixins beside scikit-learn's own: what is predicted, and how well."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags

from sklar.estimators.answers import ask
from sklar.estimators.streaming import Names, scored_rows
from sklar.fitted import FittedModel
from sklar.metrics import concordance
from sklar.target import EncodedTarget, encode_classes, encode_numbers, event_and_time


class ClassifierTask(ClassifierMixin):
    """Any number of classes, of any label type; or several labels per row, each 0 or 1."""

    class_weight: Any
    _fitted: FittedModel

    def predict(self, X: Any, *, penalty: float | None = None, k: int | None = None) -> Any:
        """The most probable class of each row, from its selected features alone: (n,); labels 0 or 1: (n, labels).

        With `penalty` or `k` they are those that `select` gives at another price, or the k best.
        """
        return ask(self._fitted.at(penalty, k), "predictions", X)

    def predict_proba(self, X: Any, *, penalty: float | None = None, k: int | None = None) -> Any:
        """P(class | selected features), columns as in `classes_`: (n, classes); of labels, P(1): (n, labels).

        `penalty` and `k` are as in `predict`.
        """
        return ask(self._fitted.at(penalty, k), "probabilities", X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: Names | None = None) -> float:
        """The accuracy; of several labels, the share of rows that have all of them right.

        Of a file, dataset or query, `target` names the column of y, and 100,000 rows drawn at random are scored.
        """
        X, y = scored_rows(X, y, sample_weight, target, self._fitted)
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        """Say that there may be several labels."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> EncodedTarget:
        return encode_classes(y, self.class_weight, weight)


class RegressorTask(RegressorMixin):
    """Real targets, standardised inside; counts; or times to an event, as `loss` says."""

    loss: str
    _fitted: FittedModel

    def predict(self, X: Any, *, penalty: float | None = None, k: int | None = None) -> Any:
        """The expected target of each row, from its selected features alone: (n,) or (n, targets).

        With loss="poisson" it is the expected count, with loss="cox" the logarithm of the hazard ratio. With `penalty`
        or `k` the features are those that `select` gives at another price, or the k best.
        """
        return ask(self._fitted.at(penalty, k), "predictions", X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, target: Names | None = None) -> float:
        """R^2; with loss="poisson" the share of the deviance explained, with loss="cox" the concordance.

        Of a file, dataset or query, `target` names the column of y (of times the event and the time), and 100,000 rows
        drawn at random are scored.
        """
        X, y = scored_rows(X, y, sample_weight, target, self._fitted)
        kind = self._fitted.target.kind
        if kind == "risk":
            event, time = event_and_time(y)
            return concordance(time, event, self.predict(X))
        if kind == "counts":
            return float(d2_tweedie_score(y, self.predict(X), power=1, sample_weight=sample_weight))
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        """Say that there may be several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> EncodedTarget:
        return encode_numbers(y, self.loss, weight)
