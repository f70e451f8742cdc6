"""Binary feature selection: as many features as each row needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sklar.estimators.base import CopulaEstimator
from sklar.estimators.parameters import SELECTOR
from sklar.estimators.tasks import ClassifierTask, RegressorTask


class CopulaSelector(CopulaEstimator):
    """The constructor words and answers that both selectors share."""

    _parameter_constraints = SELECTOR

    def __init__(
        self,
        *,
        penalty: float | str = "auto",
        objective: str = "joint",
        covariance: str = "low-rank",
        rank: int = 8,
        temperature: float = 1.0,
        choice_hidden: int = 100,
        predict_hidden: int = 200,
        activation: str = "relu",
        loadings_activation: str = "tanh",
        max_epochs: int = 1000,
        batch_size: int = 1000,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-3,
        n_folds: int = 4,
        validation_fraction: float = 0.2,
        patience: int = 50,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.penalty = penalty
        self.objective = objective
        self.covariance = covariance
        self.rank = rank
        self.temperature = temperature
        self.choice_hidden = choice_hidden
        self.predict_hidden = predict_hidden
        self.activation = activation
        self.loadings_activation = loadings_activation
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def selection_proba(self, X: Any) -> Any:
        """How sure: P(z_i = 1 | x) = sigmoid(alpha_i), float (n, d); `select` is where it exceeds 1/2."""
        return self._per_feature(X, lambda model, x: torch.sigmoid(model.scores(x)), float)

    def _architecture_words(self) -> dict[str, Any]:
        return {"k": None}


class CopulaSelectorClassifier(ClassifierTask, CopulaSelector):
    """For every row, the few features that decide its class.

    Parameters
    ----------
    penalty : float or "auto", default "auto"
        Price of one feature (lambda), in units of the loss. "auto" trains a path of penalties side by side and
        keeps the sparsest within one standard error of the best held-out loss.
    objective : "joint"
        "joint" is the paper's: both networks minimise one loss.
    covariance : "low-rank", "full", "block" or "independent"
        How the gates of a row depend on each other: L L^T + diag(sigma^2), L L^T, L L^T inside blocks of
        correlated features, or not at all (the paper's NOLA).
    rank : int, default 8
        Columns of L (p), for "low-rank".
    temperature : float, default 1
        t of the relaxed mask that gradients flow through.
    choice_hidden, predict_hidden : int
        Width of the hidden layers of ChoiceNet (h_c) and PredictNet (h_p).
    activation : "relu" or "selu"
    loadings_activation : "tanh" or "relu"
        On L; sigma gets the other. The paper's text says tanh, its Algorithm 4 ReLU, which cannot express a
        negative correlation.
    max_epochs, batch_size, learning_rate, weight_decay
        Adam's.
    n_folds : int
        Folds of cross-fitting; the joint objective has none.
    validation_fraction : float, default 0.2
        Share of rows kept aside for early stopping and for choosing the penalty; 0 turns both off.
    patience : int
        Epochs without a better held-out loss after which training stops.
    device : "auto", "cpu" or "cuda"
    random_state : int, RandomState or None
        An int fixes the result, bit for bit on CPU.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    classes_ : the labels, in the order of `predict_proba`'s columns
    penalty_ : the penalty that was used
    path_ : the penalties tried, as columns penalty, loss, error, mean_features; empty for a given penalty
    history_ : one record an epoch
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklar import CopulaSelectorClassifier
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> selector = CopulaSelectorClassifier(penalty=0.01, max_epochs=5, random_state=0).fit(X, y)
    >>> selector.select(X).shape
    (300, 11)
    """


class CopulaSelectorRegressor(RegressorTask, CopulaSelector):
    """For every row, the few features that decide its value.

    The words are those of `CopulaSelectorClassifier`; the loss is the squared error of the standardised target,
    so a penalty is a share of the target's variance.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3)
    >>> selector.predict(X).shape
    (200,)
    """
