"""TreeSHAP (Lundberg et al., 2020): exact Shapley values of boosted trees, by LightGBM's own implementation.

What most people use to ask which features decide a row. The values are of the raw score (the log-odds, or the value),
with absent features averaged along the trees' own paths.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from scipy.special import softmax

from sklar.paper.baselines.base import Baseline, above_average, optional, top_k
from sklar.params import Count, Positive, at_least
from sklar.training.engine.runtime import spawn_seeds


class TreeShap(Baseline):
    """The features of largest |contribution| to the answer of boosted trees; predicts from all features.

    Needs the package `lightgbm`: `pip install "sklar[baselines]"`. Missing values (NaN) are allowed. With several
    classes a score is the |contribution| to the score of the class that is predicted, as for `lime` and `shap`: what
    decides this row's answer, not what would decide the others'.

    Takes the parameters of `Baseline` too; the defaults of the others are LightGBM's, with more and smaller steps.

    Parameters
    ----------
    k : int or None
        Features per row; None keeps those whose score exceeds their row's mean.
    n_trees : int, default 200
        Rounds of boosting, each of one tree per class (one for two classes, and for values).
    learning_rate : float, default 0.05
    n_leaves : int, default 31
        Leaves of a tree, at most.
    min_leaf : int, default 20
        Training rows of a leaf, at least.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import TreeShap
    >>> X = np.random.default_rng(0).standard_normal((400, 4))
    >>> shap = TreeShap(k=1, n_trees=30).fit(X, np.where(X[:, 3] > 0, X[:, 0], X[:, 1]))
    >>> shap.select(np.array([[2.0, 0, 0, 3], [0, 2, 0, -3]])).argmax(axis=1)
    array([0, 1])
    """

    is_instance_wise = True
    handles_missing = True
    k: Count | None = None
    n_trees: Count = 200
    learning_rate: Positive = 0.05
    n_leaves: Annotated[int, at_least(2)] = 31
    min_leaf: Count = 20

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from all features: (n,)."""
        raw = self._raw(self._check_rows(X))
        return self._decoded(raw[:, 0] if self.task_ == "regression" else raw.argmax(axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class) of each row, from all features: (n, classes)."""
        if self.task_ == "regression":
            raise AttributeError("predict_proba is for classification")
        return softmax(self._raw(self._check_rows(X)), axis=1)

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        package = optional("lightgbm", "TreeSHAP")
        params = {
            **self._objective(),
            "learning_rate": self.learning_rate,
            "num_leaves": self.n_leaves,
            "min_data_in_leaf": self.min_leaf,
            "seed": spawn_seeds(self.random_state, 1)[0],
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        self.booster_ = package.train(params, package.Dataset(rows, target), num_boost_round=self.n_trees)

    def _objective(self) -> dict[str, Any]:
        if self.task_ == "regression":
            return {"objective": "regression"}
        n = len(self.classes_)
        return {"objective": "binary"} if n == 2 else {"objective": "multiclass", "num_class": n}

    def _raw(self, rows: np.ndarray) -> np.ndarray:
        """Raw scores: (n, classes), or (n, 1) for values; of two classes plus and minus half the log-odds."""
        raw = self.booster_.predict(rows, raw_score=True)
        if self.task_ == "classification" and raw.ndim == 1:
            return np.column_stack([-raw / 2, raw / 2])
        return raw.reshape(len(rows), -1)

    def contributions(self, rows: np.ndarray) -> np.ndarray:
        """Shapley values of scaled rows, and last what the trees say of no row: (n, outputs, d + 1).

        One output for values and for two classes, the log-odds of the second; else one a class.
        """
        values = self.booster_.predict(rows, pred_contrib=True)
        return np.asarray(values).reshape(len(rows), -1, rows.shape[1] + 1)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        values = self.contributions(rows)[:, :, :-1]
        answer = self._raw(rows).argmax(axis=1) if values.shape[1] > 1 else np.zeros(len(rows), dtype=int)
        return np.abs(values[np.arange(len(rows)), answer])

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return above_average(scores) if self.k is None else top_k(scores, self.k)
