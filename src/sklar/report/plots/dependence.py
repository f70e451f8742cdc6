"""The learned correlation of the gates as a map, reordered so that groups stand together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.explain import LINKED
from sklar.report.ordering import linked_order, strongest
from sklar.report.plots.style import axes_or_new, short, table_and_names, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Cells are written out up to this many features.
MOST_WRITTEN = 14
MINUS = "\N{MINUS SIGN}"


def plot_correlation(
    correlation: Any, names: Sequence[str] | None = None, ax: Axes | None = None, *, most: int = 40
) -> Axes:
    """Draw the correlation R of the gates: below 0 features exclude each other, above 0 they work together.

    Colour says sign and strength; numbers (few features) or the signs + and - (many) say it again for grey printers.

    Parameters
    ----------
    correlation : (d, d), an array or the frame that `correlation` returns
    names : the d features; by default the frame's
    ax : where to draw; None makes a figure
    most : features to draw, at most: those with the strongest links

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> R = np.array([[1, 0, -0.9], [0, 1, 0], [-0.9, 0, 1]])
    >>> ax = plot_correlation(R, ["a", "b", "copy of a"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'copy of a', 'a']
    """
    values, names = table_and_names(correlation, names)
    if values.shape[0] != values.shape[1]:
        raise ValueError(f"a correlation has as many rows as columns; got shape {values.shape}")
    shown = strongest(values, most)
    shown = shown[linked_order(values[np.ix_(shown, shown)])]
    inside = values[np.ix_(shown, shown)]
    side = 0.36 * len(shown) if len(shown) <= MOST_WRITTEN else 0.2 * len(shown)
    ax = axes_or_new(ax, 4.2 + side, 1.5 + side)
    apart = np.where(np.eye(len(inside), dtype=bool), np.nan, inside)  # the diagonal says nothing
    image = ax.imshow(apart, cmap="PuOr", vmin=-1, vmax=1)
    ax.set_facecolor("#d9dde0")
    _write(ax, inside)
    labels = [short(names[j]) for j in shown]
    ax.set_xticks(range(len(shown)), labels=labels, rotation=90, fontsize=9)
    ax.set_yticks(range(len(shown)), labels=labels, fontsize=9)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, ticks=[-1, 0, 1])
    bar.ax.set_yticklabels([f"apart {MINUS}1", "0", "together +1"], fontsize=9)
    bar.outline.set_visible(False)
    if len(shown) < len(names):
        title(ax, f"the {len(shown)} of {len(names)} features with the strongest links")
    return ax


def _write(ax: Axes, values: np.ndarray) -> None:
    """The numbers, or the signs of strong links."""
    few = len(values) <= MOST_WRITTEN
    for i, j in zip(*np.nonzero(np.abs(values) >= (0.05 if few else LINKED)), strict=True):
        if i == j:
            continue
        sign = MINUS if values[i, j] < 0 else "+"
        text = f"{sign}{abs(values[i, j]):.1f}".replace("0.", ".") if few else sign
        colour = "white" if abs(values[i, j]) > 0.6 else "black"
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=8 if few else 7)
