"""One row's card: its features, how sure each is, and what was predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklar.explain import SURE, Explanation
from sklar.report.plots.style import INK, MUTED, PAPER, axes_or_new, quiet, short, title
from sklar.table.cells import show_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_card(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """Draw one row's explanation: a bar a feature, dark if it was selected, hatched where the choice is unsure.

    Parameters
    ----------
    explanation : what `selector.explain(row)` returns
    ax : where to draw; None makes a figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklar.explain import Feature
    >>> features = (Feature("age", 41, selected=True, probability=0.97),)
    >>> ax = plot_card(Explanation("yes", 0.9, features, (), 7, ranked=False, n_models=1))
    >>> ax.get_title("left")
    'predicted yes (90 %) from 1 of 7 features'
    """
    features = (*explanation.selected, *explanation.nearly)
    ax = axes_or_new(ax, 6.5, 1.4 + 0.34 * max(2, len(features)))
    for place, feature in enumerate(features):
        share = feature.probability if feature.frequency is None else feature.frequency
        ax.barh(
            place,
            100 * share,
            color=INK if feature.selected else PAPER,
            edgecolor="white" if feature.selected else INK,
            hatch=None if feature.sure else "////",
            height=0.72,
        )
        text = f" {100 * share:.0f}" + ("" if feature.selected else "  not selected")
        ax.text(100 * share, place, text, va="center", fontsize=9, color=MUTED)
    ax.axvline(100 * SURE, color=MUTED, linewidth=1, linestyle=":")
    names = [f"{short(feature.name)} = {short(show_value(feature.value), 12)}" for feature in features]
    ax.set_yticks(range(len(features)), labels=names)
    ax.set_ylim(max(2, len(features)) - 0.5, -0.6)
    ax.set_xlim(0, 112)
    ax.set_xticks([0, 25, 50, 75, 100])
    what = "P(selected)" if explanation.n_models == 1 else f"share of {explanation.n_models} models"
    ax.set_xlabel(f"{what}, %   (sure from {100 * SURE:.0f}; hatched: unsure)")
    title(ax, _headline(explanation))
    quiet(ax)
    return ax


def _headline(explanation: Explanation) -> str:
    said = short(show_value(explanation.prediction), 30)
    if explanation.probability is not None:
        said += f" ({100 * explanation.probability:.0f} %)"
    return f"predicted {said} from {len(explanation.selected)} of {explanation.n_features} features"
