"""Pictures of selections, drawn with matplotlib; each returns the Axes it drew on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, PAPER = "#1b3a4b", "#f2efe9"  # dark on light: readable in grey


def plot_masks(masks: np.ndarray, names: Sequence[str], ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw masks as a map: a row of the table is a row of the picture, dark where a feature is selected.

    Parameters
    ----------
    masks : bool (n, d), in the order to draw the rows
    names : the d features
    ax : where to draw; None makes a figure
    title : a line above

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = plot_masks(np.eye(3, dtype=bool), ["a", "b", "c"])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['a', 'b', 'c']
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    if ax is None:
        _, ax = plt.subplots(figsize=(max(3.0, 0.4 * masks.shape[1]), 4.5), layout="constrained")
    ax.imshow(masks, aspect="auto", cmap=ListedColormap([PAPER, INK]), vmin=0, vmax=1, interpolation="nearest")
    ax.set_xticks(range(len(names)), labels=list(names), rotation=90 if len(names) > 15 else 0, fontsize=9)
    ax.set_ylabel("rows")
    ax.set_yticks([])
    ax.set_xticks(np.arange(-0.5, len(names)), minor=True)
    ax.grid(which="minor", axis="x", color="white", linewidth=1)
    ax.tick_params(which="minor", length=0)
    if title:
        ax.set_title(title, fontsize=11)
    return ax
