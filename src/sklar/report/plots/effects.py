"""Feature value against effect, for many rows: a strip a feature, as a beeswarm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.report.plots.style import MUTED, axes_or_new, quiet, short, table_and_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRIP = 0.35  # half the height of a strip


def plot_effects(
    effects: Any, X: Any = None, names: Sequence[str] | None = None, most: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw the effects of the features of many rows, those with the largest first: a dot a row that selects one.

    Parameters
    ----------
    effects : (n, d), what `selector.effects(X)` returns
    X : the rows (n, d), whose numbers colour the dots from low to high; None, and columns of text, leave them grey
    names : of the columns; None takes the table's own
    most : features to draw
    ax : where to draw; None makes a figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = plot_effects([[0.5, 0.0], [-0.2, 0.1]], names=["age", "income"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age', 'income']
    """
    values, names = table_and_names(effects, names)
    totals = np.abs(values).sum(axis=0)
    shown = [j for j in np.argsort(-totals, kind="stable")[:most] if totals[j] > 0]
    ax = axes_or_new(ax, 6.5, 1.2 + 0.42 * max(1, len(shown)))
    for place, j in enumerate(shown):
        rows = np.flatnonzero(values[:, j])
        jitter = STRIP * (2 * ((np.arange(len(rows)) * 0.618034) % 1) - 1)
        ranks = _ranks(X, j, rows)
        colour = {"color": MUTED} if ranks is None else {"c": ranks, "cmap": "plasma", "vmin": 0, "vmax": 1}
        ax.scatter(values[rows, j], place + jitter, s=8, alpha=0.8, linewidths=0, **colour)
    ax.axvline(0, color=MUTED, linewidth=1, zorder=0)
    ax.set_yticks(range(len(shown)), labels=[short(names[j]) for j in shown])
    ax.set_ylim(max(1, len(shown)) - 0.4, -0.6)
    ax.set_xlabel("effect: what hiding the feature would take" + ("" if X is None else "   (dark: low values)"))
    quiet(ax)
    return ax


def _ranks(X: Any, j: int, rows: np.ndarray) -> np.ndarray | None:
    """The places of the values of a column of numbers among these rows, from 0 to 1; None where they are none."""
    if X is None:
        return None
    column = np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else np.asarray(X)[:, j])[rows]
    if not np.issubdtype(column.dtype, np.number):
        return None
    return column.argsort(kind="stable").argsort(kind="stable") / max(1, len(column) - 1)
