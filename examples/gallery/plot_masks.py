"""
Masks: which features decide which rows
=======================================

In Syn4 the sign of ``x11`` switches between two sets of features. One map shows that a selector found the switch: like
rows stand together, dark is selected. Points say how often each feature is selected on either side.
"""

from sklar import CopulaSelectorClassifier, plots
from sklar.datasets import make_synthetic

names = [f"x{i}" for i in range(1, 12)]
X, y, _ = make_synthetic("syn4", 2_000, random_state=0)
X_new, _, _ = make_synthetic("syn4", 300, random_state=1)
selector = CopulaSelectorClassifier(max_epochs=150, random_state=0).fit(X, y)
masks = selector.select(X_new)

# %%
# The masks of 300 rows that the model never saw.

plots.plot_masks(masks, names, title="Selected features of 300 new rows")

# %%
# How often, on each side of the switch.

side = ["x11 < 0" if value < 0 else "x11 >= 0" for value in X_new[:, 10]]
plots.plot_frequency(masks, side, names)
