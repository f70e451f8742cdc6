"""The constructor parameters as one declared table: validated in `fit`, and the source of the tests' bad values."""

from __future__ import annotations

from numbers import Integral, Real

from sklar.model.selection import COVARIANCES
from sklar.params import Constraints, Interval, StrOptions, with_params_of
from sklar.training.engine.runtime import DEVICES

__all__ = ["CLASSIFIER", "RANKER", "REGRESSOR", "SELECTOR", "SHARED", "with_params_of"]

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
