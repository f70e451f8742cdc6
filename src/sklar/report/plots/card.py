"""One row's card: its features, which way and how much each moved the prediction, and what was predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sklar.effects import show_effect
from sklar.explain import Explanation, Feature
from sklar.report.plots.style import ACCENT, INK, MUTED, axes_or_new, quiet, short, title
from sklar.table.cells import show_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_card(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """Draw one row's explanation: a bar a selected feature, to the right if it raises what is predicted.

    A bar is what hiding the feature would take; it is hatched where the choice of the feature is unsure. Features that
    were nearly selected have a name and no bar.

    Parameters
    ----------
    explanation : what `selector.explain(row)` returns
    ax : where to draw; None makes a figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> features = (Feature("age", 41, selected=True, probability=0.97, effect=0.2),)
    >>> ax = plot_card(Explanation("yes", 0.9, features, (), 7, ranked=False, n_models=1))
    >>> ax.get_title("left")
    'predicted yes (90 %) from 1 of 7 features'
    """
    features = (*explanation.selected, *explanation.nearly)
    ax = axes_or_new(ax, 6.5, 1.4 + 0.34 * max(2, len(features)))
    sizes = np.array([_size(feature) for feature in features])
    largest = float(np.abs(sizes).max(initial=0)) or 1.0
    for place, (feature, size) in enumerate(zip(features, sizes, strict=True)):
        hatch = None if feature.sure else "////"
        colour = INK if size >= 0 else ACCENT
        ax.barh(place, size, color=colour, edgecolor="white", hatch=hatch, height=0.72)
        said = show_effect(feature.effect, explanation.kind) if feature.effect is not None else "not selected"
        ax.text(max(0.0, size), place, f"  {said}", va="center", fontsize=9, color=MUTED)
    ax.axvline(0, color=MUTED, linewidth=1)
    names = [f"{short(feature.name)} = {short(show_value(feature.value), 12)}" for feature in features]
    ax.set_yticks(range(len(features)), labels=names)
    ax.set_ylim(max(2, len(features)) - 0.5, -0.6)
    ax.set_xlim(min(0.0, float(sizes.min(initial=0))) - 0.05 * largest, 1.45 * largest)
    of = "the probability" if explanation.kind in ("classes", "labels") else "the prediction"
    ax.set_xlabel(f"what hiding it would take from {of}   (hatched: unsure choice)")
    title(ax, _headline(explanation))
    quiet(ax)
    return ax


def _size(feature: Feature) -> float:
    """The effect; of several targets the largest."""
    several = np.atleast_1d(feature.effect if feature.effect is not None else 0.0)
    return float(several[np.abs(several).argmax()])


def _headline(explanation: Explanation) -> str:
    said = short(show_value(explanation.prediction), 30)
    if explanation.probability is not None:
        said += f" ({100 * explanation.probability:.0f} %)"
    return f"predicted {said} from {len(explanation.selected)} of {explanation.n_features} features"
