"""NOLA ("no copula"), the paper's ablation: our estimator with gates that do not depend on each other."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from sklar.estimators import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.paper.baselines.base import COMMON, Baseline, count
from sklar.paper.baselines.networks import AT_LEAST_ZERO, POSITIVE
from sklar.training.engine.runtime import DEVICES


class Nola(Baseline):
    """The copula selector with `covariance="independent"`.

    Parameters
    ----------
    penalty : float or "auto", default "auto"
    objective : str, default "joint"
        As in `CopulaSelectorClassifier`; "joint" is the paper's.
    temperature, choice_hidden, predict_hidden, max_epochs, batch_size, learning_rate, weight_decay, patience
        As in `CopulaSelectorClassifier`.
    task, device, random_state, verbose
        As in `Invase`.

    Examples
    --------
    >>> from sklar.paper.baselines import REGISTRY
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> REGISTRY["nola"](penalty=0.01, max_epochs=3, random_state=0).fit(X, y).scores(X).shape
    (300, 11)
    """

    is_instance_wise = True
    _parameter_constraints = {
        **COMMON,
        "penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "objective": [str],
        "temperature": POSITIVE,
        "choice_hidden": count(),
        "predict_hidden": count(),
        "max_epochs": count(),
        "batch_size": count(2),
        "learning_rate": POSITIVE,
        "weight_decay": AT_LEAST_ZERO,
        "patience": count(),
        "device": [StrOptions(set(DEVICES))],
    }

    def __init__(
        self,
        *,
        penalty: float | str = "auto",
        objective: str = "joint",
        temperature: float = 1.0,
        choice_hidden: int = 100,
        predict_hidden: int = 200,
        max_epochs: int = 1000,
        batch_size: int = 1000,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-3,
        patience: int = 50,
        task: str = "auto",
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.penalty = penalty
        self.objective = objective
        self.temperature = temperature
        self.choice_hidden = choice_hidden
        self.predict_hidden = predict_hidden
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.patience = patience
        self.task = task
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> np.ndarray:
        """The class or value of each row, from its selected features alone: (n,)."""
        answers = self.selector_.predict(self._check_rows(X))
        if self.task_ == "classification":
            return self.classes_[answers]
        return answers * self.target_spread_ + self.target_centre_

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        words = self.get_params(deep=False)
        words.pop("task")
        maker = CopulaSelectorClassifier if self.task_ == "classification" else CopulaSelectorRegressor
        self.selector_ = maker(covariance="independent", **words).fit(rows, target)

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self.selector_.selection_proba(rows)

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return self.selector_.select(rows)
