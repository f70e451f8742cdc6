"""A control for a choice of features: the same sets of features, dealt to other rows by chance.

A dealt set says nothing about its row. But which values it shows is another matter: where a switch is shown, a set
that was chosen goes with the values of the switch that ask for it, and a dealt one with all. So dealt rows are weighted
until the values shown look like those of the choice: by the odds, of trees that see nothing but the values shown, that
they were chosen. If the choice follows from the values that it shows, outcomes then follow from them alike in both; if
not, the difference is what the choice itself says.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold

TREES = {"max_iter": 50, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
ROWS_OF_A_LEAF = 30  # however often each stands there
N_FOLDS = 5
MOST_ODDS = 20.0  # so that no single row decides
MOST_ENTRIES = 20_000_000  # values that the trees of a fold learn from; more rows would not make better odds


def odds_of_choice(chosen: np.ndarray, dealt: np.ndarray, row: np.ndarray, of_dealt: np.ndarray) -> np.ndarray:
    """Weights of dealt rows, of mean 1, with which their values shown are distributed as those of chosen ones.

    Parameters
    ----------
    chosen, dealt : values (n, D) and (m, D), NaN where they are not shown
    row, of_dealt : the row that each is of, (n,) and (m,); odds come from trees that learned from other rows

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((1000, 1))
    >>> shown = np.where(x > 0, x, np.nan)  # chosen where it is above 0
    >>> weight = odds_of_choice(shown[x[:, 0] > 0], x, np.flatnonzero(x[:, 0] > 0), np.arange(1000))
    >>> weight[x[:, 0] < 0].mean().round(1), weight[x[:, 0] > 0].mean().round()
    (np.float64(0.0), np.float64(2.0))
    """
    values, group = np.concatenate([chosen, dealt]), np.concatenate([row, of_dealt])
    values = values[:, ~np.isnan(values).all(axis=0)]
    was_chosen = np.arange(len(values)) < len(chosen)
    n_folds = min(N_FOLDS, len(np.unique(group)))
    if not values.shape[1] or n_folds < 2:
        return np.ones(len(dealt))
    weight, p = np.where(was_chosen, len(dealt) / len(chosen), 1.0), np.empty(len(values))
    every = max(1, values.size // MOST_ENTRIES)
    leaf = round(ROWS_OF_A_LEAF * max(1.0, len(dealt) / every / len(np.unique(of_dealt))))
    for learn, ask in GroupKFold(n_folds).split(values, groups=group):
        learn = learn[::every]
        trees = HistGradientBoostingClassifier(min_samples_leaf=leaf, **TREES)
        trees.fit(_binnable(values[learn]), was_chosen[learn], sample_weight=weight[learn])
        p[ask] = trees.predict_proba(values[ask])[:, 1]
    odds = np.minimum(p[~was_chosen] / (1 - p[~was_chosen]), MOST_ODDS)
    return odds / odds.mean()


def _binnable(values: np.ndarray) -> np.ndarray:
    """The same with a value in every column: trees cannot be given a column that is never shown in their rows."""
    return np.where(np.isnan(values).all(axis=0), 0.0, values)
