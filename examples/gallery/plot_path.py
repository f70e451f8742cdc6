"""
The penalty path and one row's card
===================================

``penalty="auto"`` tries several prices per feature in one training run and takes the sparsest whose loss on held-out
rows is within one standard error of the best. The table is scikit-learn's: 569 tumours, 30 measurements.
"""

from sklearn.datasets import load_breast_cancer

from sklar import CopulaSelectorClassifier, plots

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
selector = CopulaSelectorClassifier(max_epochs=300, random_state=0).fit(X, y)
plots.plot_path(selector)

# %%
# What one tumour's prediction rests on.

plots.plot_card(selector.explain(X.iloc[3]))
