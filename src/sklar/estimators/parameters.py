"""The parameters that all four estimators share: an annotated name is parameter, default and constraint in one line.

`fit` checks them (`sklar.params.check_params`), and the tests make their bad values from the same lines.
`CopulaSelectorClassifier` says what each means.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Annotated, Any, Literal

from sklearn.base import BaseEstimator

from sklar.params import (
    Count,
    DeclaredParams,
    HasMethods,
    Interval,
    NonNegative,
    Positive,
    RandomState,
    Verbose,
    at_least,
)

AtLeastNone = Annotated[int, at_least(0)]
AtLeastTwo = Annotated[int, at_least(2)]
Share = Annotated[float, Interval(Real, 0, 0.9, closed="both")]
# What these hold is checked against the table's columns: see `table.gating`.
Columns = Annotated[Sequence[str | int] | None, None, list, tuple, "array-like"]
Groups = Annotated[Sequence[Sequence[str | int]] | None, None, list, tuple, "array-like"]

Estimator = Annotated[Any, HasMethods(["fit", "predict"])]


class CopulaParameters(DeclaredParams, BaseEstimator):
    """What features may be selected, what is minimised by which networks, and how long."""

    groups: Groups = None
    forced: Columns = None
    forbidden: Columns = None
    objective: Literal["honest", "joint"] = "honest"
    covariance: Literal["low-rank", "full", "block", "independent"] = "low-rank"
    n_factors: Count = 8
    union_width: Literal["auto"] | Count = "auto"
    selector_sparsity: Literal["auto"] | NonNegative = "auto"
    predictor_regularization: Literal["auto"] | NonNegative = "auto"
    quantile_bins: Literal["auto"] | AtLeastNone = "auto"
    mask: Literal["relaxed", "rounded"] = "relaxed"
    temperature: Positive = 1.0
    choice_hidden: Count = 100
    predict_hidden: Count | None = None
    activation: Literal["relu", "selu"] = "relu"
    loadings_activation: Literal["tanh", "relu"] = "tanh"
    max_epochs: Count | None = None
    batch_size: AtLeastTwo = 1000
    learning_rate: Positive | None = None
    weight_decay: NonNegative | None = None
    dates: Literal["ordinal", "parts"] | None = None
    scaling: Literal["column", "global"] = "column"
    predictor: Literal["auto", "networks", "trees"] | Estimator = "auto"
    n_models: Count = 1
    n_folds: AtLeastTwo = 4
    validation_fraction: Share = 0.2
    patience: Count = 50
    device: Literal["auto", "cpu", "cuda"] = "auto"
    random_state: RandomState = None
    verbose: Verbose = False
