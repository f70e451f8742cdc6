"""Boosted trees that learned from rows with features hidden at random judge what a selection shows.

Every training row is learned from several times: once with all its features, and else with as many as a log-uniform
draw from 1 to d says, hidden ones NaN. A value that is missing in the table is a value of its own (below all others),
so that "shown, and missing" is not "hidden". No mask depends on its row, so nothing was agreed with any selector.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sklar.control import odds_of_choice
from sklar.judgement import (
    Judgement,
    recalibrated_classes,
    recalibrated_values,
)
from sklar.paper.judges.boosting import Boosting, Rows, Trees, boosted
from sklar.predictor.masks import few_or_many, random_masks

HELD_OUT = 0.2  # of the training rows: they stop the boosting and recalibrate
WANTED_ROWS = 40_000  # copies and all, for two classes or values; fewer for more classes, each of which has its trees
FEWEST_COPIES, MOST_COPIES = 4, 256
MOST_ENTRIES = 2**25  # of the copied rows
RECALIBRATION_ROWS = 4_000
VARIANCE_TREES = Boosting(rounds_without_held_out=60, leaves=8)
ROWS_OF_A_VARIANCE = 10  # different ones in a leaf, at least
LEAST_VARIANCE = 0.01  # of the mean one


class TreeJudge:
    """Trees that predict y from any features of a row.

    Parameters
    ----------
    task : "classification" or "regression"
    boosting : rounds, leaves and the like
    wanted_rows : how many rows, copies and all, to learn from
    random_state : seed

    Examples
    --------
    y is decided by x0; shown x1 alone, which says nothing, the judge is right for half of the rows:

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((600, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> judge = TreeJudge("classification", wanted_rows=4000).fit(X[:400], y[:400])
    >>> shown = [np.tile(np.arange(3) == j, (200, 1)) for j in (0, 1)]
    >>> [bool(judge.judge(X[400:], y[400:], mask).score > 80) for mask in shown]
    [True, False]
    """

    def __init__(
        self,
        task: Literal["classification", "regression"],
        boosting: Boosting | None = None,
        wanted_rows: int = WANTED_ROWS,
        random_state: int = 0,
    ) -> None:
        self.task = task
        self.boosting = boosting or Boosting()
        self.wanted_rows = wanted_rows
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> TreeJudge:
        """Learn from training rows: numbers (n, d), categories as codes, NaN where missing; and their target (n,)."""
        rng = np.random.default_rng(self.random_state)
        self.below_ = _below_all(X)
        x = self._present(X)
        target = self._learn_target(np.asarray(y))
        held = _held_out(target, self.task, rng)
        learn = Rows(x[~held], target[~held])
        self.held_ = Rows(x[held], target[held])
        copies = self._copies(len(learn.x), x.shape[1])
        loss: Literal["classes", "values"] = "classes" if self.task == "classification" else "values"
        stop = _hidden_copies(self.held_, min(copies, 8), rng)
        self.trees_ = boosted(
            loss, self._n_classes, _hidden_copies(learn, copies, rng), stop, self.boosting, self.random_state
        )
        if loss == "values":
            self.variance_trees_ = [self._variance_trees(self._half_of_held(half), rng) for half in (0, 1)]
        return self

    def judge(self, X: np.ndarray, y: np.ndarray, masks: np.ndarray) -> Judgement:
        """What the trees say of rows (n, d) that they did not learn from, shown by masks (n, d)."""
        masks = np.asarray(masks, dtype=bool)
        x, target = _hidden(self._present(X), masks), self._encoded(np.asarray(y))
        return (self._of_classes if self.task == "classification" else self._of_values)(x, target, masks)

    def _of_classes(self, x: np.ndarray, target: np.ndarray, masks: np.ndarray) -> Judgement:
        control, copies = self._control(self.held_, masks)
        weight = _weights(x, control, copies)
        return recalibrated_classes(self.trees_(x), target, self.trees_(control.x), control.y, weight, copies)

    def _of_values(self, x: np.ndarray, target: np.ndarray, masks: np.ndarray) -> Judgement:
        """The mean of two: each half of the held-out rows recalibrates the variance that the other taught."""
        mean, judgements = self.trees_(x), []
        for half, variance in enumerate(self.variance_trees_):
            control, copies = self._control(self._half_of_held(1 - half), masks)
            dealt = self.trees_(control.x), variance(control.x), control.y, _weights(x, control, copies)
            judgements.append(recalibrated_values(mean, variance(x), target, *dealt, copies))
        return Judgement(*(float(np.mean(values)) for values in zip(*judgements, strict=True)))

    def _learn_target(self, y: np.ndarray) -> np.ndarray:
        if self.task == "classification":
            self.classes_ = np.unique(y)
        else:
            self.centre_, self.spread_ = float(y.mean()), float(y.std()) or 1.0
        return self._encoded(y)

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """Class codes, or values in the training target's deviations: (n,)."""
        if self.task == "classification":
            return np.searchsorted(self.classes_, y)
        return (y.astype(np.float64) - self.centre_) / self.spread_

    @property
    def _n_classes(self) -> int:
        return len(self.classes_) if self.task == "classification" else 1

    def _copies(self, n: int, d: int) -> int:
        wanted = self.wanted_rows / max(1.0, self._n_classes / 2) ** 0.5
        copies = max(FEWEST_COPIES, wanted / n)
        return int(max(2, min(copies, MOST_COPIES, MOST_ENTRIES / (n * d))))

    def _present(self, X: np.ndarray) -> np.ndarray:
        X = np.asarray(X, dtype=np.float32)
        return np.where(np.isnan(X), self.below_, X)

    def _control(self, rows: Rows, masks: np.ndarray) -> tuple[Rows, int]:
        """Held-out rows, each some times, shown by masks that were chosen for other rows; and how many times."""
        rng = np.random.default_rng(self.random_state + 1)
        copies = -(-RECALIBRATION_ROWS // len(rows.x))
        x, y = (np.repeat(part, copies, axis=0) for part in rows)
        return Rows(_hidden(x, masks[rng.integers(len(masks), size=len(x))]), y), copies

    def _half_of_held(self, half: int) -> Rows:
        return Rows(self.held_.x[half::2], self.held_.y[half::2])

    def _variance_trees(self, half: Rows, rng: np.random.Generator) -> Trees:
        """Trees of the squared residuals of held-out rows: of rows that were learned from they are too small."""
        copies = -(-RECALIBRATION_ROWS // len(half.x))
        rows = _hidden_copies(half, copies, rng)
        squares = (rows.y - self.trees_(rows.x)) ** 2
        least = LEAST_VARIANCE * float(squares.mean()) + 1e-12
        how = VARIANCE_TREES._replace(rows_of_a_leaf=ROWS_OF_A_VARIANCE * copies)
        trees = boosted("variances", 1, Rows(rows.x, np.maximum(squares, least)), None, how, self.random_state)
        return lambda x: np.maximum(trees(x), least)


def _weights(x: np.ndarray, control: Rows, copies: int) -> np.ndarray:
    """Of control rows, each `copies` times, so that the values shown look like those of test rows x."""
    row = np.arange(len(x))
    return odds_of_choice(x, control.x, row, len(x) + np.repeat(np.arange(len(control.x) // copies), copies))


def _below_all(X: np.ndarray) -> np.ndarray:
    """For each column a value below all others, which stands for "missing": float32 (d,)."""
    present = np.where(np.isnan(X), np.inf, X)
    lowest = present.min(axis=0)
    lowest[np.isinf(lowest)] = 0.0
    return (lowest - np.maximum(1.0, np.abs(lowest))).astype(np.float32)


def _held_out(target: np.ndarray, task: str, rng: np.random.Generator) -> np.ndarray:
    """Which rows are held out: a fifth, of each class alike: bool (n,)."""
    order = rng.permutation(len(target))
    if task == "classification":
        order = order[np.argsort(target[order], kind="stable")]
    held = np.zeros(len(target), dtype=bool)
    held[order[1 :: round(1 / HELD_OUT)]] = True
    return held


def _hidden(x: np.ndarray, masks: np.ndarray) -> np.ndarray:
    return np.where(masks, x, np.float32(np.nan))


def _hidden_copies(rows: Rows, copies: int, rng: np.random.Generator) -> Rows:
    """Each row `copies` times: once shown whole, else by random masks."""
    n, d = rows.x.shape
    sizes = few_or_many(n * copies, d, rng)
    sizes[:n] = d
    return Rows(_hidden(np.tile(rows.x, (copies, 1)), random_masks(sizes, d, rng)), np.tile(rows.y, copies))
