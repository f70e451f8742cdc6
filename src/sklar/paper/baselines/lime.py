"""LIME (Ribeiro, Singh, Guestrin, KDD 2016): a linear model around each row, fitted by the public package."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from sklar.paper.baselines.base import optional
from sklar.paper.baselines.explained_trees import ExplainedTrees
from sklar.params import at_least


class Lime(ExplainedTrees):
    """The features of largest weight in a local linear model of boosted trees, by the package `lime`.

    Takes the parameters of `ExplainedTrees` too; a score is the |weight|.

    Parameters
    ----------
    n_perturbations : int, default 1000
        Rows drawn around each row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import Lime
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> lime = Lime(k=1, n_trees=20, n_perturbations=50, random_state=0).fit(X, X[:, 2] > 0)
    >>> lime.select(X[:3])
    array([[False, False,  True, False],
           [False, False,  True, False],
           [False, False,  True, False]])
    """

    n_perturbations: Annotated[int, at_least(2)] = 1000

    def _background(self, rows: np.ndarray, seed: int) -> np.ndarray:
        optional("lime", "LIME")  # better missed now than after training
        return rows

    def _explainer(self, seed: int) -> Any:
        tabular = optional("lime.lime_tabular", "LIME")
        return tabular.LimeTabularExplainer(self.background_, mode=self.task_, random_state=np.random.RandomState(seed))

    def _explain(self, explainer: Any, row: np.ndarray, label: int) -> np.ndarray:
        explainer.random_state.seed(self.seed_)  # so that a row's weights do not depend on the rows before it
        box = self._black_box if self.task_ == "classification" else lambda rows: self._black_box(rows)[:, 0]
        explanation = explainer.explain_instance(
            row, box, labels=(label,), num_features=len(row), num_samples=self.n_perturbations
        )
        weights = np.zeros(len(row))
        for feature, weight in explanation.as_map()[label if self.task_ == "classification" else 1]:
            weights[feature] = weight
        return weights
