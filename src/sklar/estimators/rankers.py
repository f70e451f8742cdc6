"""Top-k feature ranking: exactly k features per row, best first."""

from __future__ import annotations

from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np

from sklar.estimators.base import CopulaEstimator
from sklar.estimators.tasks import ClassifierTask, RegressorTask
from sklar.model.gates import Gates
from sklar.params import Count, Interval, NonNegative

DEFAULT_K = 10


class CopulaRanker(CopulaEstimator):
    """What both rankers share."""

    k: Count | None = None
    max_excess: NonNegative | None = 0.01
    step_exponent: Annotated[float, Interval(Real, 0, 1, closed="left")] = 0.0
    correlation_strength: NonNegative = 1.0

    def rank(self, X: Any, *, k: int | None = None) -> np.ndarray:
        """The k features that decide each row, best first, as column numbers: int (n, k).

        A group of columns is one feature, and its first column stands for it. Any k up to that of `fit` can be asked.
        """
        fitted = self._fitted.at(k=k)
        return fitted.ranks(fitted.read(X))

    def rank_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """The places that the models give the features of `rank`, lowest and highest: int (n, k, 2).

        Parameters
        ----------
        X : rows
        level : share of the models that agree on the interval; 1 is from the best place to the worst

        With one model (`n_models=1`) every interval is a point, which says nothing about how sure a place is.
        """
        if not 0 < level <= 1:
            raise ValueError(f"level must be in (0, 1]; got {level}")
        fitted = self._fitted
        return fitted.places(fitted.read(X), level)

    def _features_per_row(self, gates: Gates) -> int:
        d, n_forced = gates.n, 0 if gates.forced is None else int(gates.forced.sum())
        if self.k is not None and self.k > d:
            raise ValueError(f"k must be at most the number of features; got k={self.k} for {d} features")
        k = min(max(DEFAULT_K, n_forced), d) if self.k is None else int(self.k)
        if k < n_forced:
            raise ValueError(f"k must be at least the number of forced features; got k={k} for {n_forced}")
        return k


class CopulaRankerClassifier(ClassifierTask, CopulaRanker):
    """For every row, the k features that decide its class, best first.

    Parameters
    ----------
    k : int or None
        Features a row; None is 10, or all where there are fewer.
    max_excess : float or None, default 0.01
        What the choice of features may say about the outcome beyond their values, in units of the loss (nats for
        classes), in honest training. A ranker sees the whole row; without this bound (None) it may show the features
        that agree with its own answer, and persuade (see `audit`).
    step_exponent : float in [0, 1)
        delta of the top-k relaxation: each of its k steps moves by t^delta.
    correlation_strength : float
        tau in R = Norm(I + tau L L^T); 0 makes the gates independent.

    The other parameters are those of `CopulaSelectorClassifier`.

    Examples
    --------
    >>> from sklar import CopulaRankerClassifier
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn1", n_samples=300, random_state=0)
    >>> ranker = CopulaRankerClassifier(k=2, max_epochs=5, random_state=0).fit(X, y)
    >>> ranker.rank(X).shape, set(ranker.select(X).sum(axis=1).tolist())
    ((300, 2), {2})
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None


class CopulaRankerRegressor(RegressorTask, CopulaRanker):
    """For every row, the k features that decide its value, best first.

    The parameters are those of `CopulaRankerClassifier`, with `loss` for `class_weight`, as in
    `CopulaSelectorRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar import CopulaRankerRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> CopulaRankerRegressor(k=1, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3).rank(X).shape
    (200, 1)
    """

    loss: Literal["squared", "poisson", "cox"] = "squared"
