"""A path of penalties as a table, and the rule that chooses from it: the sparsest within one error of the best."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

PenaltyPath = dict[str, list[float]]

# In units of the loss, in which hardly anything gains 10. A higher price selects no less, but drowns what other
# features say, or overflows: then everything is selected.
HIGHEST_PRICE = 100.0
LARGEST_PENALTY = 1e30  # that float32 holds, also times a price


class PathChoice(NamedTuple):
    """The chosen member of those to choose from, its penalty, and the path as a table (equally long columns)."""

    member: int
    penalty: float
    path: PenaltyPath

    def in_units(self, penalties: list[float]) -> PathChoice:
        """The same choice from a path of other penalties."""
        return PathChoice(self.member, penalties[self.member], {**self.path, "penalty": penalties})

    def records(self) -> list[dict[str, Any]]:
        """The rows of the table, for the history of a fit, the chosen one marked.

        Examples
        --------
        >>> PathChoice(0, 0.01, {"penalty": [0.01, 0.1], "loss": [0.5, 0.6]}).records()[0]
        {'part': 'penalty', 'penalty': 0.01, 'loss': 0.5, 'chosen': True}
        """
        rows = (dict(zip(self.path, row, strict=True)) for row in zip(*self.path.values(), strict=True))
        return [{"part": "penalty", **row, "chosen": i == self.member} for i, row in enumerate(rows)]


class PathRows(NamedTuple):
    """What rows say of P members of a path."""

    penalties: list[float]
    row_losses: np.ndarray  # task losses, row by row, without the penalty: (P, n)
    mean_features: np.ndarray  # selected per row: (P,)
    weight: np.ndarray | None = None  # what each row counts, (n,); None is 1
    row_scores: np.ndarray | None = None  # (P, n), where there is a score


def penalty_grid(scale: float, n_penalties: int = 8) -> list[float]:
    """Penalties per feature, small to large, relative to what there is to explain (`scale`, a loss)."""
    return [float(value) for value in scale * np.geomspace(3e-4, 1e-1, n_penalties)]


def mean_and_paired_error(
    row_losses: np.ndarray, weight: np.ndarray | None = None, to: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Means of the losses (M, n) of M members, and the standard errors of their differences to one: (M,), (M,).

    That is the best one unless another is named: `to`.
    """
    means = row_losses.mean(axis=1) if weight is None else np.average(row_losses, axis=1, weights=weight)
    other = int(np.argmin(means)) if to is None else to
    difference = row_losses - row_losses[other]
    if weight is None:
        return means, difference.std(axis=1) / np.sqrt(row_losses.shape[1])
    centred = difference - (means - means[other])[:, np.newaxis]
    return means, np.sqrt(((weight * centred) ** 2).sum(axis=1)) / weight.sum()  # of a weighted mean


def choose_penalty(
    penalties: list[float],
    row_losses: np.ndarray,
    mean_features: np.ndarray,
    weight: np.ndarray | None = None,
    row_scores: np.ndarray | None = None,
) -> PathChoice:
    """The sparsest member whose held-out loss is within one standard error of the best; see `PathRows`.

    The standard error is that of the *paired* difference to the best member: rows differ far more in how hard
    they are than members do in how well they predict, and an unpaired error would hide weak features.
    """
    means, error = mean_and_paired_error(row_losses, weight)
    eligible = means - means.min() <= error
    # of equally sparse members, the one with the largest penalty
    member = int(max(np.flatnonzero(eligible), key=lambda g: (-mean_features[g], penalties[g])))
    path = path_table(penalties, row_losses, mean_features, weight, row_scores)
    return PathChoice(member, float(penalties[member]), path)


def path_table(
    penalties: list[float],
    row_losses: np.ndarray,
    mean_features: np.ndarray,
    weight: np.ndarray | None = None,
    row_scores: np.ndarray | None = None,
) -> PenaltyPath:
    """Columns `penalty`, `mean_features`, `loss`, `error`; `score`, `score_error` where rows have scores.

    `error` is of the loss's difference to the best; `score_error` of the score itself.
    """
    means, error = mean_and_paired_error(row_losses, weight)
    path: PenaltyPath = {
        "penalty": [float(value) for value in penalties],
        "mean_features": [float(value) for value in mean_features],
        "loss": means.tolist(),
        "error": error.tolist(),
    }
    if row_scores is None:
        return path
    share = np.full(row_scores.shape[1], 1 / row_scores.shape[1]) if weight is None else weight / weight.sum()
    scores = row_scores @ share
    errors = np.sqrt((((row_scores - scores[:, np.newaxis]) * share) ** 2).sum(axis=1))
    return path | {"score": scores.tolist(), "score_error": errors.tolist()}
