"""Boosted trees, for the baselines that explain a finished model row by row: LIME and SHAP.

An explanation is as right as the model that it explains. On Syn1-6 with 100 features a network of all features is right
for little more than half of the rows; boosted trees are not misled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from sklar.paper.baselines.base import Baseline, above_average, top_k
from sklar.params import Count
from sklar.training.engine.loop import progress_bar
from sklar.training.engine.runtime import spawn_seeds

FEWEST_ROWS_TO_STOP_EARLY = 1000  # with fewer, scikit-learn's trees grow to their number


class ExplainedTrees(Baseline):
    """Fits the trees and goes through the rows; a subclass fills `_explainer` and `_explain`.

    Parameters
    ----------
    k : int or None
        Features per row; None keeps those whose score exceeds their row's mean.
    n_trees : int, default 300
        Rounds of boosting at most; they stop when a tenth of the rows, kept aside, is predicted no better.
    """

    is_instance_wise = True
    k: Count | None = None
    n_trees: Count = 300

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, by the trees, from all features: (n,)."""
        outputs = self._black_box(self._check_rows(X))
        return self._decoded(outputs[:, 0] if self.task_ == "regression" else outputs.argmax(axis=1))

    def predict_proba(self, X: Any) -> np.ndarray:
        """P(class) of each row, by the trees, from all features: (n, classes)."""
        if self.task_ != "classification":
            raise AttributeError("predict_proba is for classification; this was fitted to real numbers")
        return self._black_box(self._check_rows(X))

    def _explainer(self, seed: int) -> Any:
        """What explains single rows; built when needed, from `background_`."""
        raise NotImplementedError

    def _explain(self, explainer: Any, row: np.ndarray, label: int) -> np.ndarray:
        """Signed contributions of one scaled row's features to output `label`: (d,)."""
        raise NotImplementedError

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        self.seed_ = spawn_seeds(self.random_state, 1)[0]
        self.background_ = self._background(rows, self.seed_)
        maker = HistGradientBoostingClassifier if self.task_ == "classification" else HistGradientBoostingRegressor
        stops = len(rows) >= FEWEST_ROWS_TO_STOP_EARLY
        self.trees_ = maker(max_iter=self.n_trees, early_stopping=stops, random_state=self.seed_).fit(rows, target)

    def _background(self, rows: np.ndarray, seed: int) -> np.ndarray:
        """The training rows that the explainer needs: all, or `n_background` of them at random."""
        wanted = getattr(self, "n_background", len(rows))
        return rows if wanted >= len(rows) else rows[np.random.default_rng(seed).permutation(len(rows))[:wanted]]

    def _black_box(self, rows: np.ndarray) -> np.ndarray:
        """What is explained: class probabilities, or values, (n, out)."""
        if self.task_ == "classification":
            return self.trees_.predict_proba(rows)
        return self.trees_.predict(rows)[:, None]

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        labels = self._black_box(rows).argmax(axis=1)
        explainer = self._explainer(self.seed_)
        progress = progress_bar(len(rows), type(self).__name__.lower(), bool(self.verbose))
        scores = np.empty(rows.shape)
        for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
            scores[i] = np.abs(self._explain(explainer, row, int(label)))
            progress.update()
        progress.close()
        return scores

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return above_average(scores) if self.k is None else top_k(scores, self.k)
