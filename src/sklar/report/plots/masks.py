"""Masks of many rows: as a map, and as frequencies by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklar.report.ordering import cluster_order
from sklar.report.plots.style import COLOURS, INK, MARKS, PAPER, axes_or_new, quiet, short, table_and_names, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_masks(
    masks: Any,
    names: Sequence[str] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
    *,
    y: Any = None,
    sort: bool = True,
) -> Axes:
    """Draw masks as a map: a row of the table is a row of the picture, dark where a feature is selected.

    Parameters
    ----------
    masks : bool (n, d), an array or the frame that `select` returns
    names : the d features; by default the frame's
    ax : where to draw; None makes a figure
    title : a line above
    y : (n,), a class of each row: rows of a class stand together
    sort : like masks stand together (by clustering); False draws the rows as they come

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = plot_masks(np.eye(3, dtype=bool), ["a", "b", "c"])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['a', 'b', 'c']
    """
    values, names = table_and_names(masks, names)
    values = values.astype(bool)
    ax = axes_or_new(ax, min(14.0, max(3.5, 0.4 * len(names))), 4.5)
    order = np.arange(len(values))
    if sort:
        order = cluster_order(values)
    ax.set_yticks([])
    if y is not None:
        order = _by_class(ax, np.asarray(y), order)
    _draw(ax, values[order], names)
    if title:
        ax.set_title(title, fontsize=11)
    return ax


def _draw(ax: Axes, values: np.ndarray, names: list[str]) -> None:
    from matplotlib.colors import ListedColormap

    ax.imshow(values, aspect="auto", cmap=ListedColormap([PAPER, INK]), vmin=0, vmax=1, interpolation="nearest")
    upright = len(names) > 15 or max(map(len, names), default=0) > 4
    ax.set_xticks(range(len(names)), labels=[short(name) for name in names], rotation=90 if upright else 0, fontsize=9)
    ax.set_ylabel(f"{len(values):,} rows")
    ax.set_xticks(np.arange(-0.5, len(names)), minor=True)
    ax.grid(which="minor", axis="x", color="white", linewidth=1)
    ax.tick_params(which="minor", length=0)


def _by_class(ax: Axes, y: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Rows class by class, in the given order within; labels and borders on the axis."""
    if len(y) != len(order):
        raise ValueError(f"y must have one class for each of {len(order)} rows; got {len(y)}")
    labels, codes = np.unique(y, return_inverse=True)
    order = order[np.argsort(codes[order], kind="stable")]
    ends = np.cumsum(np.bincount(codes))
    ax.set_yticks((np.r_[0, ends[:-1]] + ends) / 2 - 0.5, labels=[short(str(label)) for label in labels])
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color="#d55e00", linewidth=1.5)
    return order


def plot_frequency(
    masks: Any, y: Any = None, names: Sequence[str] | None = None, ax: Axes | None = None, *, most: int = 20
) -> Axes:
    """Draw how often each feature is selected, class by class; the most selected feature stands on top.

    Parameters
    ----------
    masks : bool (n, d), an array or the frame that `select` returns
    y : (n,), a class of each row; None takes all rows together
    names : the d features; by default the frame's
    ax : where to draw; None makes a figure
    most : features to draw, at most

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> ax = plot_frequency([[1, 0], [1, 1], [1, 0]], ["no", "yes", "no"], ["a", "b"])
    >>> ax.get_legend_handles_labels()[1]
    ['no', 'yes']
    """
    values, names = table_and_names(masks, names)
    values = values.astype(bool)
    labels, codes = np.unique(np.zeros(len(values)) if y is None else np.asarray(y), return_inverse=True)
    if len(codes) != len(values):
        raise ValueError(f"y must have one class for each of {len(values)} rows; got {len(codes)}")
    if len(labels) > len(MARKS):
        raise ValueError(f"at most {len(MARKS)} classes can be told apart in one picture; y has {len(labels)} values")
    shown = np.argsort(-values.mean(axis=0), kind="stable")[:most]
    shown = shown[values[:, shown].any(axis=0)]
    shares = np.stack([100 * values[codes == c][:, shown].mean(axis=0) for c in range(len(labels))])  # (classes, shown)
    ax = axes_or_new(ax, 6.5, 1.3 + 0.28 * max(3, len(shown)))
    places = np.arange(len(shown))
    ax.hlines(places, shares.min(axis=0), shares.max(axis=0), color="#c3c9ce", linewidth=2, zorder=1)
    for c, label in enumerate(labels):
        ax.scatter(
            shares[c],
            places,
            s=46,
            marker=MARKS[c],
            color=COLOURS[c],
            edgecolor="white",
            linewidth=0.6,
            label=str(label),
        )
    ax.set_yticks(places, labels=[short(names[j]) for j in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(-3, 103)
    ax.set_xlabel("rows in which it is selected, %")
    ax.grid(axis="x", color="#e3e6e8", linewidth=0.8)
    ax.set_axisbelow(True)
    if y is not None:
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    left = int(values.any(axis=0).sum()) - len(shown)
    title(ax, f"{len(shown)} features" + (f" ({left} more are selected less often)" if left else ""))
    quiet(ax)
    return ax
