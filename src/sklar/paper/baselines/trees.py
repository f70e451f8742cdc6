"""Ensembles of trees: extremely randomised trees (the paper's "Tree"), random forests, and boosting.

They rank features for the whole table at once, by how much splits on a feature lower the impurity.
"""

from __future__ import annotations

from typing import Any, ClassVar

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

from sklar.paper.baselines.base import Baseline, above_average, top_k
from sklar.params import Count
from sklar.training.engine.runtime import spawn_seeds

WIDEST_TO_SHUFFLE = 100  # features


class TreeEnsemble(Baseline):
    """A scikit-learn ensemble whose importances are the scores; predicts from all features.

    Parameters
    ----------
    k : int or None
        Features to keep; None keeps those of more than average importance.
    n_trees : int, default 100
    """

    k: Count | None = None
    n_trees: Count = 100
    _ensembles: ClassVar[tuple[Any, Any]]  # of scikit-learn: for classes, and for real targets

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from all features: (n,)."""
        return self._decoded(self.ensemble_.predict(self._check_rows(X)))

    def _make(self, seed: int) -> Any:
        ensemble = self._ensembles[self.task_ == "regression"]
        return ensemble(n_estimators=self.n_trees, random_state=seed, verbose=int(bool(self.verbose)))

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
    """Extremely randomised trees (Geurts, Ernst, Wehenkel, 2006); the parameters are those of `TreeEnsemble`.

    Examples
    --------
    >>> from sklar.paper.baselines import Tree
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn2", n_samples=500, random_state=0)
    >>> Tree(n_trees=50, random_state=0).fit(X, y).select(X, k=3)[0, :4]
    array([ True,  True,  True, False])
    """

    _ensembles = (ExtraTreesClassifier, ExtraTreesRegressor)


class Forest(TreeEnsemble):
    """Random forests (Breiman, 2001); the parameters are those of `TreeEnsemble`.

    Examples
    --------
    >>> from sklar.paper.baselines import Forest
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> forest = Forest(k=1, n_trees=20, random_state=0).fit(X, 3 * X[:, 1])
    >>> forest.select(X)[0], round(forest.score(X, 3 * X[:, 1]), 1)
    (array([False,  True, False, False]), 1.0)
    """

    _ensembles = (RandomForestClassifier, RandomForestRegressor)


class Boosting(TreeEnsemble):
    """Gradient boosting: XGBoost where installed, else scikit-learn's histogram boosting.

    XGBoost scores a feature by the total gain of its splits (a mean would favour a feature that splits once and well);
    histogram boosting has no importances, so there the score is the loss of accuracy (or R^2) when the feature's values
    are shuffled, or above 100 features, where that would take hours, the total gain too. `engine_` says which ran. The
    parameters are those of `TreeEnsemble`.

    Examples
    --------
    >>> from sklar.paper.baselines import Boosting
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn2", n_samples=500, random_state=0)
    >>> boosting = Boosting(n_trees=20, random_state=0).fit(X, y)
    >>> boosting.engine_ in ("xgboost", "scikit-learn"), boosting.select(X, k=3)[0, :4].tolist()
    (True, [True, True, True, False])
    """

    def _make(self, seed: int) -> Any:
        self.engine_ = "xgboost" if _has_xgboost() else "scikit-learn"
        classify = self.task_ == "classification"
        if self.engine_ == "xgboost":
            import xgboost

            maker = xgboost.XGBClassifier if classify else xgboost.XGBRegressor
            params = {"random_state": seed, "n_jobs": 1, "verbosity": 0, "importance_type": "total_gain"}
            return maker(n_estimators=self.n_trees, **params)
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
    """The total gain of a feature's splits over all trees of a histogram booster: (d,)."""
    nodes = np.concatenate([tree.nodes for trees in ensemble._predictors for tree in trees])
    splits = nodes[nodes["is_leaf"] == 0]
    return np.bincount(splits["feature_idx"], weights=splits["gain"], minlength=n_features)


def _has_xgboost() -> bool:
    try:
        import xgboost  # noqa: F401
    except ImportError:
        return False
    return True
