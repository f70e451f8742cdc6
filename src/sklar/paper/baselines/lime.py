"""LIME (Ribeiro, Singh, Guestrin, KDD 2016): a linear model around each row, fitted by the public package."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.paper.baselines.base import count, optional
from sklar.paper.baselines.explained import EXPLAINED, ExplainedPredictor


class Lime(ExplainedPredictor):
    """The features of largest weight in a local linear model of a predictor.

    Needs the package `lime`: `pip install "sklar[baselines]"`.

    Parameters
    ----------
    k : int or None
        Features a row; None keeps those whose |weight| exceeds their row's mean.
    n_perturbations : int, default 1000
        Rows drawn around each row.
    predictor_hidden : int, default 200
        Width of the predictor d-200-BN-200-BN-out, trained on all features.
    iterations, batch_size, learning_rate, weight_decay : default 2000, 1000, 1e-3 and 1e-3
        The predictor's.
    task, device, random_state, verbose
        As in `Invase`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import REGISTRY
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> lime = REGISTRY["lime"](k=1, iterations=50, n_perturbations=50, random_state=0).fit(X, X[:, 2] > 0)
    >>> lime.select(X[:3])
    array([[False, False,  True, False],
           [False, False,  True, False],
           [False, False,  True, False]])
    """

    _parameter_constraints = {**EXPLAINED, "n_perturbations": count(2)}

    def __init__(
        self,
        *,
        k: int | None = None,
        n_perturbations: int = 1000,
        predictor_hidden: int = 200,
        iterations: int = 2000,
        batch_size: int = 1000,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-3,
        task: str = "auto",
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.n_perturbations = n_perturbations
        self.predictor_hidden = predictor_hidden
        self.iterations = iterations
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.task = task
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

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
