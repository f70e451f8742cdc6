"""How a target becomes numbers to learn, and how a network's outputs become predictions again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import expit, softmax
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklar.table.weights import class_weights
from sklar.training.targets import CountsTask, LabelsTask, RiskTask, TableTask, ValuesTask
from sklar.training.tasks import Task

KINDS = ("classes", "labels", "values", "counts", "risk")


@dataclass(frozen=True)
class Target:
    """What outputs mean, one of `KINDS` (see `training.targets`)."""

    kind: str
    classes: np.ndarray | None = None  # of "classes" and "labels", in the order of the outputs
    centre: Any = 0.0  # of "values" and "counts": a number, or a list of them for several targets
    spread: Any = 1.0
    names: tuple[str, ...] = ()  # of the columns that it was read from, where they have names

    @property
    def is_classified(self) -> bool:
        """Whether there are classes, or labels, rather than numbers."""
        return self.classes is not None

    def numbers(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Other targets (n,) than those that this was learned from, as numbers to learn, and which of them it knows.

        For one class or one value a row; classes are to have the type that they had.

        Examples
        --------
        >>> numbers, known = Target("classes", np.array(["a", "c"])).numbers(np.array(["c", "b", "a"]))
        >>> numbers[known].tolist(), known.tolist()
        ([1, 0], [True, False, True])
        """
        if self.classes is None:
            values = _as_floats(y)
            return ((values - self.centre) / self.spread).astype(np.float32), np.isfinite(values)
        codes = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        return codes.astype(np.int64), self.classes[codes] == y

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Classes, labels 0 and 1, expected values or log hazard ratios of outputs (n, out): (n,) or (n, targets)."""
        if self.kind == "classes":
            assert self.classes is not None
            return self.classes[outputs.argmax(axis=1)]
        if self.kind == "labels":
            return (outputs > 0).astype(int)
        if self.kind == "risk":
            return outputs[:, 0]
        if self.kind == "counts":
            return np.exp(outputs[:, 0]) * self.spread
        values = outputs * self.spread + self.centre
        return values if values.shape[1] > 1 else values[:, 0]

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """P(class): (n, classes); of labels P(1): (n, labels)."""
        return expit(outputs) if self.kind == "labels" else softmax(outputs, axis=1)


class EncodedTarget(NamedTuple):
    """A target ready to learn from."""

    target: Target
    task: Task
    numbers: np.ndarray  # classes from 0, standardised values, or row numbers that the task looks up
    weight: np.ndarray | None  # what rows count


def encode_classes(y: np.ndarray, class_weight: Any, weight: np.ndarray | None) -> EncodedTarget:
    """Any number of classes, of any type; or several labels per row, each 0 or 1."""
    check_classification_targets(y)
    if y.ndim == 2:
        return _encode_labels(y, class_weight, weight)
    if y.dtype == np.longdouble:  # which a file cannot hold
        y = y.astype(np.float64)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least 2 classes; got 1 class: {classes.tolist()[0]!r}")
    of_class = class_weights(class_weight, classes, codes)
    if of_class is not None:
        weight = of_class if weight is None else of_class * weight
    return EncodedTarget(Target("classes", classes), Task(n_classes=len(classes)), codes.astype(np.int64), weight)


def _encode_labels(y: np.ndarray, class_weight: Any, weight: np.ndarray | None) -> EncodedTarget:
    if type_of_target(y) != "multilabel-indicator":
        raise ValueError("a y of several columns must hold labels, all of them 0 or 1, or be numbers for a regressor")
    if class_weight is not None:
        raise ValueError("class_weight is for one class per row; y has several labels")
    return EncodedTarget(Target("labels", np.arange(y.shape[1])), *_looked_up(LabelsTask, y), weight)


def spelled_as(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Labels y (n,) spelled as the classes are, where all of them are classes spelled otherwise; else as they are.

    1, 1.0, True and the text of a CSV file, 1 or True, are the same, as they are in features.

    Examples
    --------
    >>> spelled_as(np.array([False, True]), np.array(["True", "False"])).tolist()
    [True, False]
    >>> spelled_as(np.array([0, 1]), np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    known = {str(label): label for label in classes}
    for label in classes:
        if str(label) in ("0", "1", "False", "True"):
            whether = str(label) in ("1", "True")
            known |= {spelling: label for spelling in (str(int(whether)), str(whether)) if spelling not in known}
    if classes.dtype.kind in "biuf" and y.dtype.kind in "biuf":
        return y.astype(classes.dtype) if np.isin(y, classes).all() else y
    found = [known.get(str(value)) for value in y]
    return y if any(label is None for label in found) else np.array(found, dtype=classes.dtype)


def encode_numbers(y: np.ndarray, loss: str, weight: np.ndarray | None) -> EncodedTarget:
    """Values, standardised; counts, divided by their mean; or times to an event, as `loss` says."""
    if loss == "cox":
        event, time = event_and_time(y)
        return EncodedTarget(Target("risk"), *_looked_up(RiskTask, np.column_stack([time, event])), weight)
    values = _as_floats(y)
    if loss == "poisson":
        return _encode_counts(values, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        centre, spread = values.mean(axis=0), values.std(axis=0)
    if not np.isfinite(spread).all():
        raise ValueError("y has values too large to square; rescale it")
    spread = np.where(spread > 0, spread, 1.0)
    scaled = ((values - centre) / spread).astype(np.float32)
    target = Target("values", centre=centre.tolist(), spread=spread.tolist())  # plain numbers: what a file can hold
    if values.ndim == 2:
        return EncodedTarget(target, *_looked_up(ValuesTask, scaled), weight)
    return EncodedTarget(target, Task(n_classes=None), scaled, weight)


def _as_floats(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind in "mM":
        raise ValueError("y holds dates or times; turn them into numbers first (days since a day, seconds)")
    try:
        return np.asarray(y, dtype=np.float64)
    except OverflowError as error:
        raise ValueError("y has a number beyond 1e308; rescale it") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers here: {error}") from error


def _encode_counts(values: np.ndarray, weight: np.ndarray | None) -> EncodedTarget:
    if values.ndim > 1:
        raise ValueError("loss='poisson' takes one count per row; y has several columns")
    if (values < 0).any() or not values.any():
        raise ValueError(f"loss='poisson' needs counts from 0, not all of them 0; got {values.min():g} as the least")
    mean = float(values.mean())
    return EncodedTarget(Target("counts", spread=mean), *_looked_up(CountsTask, (values / mean)[:, np.newaxis]), weight)


def event_and_time(y: Any) -> tuple[np.ndarray, np.ndarray]:
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


def _looked_up(task: type[TableTask], targets: np.ndarray) -> tuple[TableTask, np.ndarray]:
    """A task that knows the targets of rows, and row numbers to ask it with."""
    return task(torch.from_numpy(targets.astype(np.float32))), np.arange(len(targets))
