"""The path of penalties, and the one that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.report.plots.style import ACCENT, INK, MUTED, axes_or_new, quiet, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_path(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw the held-out loss along the path of penalties, with the features per row of each and the one chosen.

    Parameters
    ----------
    estimator : a selector that was fitted with `penalty="auto"`
    ax : where to draw; None makes a figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from types import SimpleNamespace
    >>> path = {"penalty": [0.01, 0.1], "loss": [0.5, 0.6], "error": [0, 0.02], "mean_features": [4.0, 1.5]}
    >>> plot_path(SimpleNamespace(path_=path, penalty_=0.01)).get_xscale()
    'log'
    """
    path = estimator.path_
    if not path:
        raise ValueError("there is no path: the penalty was given, or too few rows were kept aside to choose one")
    penalties, losses, errors, sizes = (np.array(path[key]) for key in ("penalty", "loss", "error", "mean_features"))
    chosen = int(np.argmin(np.abs(np.log(penalties / estimator.penalty_))))
    ax = axes_or_new(ax, 6, 3.8)
    ax.errorbar(penalties, losses, errors, color=INK, marker="o", markersize=5, linewidth=1.5, capsize=3, zorder=2)
    ax.plot(
        penalties[chosen], losses[chosen], "o", markersize=13, markerfacecolor="none", color=ACCENT, markeredgewidth=2
    )
    for penalty, loss, error, size in zip(penalties, losses, errors, sizes, strict=True):
        ax.annotate(
            f"{size:.1f}",
            (penalty, loss + error),
            (0, 11),
            textcoords="offset points",
            ha="center",
            color=MUTED,
            fontsize=9,
        )
    ax.set_xscale("log")
    ax.set_xticks(penalties, labels=[f"{penalty:.2g}" for penalty in penalties])
    ax.minorticks_off()
    ax.margins(x=0.08, y=0.2)
    ax.set_xlabel("penalty (price of a feature)")
    ax.set_ylabel("held-out loss")
    title(ax, f"chosen: {estimator.penalty_:.2g} (ringed); numbers are features per row")
    quiet(ax)
    return ax
