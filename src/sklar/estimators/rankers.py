"""Top-k feature ranking: exactly k features per row, best first."""

from __future__ import annotations

from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np

from sklar.acquire import Acquisition, Ask, acquire, next_feature
from sklar.estimators.answers import ask
from sklar.estimators.base import CopulaEstimator, Train
from sklar.estimators.tasks import ClassifierTask, RegressorTask
from sklar.model.gates import Gates
from sklar.params import Count, Interval, NonNegative
from sklar.training.acquisition.fit import train_acquisition

DEFAULT_K = 10


class CopulaRanker(CopulaEstimator):
    """What both rankers share."""

    k: Count | None = None
    chooses_from: Literal["row", "shown"] = "row"
    max_excess: NonNegative | None = 0.01
    mask: Literal["relaxed", "rounded"] = "rounded"
    step_exponent: Annotated[float, Interval(Real, 0, 1, closed="left")] = 0.0
    correlation_strength: NonNegative = 1.0

    def rank(self, X: Any, *, k: int | None = None) -> Any:
        """The k features that decide each row, best first, as column numbers: int (n, k).

        The first is what a ranker of one feature would show, the second the best of the rest for one of two, and so on.
        A group of columns is one feature, and its first column stands for it. Features whose value is missing, and was
        in no row of `fit`, are never selected: they come last where fewer than k others are left. Any k up to that of
        `fit` can be asked.
        """
        return ask(self._fitted.at(k=k), "ranks", X)

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

    def next_feature(self, row: Any, costs: Any = None) -> str | None:
        """Which feature to ask for next, given those values of a row that are not missing; None where none is.

        For rankers with `chooses_from="shown"`. Forced features come first, as in `rank`. The model learned from at
        most k known features: with more, the answer is a guess, and `acquire` has ended.

        Parameters
        ----------
        row : a dict, a pandas Series or a frame of one row, which may leave out what is not known; or a 1-d array or a
            table of all columns, with NaN, None or the like where a value is missing
        costs : dict of column to price, or one number a column; the largest gain for its price is asked for

        Examples
        --------
        >>> import numpy as np
        >>> from sklar import CopulaRankerRegressor
        >>> X = np.random.default_rng(0).standard_normal((300, 3))
        >>> y = 3 * X[:, 1] + X[:, 0]
        >>> ranker = CopulaRankerRegressor(k=2, chooses_from="shown", max_epochs=100, random_state=0).fit(X, y)
        >>> ranker.next_feature({}), ranker.next_feature({"x1": 0.3})
        ('x1', 'x0')
        """
        return next_feature(self._fitted, row, costs)

    def acquire(
        self,
        row: Any,
        *,
        budget: float | None = None,
        costs: Any = None,
        confidence: float | None = None,
        ask: Ask | None = None,
    ) -> Acquisition:
        """Ask for one feature of a row after the other until the prediction is sure enough or the budget is spent.

        For rankers with `chooses_from="shown"`. Forced features are asked for first, and it ends when k features are
        known, forced ones and those known at first among them.

        Parameters
        ----------
        row : as for `next_feature`. Without `ask`, it holds the answers, and nothing is known at first; with `ask`, it
            holds what is known already.
        budget : what the features asked for may cost in all; None is no limit
        costs : dict of column to price, or one number a column; None is 1 for all
        confidence : of classifiers, the probability of the predicted class from which on nothing more is asked
        ask : a function of a feature's name that returns its value

        Returns
        -------
        Acquisition
            prints as text; `to_dict()` gives the same as plain values

        Examples
        --------
        >>> import numpy as np
        >>> from sklar import CopulaRankerRegressor
        >>> X = np.random.default_rng(0).standard_normal((300, 3))
        >>> y = 3 * X[:, 1] + X[:, 0]
        >>> ranker = CopulaRankerRegressor(k=2, chooses_from="shown", max_epochs=100, random_state=0).fit(X, y)
        >>> ranker.acquire(X[0]).features
        ['x1', 'x0']
        >>> ranker.acquire(X[0], budget=5, costs={"x1": 5}).spent
        5.0
        """
        return acquire(self._fitted, row, budget=budget, costs=costs, confidence=confidence, ask=ask)

    def _training(self) -> Train:
        if self.chooses_from == "row":
            return super()._training()
        if self.objective != "honest" or self.n_models > 1:
            raise ValueError("chooses_from='shown' needs objective='honest' and n_models=1")
        return train_acquisition

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
    chooses_from : "row" or "shown", default "row"
        What the choice of a feature may depend on. "row": the whole row; the ranking answers which features decide it.
        "shown": the values of the features before it in the ranking alone; the ranking is the order in which to ask
        for them, it cannot say anything beyond the values it shows, and every prefix of it is a ranking of its own.
        See `next_feature` and `acquire`.
    max_excess : float or None, default 0.01
        What the choice of features may say about the outcome beyond their values, in units of the loss (nats for
        classes), in honest training. A ranker sees the whole row; without this bound (None) it may show the features
        that agree with its own answer, and persuade (see `audit`).
    mask : "rounded" or "relaxed", default "rounded"
        What joint training shows its predictor: exactly k features, as the paper's algorithm for top-k ends, with the
        relaxed mask's gradient; or the relaxed mask, in which all features take part.
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
