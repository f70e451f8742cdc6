"""The two tasks, as mixins: how a target becomes numbers, and how numbers become a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklar.metrics import concordance
from sklar.table.weights import class_weights
from sklar.training.targets import CountsTask, LabelsTask, RiskTask, TableTask, ValuesTask
from sklar.training.tasks import Task

Encoded = tuple[np.ndarray, Task, np.ndarray | None]  # target, task, weights


class ClassifierTask(ClassifierMixin):
    """Any number of classes, of any label type; or several labels a row, each 0 or 1."""

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row, from its selected features alone: (n,); labels 0 or 1: (n, labels)."""
        return self._predict_rows(self._check_rows(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class | selected features), columns as in `classes_`: (n, classes); of labels, P(1): (n, labels)."""
        outputs = self._outputs(self._check_rows(X))
        return expit(outputs) if self._has_labels() else softmax(outputs, axis=1)

    def __sklearn_tags__(self) -> Tags:
        """Say that there may be several labels."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _has_labels(self) -> bool:
        return self.model_.architecture.output_kind == "labels"

    def _predict_rows(self, rows: np.ndarray) -> np.ndarray:
        outputs = self._outputs(rows)
        return (outputs > 0).astype(int) if self._has_labels() else self.classes_[outputs.argmax(axis=1)]

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> Encoded:
        check_classification_targets(y)
        if y.ndim == 2:
            return self._encode_labels(y, weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least 2 classes; got 1 class: {self.classes_[0]!r}")
        of_class = class_weights(self.class_weight, self.classes_, codes)
        if of_class is not None:
            weight = of_class if weight is None else of_class * weight
        return codes.astype(np.int64), Task(n_classes=len(self.classes_)), weight

    def _encode_labels(self, y: np.ndarray, weight: np.ndarray | None) -> Encoded:
        if type_of_target(y) != "multilabel-indicator":
            raise ValueError(f"a y of several columns must hold labels, 0 or 1; got {type_of_target(y)}")
        if self.class_weight is not None:
            raise ValueError("class_weight is for one class a row; y has several labels")
        self.classes_ = np.arange(y.shape[1])
        return *_looked_up(LabelsTask, y), weight


class RegressorTask(RegressorMixin):
    """Real targets, standardised inside; counts; or times to an event, as `loss` says."""

    def predict(self, X: Any) -> np.ndarray:
        """The expected target of each row, from its selected features alone: (n,) or (n, targets).

        With loss="cox", the logarithm of the hazard ratio: larger is sooner.
        """
        return self._predict_rows(self._check_rows(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2; with loss="poisson" the share of the deviance explained, with loss="cox" the concordance."""
        kind = self.model_.architecture.output_kind if hasattr(self, "model_") else ""
        if kind == "risk":
            event, time = _event_and_time(y)
            return concordance(time, event, self.predict(X))
        if kind == "counts":
            return float(d2_tweedie_score(y, self.predict(X), power=1, sample_weight=sample_weight))
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        """Say that there may be several targets."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _predict_rows(self, rows: np.ndarray) -> np.ndarray:
        outputs, kind = self._outputs(rows), self.model_.architecture.output_kind
        if kind == "risk":
            return outputs[:, 0]
        if kind == "counts":
            return np.exp(outputs[:, 0]) * self.target_spread_
        values = outputs * self.target_spread_ + self.target_centre_
        return values if values.shape[1] > 1 else values[:, 0]

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> Encoded:
        if self.loss == "cox":
            event, time = _event_and_time(y)
            return *_looked_up(RiskTask, np.column_stack([time, event])), weight
        values = np.asarray(y, dtype=np.float64)
        if self.loss == "poisson":
            return *self._encode_counts(values), weight
        centre, spread = values.mean(axis=0), values.std(axis=0)
        if not np.isfinite(spread).all():
            raise ValueError("y has values too large to square; rescale it")
        spread = np.where(spread > 0, spread, 1.0)
        scaled = ((values - centre) / spread).astype(np.float32)
        # plain numbers, or lists of them: what a file can hold
        self.target_centre_, self.target_spread_ = centre.tolist(), spread.tolist()
        if values.ndim == 2:
            return *_looked_up(ValuesTask, scaled), weight
        return scaled, Task(n_classes=None), weight

    def _encode_counts(self, values: np.ndarray) -> tuple[np.ndarray, TableTask]:
        if values.ndim > 1:
            raise ValueError("loss='poisson' takes one count a row; y has several columns")
        if (values < 0).any() or not values.any():
            raise ValueError(
                f"loss='poisson' needs counts from 0, not all of them 0; got {values.min():g} as the least"
            )
        self.target_centre_, self.target_spread_ = 0.0, float(values.mean())
        return _looked_up(CountsTask, (values / self.target_spread_)[:, np.newaxis])


def _looked_up(task: type[TableTask], targets: np.ndarray) -> tuple[np.ndarray, TableTask]:
    """Row numbers, and a task that knows the targets of rows."""
    return np.arange(len(targets)), task(torch.from_numpy(targets.astype(np.float32)))


def _event_and_time(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two fields of a survival target, as scikit-survival has them: whether the event was seen, and when."""
    y = np.asarray(y)
    kinds = {name: y.dtype[name].kind for name in y.dtype.names or ()}
    events = [name for name, kind in kinds.items() if kind == "b"]
    times = [name for name, kind in kinds.items() if kind in "iuf"]
    if len(kinds) != 2 or len(events) != 1 or len(times) != 1 or y.ndim != 1:
        raise ValueError("loss='cox' needs y as a structured array of two fields: a bool (event seen) and a time")
    event, time = y[events[0]], y[times[0]].astype(np.float64)
    if not np.isfinite(time).all() or (time < 0).any():
        raise ValueError("loss='cox' needs times that are finite and not negative")
    if not event.any():
        raise ValueError("loss='cox' needs at least one event; every row is censored")
    return event, time
