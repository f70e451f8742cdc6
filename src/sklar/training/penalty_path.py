"""A path of penalties, and the rule that chooses from it: the sparsest within one standard error of the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

PenaltyPath = dict[str, list[float]]

# In units of the loss, in which hardly anything gains 10. A higher price selects no less, but drowns what other
# features say, or overflows: then everything is selected.
HIGHEST_PRICE = 100.0
LARGEST_PENALTY = 1e30  # that float32 holds, also times a price


class PathChoice(NamedTuple):
    """The chosen member of the path, and the path as a table (a dict of equally long columns)."""

    member: int
    path: PenaltyPath


def penalty_grid(scale: float, n_penalties: int = 8) -> list[float]:
    """Penalties per feature, small to large, relative to what there is to explain (`scale`, a loss)."""
    return [float(value) for value in scale * np.geomspace(3e-4, 1e-1, n_penalties)]


def mean_and_paired_error(row_losses: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Means of the losses (M, n) of M members, and the standard errors of their differences to the best: (M,), (M,)."""
    means = row_losses.mean(axis=1) if weight is None else np.average(row_losses, axis=1, weights=weight)
    best = int(np.argmin(means))
    difference = row_losses - row_losses[best]
    if weight is None:
        return means, difference.std(axis=1) / np.sqrt(row_losses.shape[1])
    centred = difference - (means - means[best])[:, np.newaxis]
    return means, np.sqrt(((weight * centred) ** 2).sum(axis=1)) / weight.sum()  # of a weighted mean


def choose_penalty(
    penalties: list[float], row_losses: np.ndarray, mean_features: np.ndarray, weight: np.ndarray | None = None
) -> PathChoice:
    """The sparsest member whose held-out loss is within one standard error of the best.

    Parameters
    ----------
    penalties : P penalties
    row_losses : (P, n) held-out task losses, row by row (without the penalty)
    mean_features : (P,) mean number of features selected per row
    weight : (n,) what each row counts; None is 1

    The standard error is that of the *paired* difference to the best member: rows differ far more in how hard
    they are than members do in how well they predict, and an unpaired error would hide weak features.
    """
    means, error = mean_and_paired_error(row_losses, weight)
    eligible = means - means.min() <= error
    # of equally sparse members, the one with the largest penalty
    member = max(np.flatnonzero(eligible), key=lambda g: (-mean_features[g], penalties[g]))
    path: PenaltyPath = {
        "penalty": [float(value) for value in penalties],
        "loss": means.tolist(),
        "error": error.tolist(),
        "mean_features": [float(value) for value in mean_features],
    }
    return PathChoice(int(member), path)
