"""Boosted trees of one's own, for `predictor="trees"` and "auto": cross-fitted, as the networks' predictors are.

One model a fold learns from the rows of the others; the rows of its own fold say after how many rounds to stop, and
whether trees or networks predict better. All of them together are one ensemble: the mean of what the trees sum up to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from sklar.predictor.answers import UserPredictor, said
from sklar.predictor.conversion import TreeModel, as_trees
from sklar.predictor.lesson import Lesson, taught_rows
from sklar.predictor.masks import teaching_masks
from sklar.predictor.trees import together

WANTED_ROWS = 25_000  # of each fold's model, copies and all; fewer for more classes, each of which has its trees
ROUNDS_AT_ONCE, MOST_ROUNDS = 25, 200  # fewer at once for more classes
FEWEST_AT_ONCE = 10
# `warm_start` makes more trees of a model that has some. No early stopping: the rows that it would hold out are copies
# of rows that it learns from.
SETTINGS: dict[str, Any] = {"learning_rate": 0.2, "max_leaf_nodes": 63, "early_stopping": False, "warm_start": True}


class Judged(NamedTuple):
    """Rows that say how good trees are."""

    rows: np.ndarray  # their numbers, (m,)
    masks: np.ndarray  # that show them, selected for other rows, (m, d)


@dataclass(frozen=True)
class CrossFitted:
    """Trees of all folds, and what they say of judged rows that they did not learn from."""

    predictor: UserPredictor
    outputs: np.ndarray  # (m, out)


def cross_fitted_trees(
    lesson: Lesson, masks: np.ndarray, judged: Judged, folds: np.ndarray, rng: np.random.Generator
) -> CrossFitted:
    """Trees that learn from rows whose fold (n,) is given, by masks (k, d) that are dealt to them."""
    parts = [_one_output(lesson, output, masks, judged, folds, rng) for output in range(lesson.n_models)]
    models = tuple(model for model, _ in parts)
    predictor = UserPredictor(lesson.inputs, lesson.kind, models, "boosted trees")
    return CrossFitted(predictor, np.column_stack([outputs for _, outputs in parts]))


def tried_trees(
    lesson: Lesson, masks: np.ndarray, judged: Judged, folds: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The first fold's trees alone: which of the judged rows are of that fold, and what they say of these.

    They say whether those of all folds are worth their time.
    """
    mine = np.flatnonzero(folds[judged.rows] == 0)
    part = Judged(judged.rows[mine], judged.masks[mine])
    found = []
    for output in range(lesson.n_models):
        trees = FoldTrees(lesson, output, part)
        trees.take(lesson.with_all_classes(folds != 0, output), masks, rng)
        found.append(said(trees.stopped(_best_round([trees])), trees.shown, lesson.kind))
    return mine, np.column_stack(found)


def _one_output(
    lesson: Lesson, output: int, masks: np.ndarray, judged: Judged, folds: np.ndarray, rng: np.random.Generator
) -> tuple[TreeModel, np.ndarray]:
    """The trees of one output, or of all classes, and what they say of judged rows of their own folds."""
    parts, own = [], [np.flatnonzero(folds[judged.rows] == fold) for fold in range(int(folds.max()) + 1)]
    for fold, mine in enumerate(own):
        rows = lesson.with_all_classes(folds != fold, output)
        part = FoldTrees(lesson, output, Judged(judged.rows[mine], judged.masks[mine]))
        part.take(rows, masks, rng)
        parts.append(part)
    best = _best_round(parts)
    stopped = [part.stopped(best) for part in parts]
    outputs = [said(model, part.shown, lesson.kind) for model, part in zip(stopped, parts, strict=True)]
    trees = TreeModel(together([model.trees for model in stopped]), stopped[0].link)
    return trees, np.concatenate(outputs)[np.argsort(np.concatenate(own))]


def _best_round(parts: list[FoldTrees]) -> int:
    """After how many rounds the rows of each fold are predicted best by its own trees: at most as many as needed."""
    step = max(FEWEST_AT_ONCE, round(ROUNDS_AT_ONCE / parts[0].size ** 0.5))
    rounds = step
    losses = _losses_together(parts, rounds)
    while rounds < MOST_ROUNDS and int(np.argmin(losses)) >= rounds - step:  # the last ones still helped
        rounds += step
        losses = _losses_together(parts, rounds)
    return int(np.argmin(losses)) + 1


def _losses_together(parts: list[FoldTrees], rounds: int) -> np.ndarray:
    """What the rows of all folds lose after each of so many rounds, one fold a thread: (rounds,)."""
    run = Parallel(n_jobs=min(len(parts), cpu_count()), backend="threading")
    return np.sum(run(delayed(part.losses)(rounds) for part in parts), axis=0)


class FoldTrees:
    """Trees that learn from rows of other folds, and are judged by those of their own."""

    def __init__(self, lesson: Lesson, output: int, judged: Judged) -> None:
        self.lesson, self.output = lesson, output
        self.shown = lesson.inputs.hidden(lesson.values[judged.rows], judged.masks)
        self.judged = lesson.target(judged.rows, output)
        self.size = max(1.0, lesson.n_classes / 2)  # trees of a round, in those of two classes

    def take(self, rows: np.ndarray, masks: np.ndarray, rng: np.random.Generator) -> None:
        """Take the rows to learn from, each some times, shown by masks that are dealt to them."""
        rows = taught_rows(rows, self.lesson, int(WANTED_ROWS / self.size), rng)
        self.x = self.lesson.inputs.hidden(self.lesson.values[rows], teaching_masks(masks, len(rows), rng))
        self.y, self.weights = self.lesson.target(rows, self.output), self.lesson.weights(rows)
        self.model = boosted_trees(self.lesson.kind, int(rng.integers(2**31)))

    def losses(self, rounds: int) -> np.ndarray:
        """What the judged rows lose together after each of so many rounds: (rounds,)."""
        classifies = self.lesson.kind in ("classes", "labels")
        # One thread: these trees are small, and on busy cores their threads mostly wait for each other.
        with threadpool_limits(1, user_api="openmp"):
            self.model.set_params(max_iter=rounds).fit(self.x, self.y, **self.weights)
            staged = (self.model.staged_predict_proba if classifies else self.model.staged_predict)(self.shown)
            return np.array([_loss(answer, self.judged, self.lesson.kind) for answer in staged])

    def stopped(self, rounds: int) -> TreeModel:
        """The trees of the first rounds."""
        found = as_trees(self.model, self.x)
        assert found is not None
        return TreeModel(found.trees.first(rounds), found.link)


def boosted_trees(kind: str, seed: int) -> Any:
    """Trees for a kind of target.

    Examples
    --------
    >>> type(boosted_trees("values", 0)).__name__
    'HistGradientBoostingRegressor'
    """
    settings = {**SETTINGS, "random_state": seed}
    if kind in ("classes", "labels"):
        return HistGradientBoostingClassifier(**settings)
    return HistGradientBoostingRegressor(loss="poisson" if kind == "counts" else "squared_error", **settings)


def _loss(answer: np.ndarray, y: np.ndarray, kind: str) -> float:
    """The cross-entropy, Poisson's or squared error of what is predicted, summed over rows."""
    if kind in ("classes", "labels"):
        return float(-np.log(np.maximum(answer[np.arange(len(y)), y], 1e-12)).sum())
    return float((answer - y * np.log(answer)).sum() if kind == "counts" else ((answer - y) ** 2).sum())
