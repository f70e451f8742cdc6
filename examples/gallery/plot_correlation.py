"""
Correlation of gates: interchangeable features
==============================================

The last column repeats ``x1`` at a correlation of 0.97. The gates of the two learn to exclude each other: R is
strongly negative, and a row that needs ``x1`` gets one of them.
"""

from sklar import CopulaSelectorClassifier, plots
from sklar.datasets import make_redundant

names = [*(f"x{i}" for i in range(1, 12)), "x1_copy"]
X, y, _, _ = make_redundant(2_000, random_state=0)
selector = CopulaSelectorClassifier(max_epochs=150, random_state=0).fit(X, y)
plots.plot_correlation(selector.correlation(X), names)
