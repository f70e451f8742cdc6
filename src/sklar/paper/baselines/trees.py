"""Ensembles of trees: extremely randomised trees (the paper's "Tree"), random forests, and boosting.

They rank features for the whole table at once, by how much splits on a feature lower the impurity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.inspection import permutation_importance

from sklar.paper.baselines.base import COMMON, Baseline, above_average, count, top_k
from sklar.training.engine.runtime import spawn_seeds

WIDEST_TO_SHUFFLE = 100  # features

TREES: dict[str, list[Any]] = {
    **COMMON,
    "k": [None, *count()],
    "n_trees": count(),
}


class TreeEnsemble(Baseline):
    """A scikit-learn ensemble whose importances are the scores; predicts from all features."""

    _parameter_constraints = TREES

    def __init__(
        self,
        *,
        k: int | None = None,
        n_trees: int = 100,
        task: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.n_trees = n_trees
        self.task = task
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from all features: (n,)."""
        answers = self.ensemble_.predict(self._check_rows(X))
        if self.task_ == "classification":
            return self.classes_[answers]
        return answers * self.target_spread_ + self.target_centre_

    def _make(self, seed: int) -> Any:
        raise NotImplementedError

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        self.ensemble_ = self._make(spawn_seeds(self.random_state, 1)[0]).fit(rows, target)
        self.importances_ = self._importances(rows, target)

    def _importances(self, rows: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.asarray(self.ensemble_.feature_importances_, dtype=np.float64)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self.importances_

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return above_average(scores) if self.k is None else top_k(scores, self.k)


class Tree(TreeEnsemble):
    """Extremely randomised trees (Geurts, Ernst, Wehenkel, 2006).

    Parameters
    ----------
    k : int or None
        Features to keep; None keeps those of more than average importance.
    n_trees : int, default 100
    task : "auto", "classification" or "regression"
    random_state : int, RandomState or None
    verbose : bool

    Examples
    --------
    >>> from sklar.paper.baselines import REGISTRY
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn2", n_samples=500, random_state=0)
    >>> REGISTRY["tree"](n_trees=50, random_state=0).fit(X, y).select(X, k=3)[0, :4]
    array([ True,  True,  True, False])
    """

    def _make(self, seed: int) -> Any:
        maker = ExtraTreesClassifier if self.task_ == "classification" else ExtraTreesRegressor
        return maker(n_estimators=self.n_trees, random_state=seed, verbose=int(bool(self.verbose)))


class Forest(TreeEnsemble):
    """Random forests (Breiman, 2001); the words are those of `Tree`.

    Examples
    --------
    >>> from sklar.paper.baselines import REGISTRY
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn2", n_samples=500, random_state=0)
    >>> REGISTRY["forest"](n_trees=50, random_state=0).fit(X, y).select(X, k=3)[0, :4]
    array([ True,  True,  True, False])
    """

    def _make(self, seed: int) -> Any:
        maker = RandomForestClassifier if self.task_ == "classification" else RandomForestRegressor
        return maker(n_estimators=self.n_trees, random_state=seed, verbose=int(bool(self.verbose)))


class Boosting(TreeEnsemble):
    """Gradient boosting: XGBoost where installed, else scikit-learn's histogram boosting.

    XGBoost scores a feature by the mean gain of its splits; histogram boosting has no importances, so there the
    score is the loss of accuracy (or R^2) when the feature's values are shuffled, or above 100 features, where that
    would take hours, the mean gain of its splits too. `engine_` says which ran. The words are those of `Tree`.

    Examples
    --------
    >>> from sklar.paper.baselines import REGISTRY
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn2", n_samples=500, random_state=0)
    >>> REGISTRY["boosting"](n_trees=20, random_state=0).fit(X, y).select(X, k=3)[0, :4]
    array([ True,  True,  True, False])
    """

    def _make(self, seed: int) -> Any:
        self.engine_ = "xgboost" if _has_xgboost() else "scikit-learn"
        classify = self.task_ == "classification"
        if self.engine_ == "xgboost":
            import xgboost

            maker = xgboost.XGBClassifier if classify else xgboost.XGBRegressor
            return maker(n_estimators=self.n_trees, random_state=seed, n_jobs=1, verbosity=0)
        maker = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
        return maker(max_iter=self.n_trees, random_state=seed, verbose=int(bool(self.verbose)))

    def _importances(self, rows: np.ndarray, target: np.ndarray) -> np.ndarray:
        if self.engine_ == "xgboost":
            return super()._importances(rows, target)
        if rows.shape[1] > WIDEST_TO_SHUFFLE:
            return _split_gains(self.ensemble_, rows.shape[1])
        seed = spawn_seeds(self.random_state, 2)[1]
        return permutation_importance(self.ensemble_, rows, target, n_repeats=3, random_state=seed).importances_mean


def _split_gains(ensemble: Any, n_features: int) -> np.ndarray:
    """The mean gain of a feature's splits over all trees of a histogram booster: (d,)."""
    nodes = np.concatenate([tree.nodes for trees in ensemble._predictors for tree in trees])
    splits = nodes[nodes["is_leaf"] == 0]
    total = np.bincount(splits["feature_idx"], weights=splits["gain"], minlength=n_features)
    return total / np.maximum(np.bincount(splits["feature_idx"], minlength=n_features), 1)


def _has_xgboost() -> bool:
    try:
        import xgboost  # noqa: F401
    except ImportError:
        return False
    return True
