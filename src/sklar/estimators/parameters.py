"""The constructor's parameters: stored as they are, and one declared table that validates them in `fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from sklar.model.selection import COVARIANCES
from sklar.training.engine.runtime import DEVICES

Constraints = dict[str, list[Any]]

SHARED: Constraints = {
    "objective": [StrOptions({"honest", "joint"})],
    "covariance": [StrOptions(set(COVARIANCES))],
    "n_factors": [Interval(Integral, 1, None, closed="left")],
    "temperature": [Interval(Real, 0, None, closed="neither")],
    "choice_hidden": [Interval(Integral, 1, None, closed="left")],
    "predict_hidden": [None, Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions({"relu", "selu"})],
    "loadings_activation": [StrOptions({"tanh", "relu"})],
    "max_epochs": [None, Interval(Integral, 1, None, closed="left")],
    "batch_size": [Interval(Integral, 2, None, closed="left")],
    "learning_rate": [None, Interval(Real, 0, None, closed="neither")],
    "weight_decay": [None, Interval(Real, 0, None, closed="left")],
    "n_models": [Interval(Integral, 1, None, closed="left")],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "validation_fraction": [Interval(Real, 0, 0.9, closed="both")],
    "patience": [Interval(Integral, 1, None, closed="left")],
    "device": [StrOptions(set(DEVICES))],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    # What these hold is checked against the table's columns: see `gating`.
    "groups": [None, list, tuple],
    "forced": [None, list, tuple],
    "forbidden": [None, list, tuple],
}

SELECTOR: Constraints = {
    "penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    **SHARED,
    "costs": [None, dict, "array-like"],
    "min_features": [Interval(Integral, 0, None, closed="left")],
}

CLASSIFIER: Constraints = {"class_weight": [None, dict, StrOptions({"balanced"})]}

REGRESSOR: Constraints = {"loss": [StrOptions({"squared", "poisson", "cox"})]}

RANKER: Constraints = {
    "k": [None, Interval(Integral, 1, None, closed="left")],
    **SHARED,
    "step_exponent": [Interval(Real, 0, 1, closed="left")],
    "correlation_strength": [Interval(Real, 0, None, closed="left")],
}


def with_params_of(base: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a constructor of (self, *, own parameters, **params) the signature that has the parameters of `base` too.

    scikit-learn reads the parameters off the signature.
    """

    def decorate(constructor: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in signature(constructor).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        others = [p for p in signature(base).parameters.values() if p.name != "self"]
        constructor.__signature__ = Signature([*own, *others])  # type: ignore[attr-defined]
        return constructor

    return decorate


class CopulaParameters(BaseEstimator):
    """The parameters that all four estimators share; `CopulaSelectorClassifier` says what they mean."""

    def __init__(
        self,
        *,
        groups: Sequence[Sequence[str | int]] | None = None,
        forced: Sequence[str | int] | None = None,
        forbidden: Sequence[str | int] | None = None,
        objective: str = "honest",
        covariance: str = "low-rank",
        n_factors: int = 8,
        temperature: float = 1.0,
        choice_hidden: int = 100,
        predict_hidden: int | None = None,
        activation: str = "relu",
        loadings_activation: str = "tanh",
        max_epochs: int | None = None,
        batch_size: int = 1000,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        n_models: int = 1,
        n_folds: int = 4,
        validation_fraction: float = 0.2,
        patience: int = 50,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.groups = groups
        self.forced = forced
        self.forbidden = forbidden
        self.objective = objective
        self.covariance = covariance
        self.n_factors = n_factors
        self.temperature = temperature
        self.choice_hidden = choice_hidden
        self.predict_hidden = predict_hidden
        self.activation = activation
        self.loadings_activation = loadings_activation
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_models = n_models
        self.n_folds = n_folds
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.random_state = random_state
        self.verbose = verbose
