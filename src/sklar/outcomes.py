"""What rows turned out to be, for judges: classes, values or times to an event, and how predictions of them are scored.

An outcome knows the task that EVAL-X learns, how its outputs are scored, what a mask alone predicts, and the excess of
a choice over the values chosen (see `judgement`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

from sklar.judgement import Judgement, judge_rates, judge_risks, recalibrated_classes, recalibrated_values
from sklar.metrics import concordance
from sklar.target import event_and_time
from sklar.training.targets import CountsTask, RiskTask
from sklar.training.tasks import SpreadTask, Task

MASK_TREES = {"max_iter": 50, "random_state": 0}


class Outcome:
    """The outcomes of n rows; a subclass says of which kind."""

    score_name: str
    task: Task
    numbers: np.ndarray  # what the task learns, (n,)

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """What outputs (n, out) predict: (n,)."""
        raise NotImplementedError

    def score(self, predictions: np.ndarray) -> float:
        """How good predictions (n,) are, in percent."""
        raise NotImplementedError

    def score_error(self, predictions: np.ndarray) -> float:
        """The standard error of that score, points."""
        raise NotImplementedError

    def judge(self, outputs: np.ndarray, control: np.ndarray, weight: np.ndarray) -> Judgement:
        """The judgement of outputs (n, out) for a selection, recalibrated by a control (see `control`).

        That is outputs (n * copies, out) of the same rows, each `copies` times in a row, and weights (n * copies,).
        """
        raise NotImplementedError

    def guess(self) -> np.ndarray:
        """The best constant prediction, (n,)."""
        raise NotImplementedError

    def from_masks(self, masks: np.ndarray) -> np.ndarray:
        """What boosted trees predict from masks (n, d) alone, cross-fitted; the best guess where all are equal."""
        used = masks[:, masks.std(axis=0) > 0]
        if not used.shape[1]:
            return self.guess()
        model, target = self._mask_trees()
        folds = KFold(min(5, len(target)), shuffle=True, random_state=0)
        return cross_val_predict(model, used.astype(float), target, cv=folds)

    def _mask_trees(self) -> tuple[Any, np.ndarray]:
        """Trees, and what they learn from masks."""
        raise NotImplementedError


@dataclass(frozen=True)
class Classes(Outcome):
    """One of several classes a row."""

    y: np.ndarray
    classes: np.ndarray
    score_name = "accuracy"

    @property
    def task(self) -> Task:  # type: ignore[override]
        """Logits."""
        return Task(len(self.classes))

    @cached_property
    def numbers(self) -> np.ndarray:  # type: ignore[override]
        """Codes."""
        return np.searchsorted(self.classes, self.y)

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Classes."""
        return self.classes[outputs.argmax(axis=1)]

    def score(self, predictions: np.ndarray) -> float:
        """Accuracy."""
        return float(100 * np.mean(self.y == predictions))

    def score_error(self, predictions: np.ndarray) -> float:
        """That of a mean."""
        return float(100 * np.std(self.y == predictions) / len(self.y) ** 0.5)

    def judge(self, outputs: np.ndarray, control: np.ndarray, weight: np.ndarray) -> Judgement:
        """In nats."""
        codes, copies = self.numbers, len(control) // len(outputs)
        log_p, log_control = log_softmax(outputs, axis=1), log_softmax(control, axis=1)
        return recalibrated_classes(log_p, codes, log_control, np.repeat(codes, copies), weight, copies)

    def guess(self) -> np.ndarray:
        """The most frequent class."""
        labels, counts = np.unique(self.y, return_counts=True)
        return np.full(len(self.y), labels[counts.argmax()])

    def _mask_trees(self) -> tuple[Any, np.ndarray]:
        return HistGradientBoostingClassifier(**MASK_TREES), self.y


@dataclass(frozen=True)
class Values(Outcome):
    """One number a row."""

    y: np.ndarray
    score_name = "R^2"

    @property
    def task(self) -> Task:  # type: ignore[override]
        """Values, and how far off they expect to be."""
        return SpreadTask(None)

    @cached_property
    def numbers(self) -> np.ndarray:  # type: ignore[override]
        """Standardised."""
        return ((self.y - self.y.mean()) / (self.y.std() or 1.0)).astype(np.float32)

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Values."""
        return outputs[:, 0] * (self.y.std() or 1.0) + self.y.mean()

    def score(self, predictions: np.ndarray) -> float:
        """R^2."""
        return float(100 * (1 - np.mean((self.y - predictions) ** 2) / (np.var(self.y) or 1.0)))

    def score_error(self, predictions: np.ndarray) -> float:
        """That of a mean."""
        return float(100 * np.std((self.y - predictions) ** 2) / (np.var(self.y) or 1.0) / len(self.y) ** 0.5)

    def judge(self, outputs: np.ndarray, control: np.ndarray, weight: np.ndarray) -> Judgement:
        """In nats of a Gaussian."""
        y, copies = self.numbers, len(control) // len(outputs)
        (mean, variance), dealt = ((out[:, 0], self._variance(out)) for out in (outputs, control))
        return recalibrated_values(mean, variance, y, *dealt, np.repeat(y, copies), weight, copies)

    def guess(self) -> np.ndarray:
        """The mean."""
        return np.full(len(self.y), self.y.mean())

    def _variance(self, outputs: np.ndarray) -> np.ndarray:
        expected = self.task.expected_loss(torch.from_numpy(outputs), torch.empty(0))
        assert expected is not None
        return expected.numpy()

    def _mask_trees(self) -> tuple[Any, np.ndarray]:
        return HistGradientBoostingRegressor(**MASK_TREES), self.y


@dataclass(frozen=True)
class Counts(Values):
    """One count a row."""

    @cached_property
    def task(self) -> CountsTask:  # type: ignore[override]
        """Log-rates of counts divided by their mean."""
        return CountsTask(torch.from_numpy((self.y / self._mean)[:, np.newaxis].astype(np.float32)))

    @cached_property
    def numbers(self) -> np.ndarray:  # type: ignore[override]
        """Row numbers, which the task looks up."""
        return np.arange(len(self.y))

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Expected counts."""
        return np.exp(np.clip(outputs[:, 0], -20, 20)) * self._mean

    def judge(self, outputs: np.ndarray, control: np.ndarray, weight: np.ndarray) -> Judgement:
        """By the mean of the counts alone, whatever their spread."""
        return judge_rates(outputs[:, 0], self.y / self._mean, control[:, 0], weight)

    @property
    def _mean(self) -> float:
        return float(self.y.mean()) or 1.0


@dataclass(frozen=True)
class Times(Outcome):
    """A time to an event a row, of some only known to be longer."""

    event: np.ndarray
    time: np.ndarray
    score_name = "concordance"

    @cached_property
    def task(self) -> RiskTask:  # type: ignore[override]
        """Log hazard ratios."""
        return RiskTask(torch.from_numpy(np.column_stack([self.time, self.event]).astype(np.float32)))

    @cached_property
    def numbers(self) -> np.ndarray:  # type: ignore[override]
        """Row numbers, which the task looks up."""
        return np.arange(len(self.time))

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Log hazard ratios."""
        return outputs[:, 0]

    def score(self, predictions: np.ndarray) -> float:
        """Concordance: 50 is chance."""
        return 100 * concordance(self.time, self.event, predictions)

    def score_error(self, predictions: np.ndarray) -> float:
        """At most that of as many independent pairs as half the events."""
        return float(50 / max(1.0, self.event.sum() / 2) ** 0.5)

    def judge(self, outputs: np.ndarray, control: np.ndarray, weight: np.ndarray) -> Judgement:
        """By martingale residuals, each judge of risks with its own baseline hazard."""
        risk = outputs[:, 0]
        return judge_risks(risk, self.event, self.time, self.score(risk), control[:, 0], weight)

    def guess(self) -> np.ndarray:
        """The same risk for all."""
        return np.zeros(len(self.time))

    def _mask_trees(self) -> tuple[Any, np.ndarray]:
        """Trees learn the martingale residuals of equal risks."""
        zero = torch.zeros(len(self.time), 1)
        residuals = self.task.residuals(zero, torch.from_numpy(self.numbers))[:, 0]
        return HistGradientBoostingRegressor(**MASK_TREES), residuals.numpy()


def outcome_of(y: Any, classes: np.ndarray | None = None, *, counts: bool = False) -> Outcome:
    """The outcome that a target holds: of `classes`, `counts`, times to an event (a structured array), or values.

    Examples
    --------
    >>> outcome_of(np.array(["no", "yes", "yes"]), np.array(["no", "yes"])).guess()
    array(['yes', 'yes', 'yes'], dtype='<U3')
    >>> outcome_of(np.array([1.0, 3.0])).score(np.array([1.0, 3.0]))
    100.0
    """
    y = np.asarray(y)
    if classes is not None:
        return Classes(y, classes)
    if y.dtype.names:
        return Times(*event_and_time(y))
    return (Counts if counts else Values)(y.astype(np.float64))
