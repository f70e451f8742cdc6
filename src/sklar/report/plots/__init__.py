"""Pictures of selections, drawn with matplotlib (extra `[plot]`); each function returns the Axes it drew on.

Dark means selected or strong, marks and hatches repeat what colour says, and the colours are those that colour-blind
people tell apart: every picture can be read on a grey printer.
"""

from sklar.report.plots.card import plot_card
from sklar.report.plots.dependence import plot_correlation
from sklar.report.plots.effects import plot_effects
from sklar.report.plots.images import plot_image_masks
from sklar.report.plots.masks import plot_frequency, plot_masks
from sklar.report.plots.penalties import plot_path

__all__ = [
    "plot_card",
    "plot_correlation",
    "plot_effects",
    "plot_frequency",
    "plot_image_masks",
    "plot_masks",
    "plot_path",
]
