"""What all pictures share: colours, a place to draw, names for columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.table.adapter import adapt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, PAPER = "#1b3a4b", "#f2efe9"  # dark on light: readable in grey
MUTED = "#6b7780"
ACCENT = "#d55e00"
# Okabe and Ito's colours, dark and light in turn, each with a mark of its own.
COLOURS = ("#0072b2", "#e69f00", "#000000", "#cc79a7", "#009e73", "#56b4e9", "#d55e00", "#8c8c8c")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """The Axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "sklar[plot]"') from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def table_and_names(table: Any, names: Sequence[str] | None) -> tuple[np.ndarray, list[str]]:
    """Any table (n, d) as an array, and its d names: those given, its own, or x0, x1, ..."""
    given = adapt(table)
    values = given.dense()
    if values.ndim != 2:
        raise ValueError(f"expected a table with rows and columns; got shape {values.shape}")
    if names is None:
        names = given.names
    names = [f"x{j}" for j in range(values.shape[1])] if names is None else [str(name) for name in names]
    if len(names) != values.shape[1]:
        raise ValueError(f"{values.shape[1]} columns need as many names; got {len(names)}")
    return values, names


def short(name: str, most: int = 18) -> str:
    """A name that fits beside a picture."""
    return name if len(name) <= most else name[: most - 1] + "…"


def title(ax: Axes, text: str | None) -> None:
    """A line above, on the left."""
    if text:
        ax.set_title(text, fontsize=11, loc="left")


def quiet(ax: Axes) -> None:
    """No frame where it says nothing."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
