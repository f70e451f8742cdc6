"""NOLA ("no copula"), the paper's ablation: our estimator with gates that do not depend on each other."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from sklar.estimators import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.paper.baselines.base import Baseline
from sklar.paper.baselines.networks import BatchSize, Device
from sklar.params import Count, NonNegative, Positive


class Nola(Baseline):
    """The copula selector with `covariance="independent"`.

    Takes the parameters of `Baseline` too.

    Parameters
    ----------
    penalty : float or "auto", default "auto"
    objective : str, default "joint"
        As in `CopulaSelectorClassifier`; "joint" is the paper's.
    temperature, choice_hidden, predict_hidden, max_epochs, batch_size, learning_rate, weight_decay, patience
        As in `CopulaSelectorClassifier`.
    device : "auto", "cpu" or "cuda"

    Examples
    --------
    >>> from sklar.paper.baselines import Nola
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> Nola(penalty=0.01, max_epochs=3, random_state=0).fit(X, y).scores(X).shape
    (300, 11)
    """

    is_instance_wise = True
    penalty: NonNegative | Literal["auto"] = "auto"
    objective: str = "joint"
    temperature: Positive = 1.0
    choice_hidden: Count = 100
    predict_hidden: Count = 200
    max_epochs: Count = 1000
    batch_size: BatchSize = 1000
    learning_rate: Positive = 1e-3
    weight_decay: NonNegative = 1e-3
    patience: Count = 50
    device: Device = "auto"

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from its selected features alone: (n,)."""
        return self._decoded(self.selector_.predict(self._check_rows(X)))

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        params = {name: value for name, value in self.get_params(deep=False).items() if name not in ("task", "scale")}
        selector = CopulaSelectorClassifier if self.task_ == "classification" else CopulaSelectorRegressor
        self.selector_ = selector(covariance="independent", predictor="networks", **params).fit(rows, target)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self.selector_.selection_proba(rows)

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self.selector_.select(rows)
