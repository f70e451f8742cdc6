"""What every price, or k, gives: the score against features per row, and the one that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.fitted import FittedModel
from sklar.report.plots.style import ACCENT, INK, MUTED, axes_or_new, quiet, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL_WIDTH = 0.08  # of a number, as a share of the picture's width


def plot_path(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw the held-out score against features per row along the path of penalties, and a ring for the one chosen.

    The curve is of what answers at other penalties. The ring is the fit's own: what it gave the same held-out rows when
    they chose its penalty. The dashed line is how many features it gives rows now, having learned on from all rows.
    Where the target has no score (counts, times, labels), or the path none, it is the held-out loss. Numbers are the
    penalties. A ranker's are losses of the rows of `fit` judged out of fold, against k.

    Parameters
    ----------
    estimator : a selector that was fitted with `penalty="auto"`, or a ranker; or its `fitted_`
    ax : where to draw; None makes a figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from types import SimpleNamespace
    >>> path = {"penalty": [0.01, 0.1], "mean_features": [4.0, 1.5], "loss": [0.5, 0.6], "error": [0, 0.02]}
    >>> plot_path(SimpleNamespace(path_=path, penalty_=0.01)).get_xlabel()
    'features per row'
    """
    fitted = estimator if isinstance(estimator, FittedModel) else getattr(estimator, "fitted_", None)
    path, penalty = (estimator.path_, estimator.penalty_) if fitted is None else (fitted.path, fitted.penalty)
    if "loss" not in path:
        raise ValueError("there is no path: the penalty was given, or no rows were held out to choose it")
    ax = axes_or_new(ax, 6, 3.8)
    score = "score" if fitted is None else "accuracy" if fitted.target.is_classified else "R²"
    sizes, values, errors, name = _curve(path, score)
    labels = [f"{value:g}" for value in sizes] if "k" in path else [f"{value:.2g}" for value in path["penalty"]]
    order = np.argsort(sizes, kind="stable")
    ax.plot(sizes[order], values[order], color=INK, linewidth=1.5, zorder=1)
    ax.errorbar(sizes, values, errors, fmt="o", color=INK, markersize=5, capsize=3, zorder=2)
    chosen = len(sizes) - 1 if "k" in path else int(np.argmin(np.abs(np.log(np.array(path["penalty"]) / penalty))))
    for i in _apart(sizes, chosen):
        place = (sizes[i], values[i] + errors[i])
        ax.annotate(labels[i], place, (0, 7), textcoords="offset points", ha="center", color=MUTED, fontsize=8)
    own = None if fitted is None else _own_point(fitted.history, "score" if "score" in path else "loss")
    told = f"chosen penalty {penalty:.2g} (ringed); numbers are penalties"
    if fitted is not None and own is not None:
        ax.plot(*own, "o", color=ACCENT, markersize=5)
        ax.axvline(_features_now(fitted.history), color=ACCENT, linewidth=1, linestyle="--", zorder=0)
        told += "\ndashed: features per row of the fit as it is now"
    ringed = (sizes[chosen], values[chosen]) if own is None else own
    ax.plot(*ringed, "o", markersize=13, markerfacecolor="none", color=ACCENT, markeredgewidth=2)
    ax.margins(x=0.08, y=0.2)
    ax.set_xlabel("features per row")
    ax.set_ylabel(name)
    title(ax, "fitted k ringed" if "k" in path else told)
    quiet(ax)
    return ax


def _own_point(history: list[dict[str, Any]], what: str) -> tuple[float, float] | None:
    """Features per row, and what is drawn against them, where each model's penalty was chosen: the means.

    None where that was not measured.
    """
    own = [one for one in history if one.get("part") == "penalty" and one.get("chosen") and what in one]
    if not own:
        return None
    size, value = (float(np.mean([one[key] for one in own])) for key in ("mean_features", what))
    return size, value


def _features_now(history: list[dict[str, Any]]) -> float:
    """Features per row of the fit as it ended, of several models the mean."""
    return float(np.mean([one["mean_features"] for one in history if one.get("part") == "final"]))


def _apart(sizes: np.ndarray, first: int) -> list[int]:
    """Points whose labels do not overlap: the first one, and others in order that are far enough from those before."""
    least, labelled = LABEL_WIDTH * float(np.ptp(sizes)), [first]
    for i in range(len(sizes)):
        if all(abs(sizes[i] - sizes[j]) > least for j in labelled):
            labelled.append(i)
    return sorted(labelled)


def _curve(path: dict[str, list[float]], score: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Features per row, what is drawn against them with its errors, and its name."""
    if "k" in path:
        best = np.minimum(path["loss"], path["prefix_loss"])
        return np.array(path["k"], dtype=float), best, np.zeros(len(best)), "loss, out of fold"
    sizes = np.array(path["mean_features"])
    if "score" in path:
        return sizes, np.array(path["score"]), np.array(path["score_error"]), f"held-out {score}"
    return sizes, np.array(path["loss"]), np.array(path["error"]), "held-out loss"
