"""The contract of every baseline: check and scale a table, learn, then score and select features per row.

A baseline fills `_fit` and `_scores`, and where it has a rule of its own for how many features to keep, `_choose`. Its
parameters are its annotated names, and those of its base classes.
"""

from __future__ import annotations

from numbers import Integral
from types import ModuleType
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from sklar.params import DeclaredParams, RandomState, Verbose, check_params
from sklar.table.adapter import adapt
from sklar.table.scaling import Scaling, require_finite


class Baseline(DeclaredParams, BaseEstimator):
    """What every baseline is.

    Parameters
    ----------
    task : "auto", "classification" or "regression"
        "auto" reads it from y: real numbers are regression, everything else is classification.
    scale : bool, default True
        Bring every column to mean 0 and deviation 1; False takes columns as they are, as pixels from 0 to 1.
    random_state : int, RandomState or None
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    is_instance_wise : whether two rows can get different features
    handles_regression : whether a real target is accepted
    handles_missing : whether NaN in X is accepted
    task_ : "classification" or "regression"
    classes_ : the labels, for classification
    n_features_in_, feature_names_in_ : as in scikit-learn
    """

    is_instance_wise = False
    handles_regression = True
    handles_missing = False
    task: Literal["auto", "classification", "regression"] = "auto"
    scale: bool = True
    random_state: RandomState = None
    verbose: Verbose = False

    def fit(self, X: Any, y: Any) -> Baseline:
        """Learn which features matter.

        Parameters
        ----------
        X : table of numbers, (n, d): numpy, pandas, polars or pyarrow
        y : target, (n,)

        Returns
        -------
        self
        """
        rows, target = self._prepare(X, y)
        self._fit(rows, target)
        return self

    def scores(self, X: Any) -> Any:
        """How much each feature matters to each row, more is more: float (n, d), a frame for a frame."""
        return adapt(X).like(self._checked_scores(self._check_rows(X)), self._names())

    def select(self, X: Any, k: int | None = None) -> Any:
        """Which features each row keeps: bool (n, d), a frame for a frame.

        With `k`, the k features of highest score in each row; without, as many as the method itself says.
        """
        return adapt(X).like(self._masks(self._check_rows(X), k), self._names())

    def score(self, X: Any, y: Any) -> float:
        """Accuracy for classification, R^2 for regression; for the methods that predict."""
        if not hasattr(self, "predict"):
            raise AttributeError(f"{type(self).__name__} selects features and does not predict")
        metric = accuracy_score if self.task_ == "classification" else r2_score
        return float(metric(y, self.predict(X)))

    def __sklearn_tags__(self) -> Tags:
        """Say that y is needed, and whether values may be missing."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.handles_missing
        return tags

    # What a baseline fills in.

    def _fit(self, rows: np.ndarray, target: np.ndarray) -> None:
        """Learn from scaled rows, float64 (n, d), and an encoded target (class codes, or standardised reals)."""
        raise NotImplementedError

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        """Scores of scaled rows: (n, d), or (d,) when they are the same for all rows."""
        raise NotImplementedError

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The method's own masks (n, d); by default the constructor's `k` features of highest score."""
        return top_k(scores, self.k)

    # Shared steps.

    def _prepare(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        check_params(self)
        X, y = validate_data(
            self, X, y, dtype="numeric", ensure_all_finite=False, ensure_min_samples=2, y_numeric=False
        )
        names = self._names()
        self._require_finite(X)
        check_k(getattr(self, "k", None), X.shape[1])
        target = self._encode_target(y)
        d = X.shape[1]
        self.scaling_ = Scaling.of(X, names) if self.scale else Scaling(np.zeros(d), np.ones(d))
        return self.scaling_.apply(X), target

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        task: str = self.task
        if task == "auto":
            task = "regression" if type_of_target(y) == "continuous" else "classification"
        if task == "regression":
            return self._encode_real(y)
        check_classification_targets(y)
        self.task_ = task
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least 2 classes; got 1 class: {self.classes_[0]!r}")
        return codes.astype(np.int64)

    def _encode_real(self, y: np.ndarray) -> np.ndarray:
        if not self.handles_regression:
            raise ValueError(f"{type(self).__name__} is for classification; y holds real numbers")
        self.task_ = "regression"
        values = np.asarray(y, dtype=np.float64)
        self.target_centre_ = float(values.mean())
        self.target_spread_ = float(values.std()) or 1.0
        return (values - self.target_centre_) / self.target_spread_

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _decoded(self, answers: np.ndarray) -> np.ndarray:
        """Class codes as labels, standardised values in the units of y: (n,)."""
        if self.task_ == "classification":
            return self.classes_[answers]
        return answers * self.target_spread_ + self.target_centre_

    def _check_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype="numeric", ensure_all_finite=False, reset=False)
        self._require_finite(rows)
        return self.scaling_.apply(rows)

    def _require_finite(self, X: np.ndarray) -> None:
        require_finite(X, self._names(), missing=self.handles_missing)

    def _checked_scores(self, rows: np.ndarray) -> np.ndarray:
        return np.array(np.broadcast_to(self._scores(rows), rows.shape), dtype=np.float64)

    def _masks(self, rows: np.ndarray, k: int | None = None) -> np.ndarray:
        check_k(k, rows.shape[1])
        scores = self._checked_scores(rows)
        if k is not None:
            return top_k(scores, k)
        return np.array(np.broadcast_to(self._choose(rows, scores), rows.shape), dtype=bool)


def check_k(k: int | None, n_features: int) -> None:
    """Refuse a k that is no number of features of this table."""
    if k is None:
        return
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise TypeError(f"k must be a whole number; got {k!r}")
    if not 1 <= k <= n_features:
        raise ValueError(f"k must be from 1 to the number of features, {n_features}; got {k}")


def top_k(scores: np.ndarray, k: int) -> np.ndarray:
    """The k highest scores of each row: bool (n, d).

    Ties are broken by a fixed shuffle of the columns. Breaking them to the left would favour tables that begin
    with their relevant features, as Syn1-6 do: a method that scores everything 0 would look perfect there.

    Examples
    --------
    >>> import numpy as np
    >>> top_k(np.array([[3.0, 1.0, 4.0, 2.0]]), 2)
    array([[ True, False,  True, False]])
    """
    columns = np.random.default_rng(scores.shape[1]).permutation(scores.shape[1])
    best = np.argsort(-scores[:, columns], axis=1, kind="stable")[:, :k]
    mask = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(mask, columns[best], True, axis=1)
    return mask


def above_average(scores: np.ndarray) -> np.ndarray:
    """The features whose score exceeds their row's mean, and the best one in any case: bool (n, d).

    Examples
    --------
    >>> import numpy as np
    >>> above_average(np.array([[4.0, 1.0, 1.0, 2.5], [1.0, 0.0, 0.0, 0.0]]))
    array([[ True, False, False,  True],
           [ True, False, False, False]])
    """
    return (scores > scores.mean(axis=1, keepdims=True)) | top_k(scores, 1)


def optional(package: str, why: str) -> ModuleType:
    """Import a package of the `[baselines]` extra, or say how to get it."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f'{why} needs the package {package!r}: pip install "sklar[baselines]"') from error
