"""Top-k feature ranking: exactly k features a row, best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.estimators.base import CopulaEstimator
from sklar.estimators.parameters import CLASSIFIER, RANKER, REGRESSOR, with_params_of
from sklar.estimators.tasks import ClassifierTask, RegressorTask
from sklar.model.gates import Gates
from sklar.model.selection import GateModel
from sklar.model.topk_mask import ranking
from sklar.table.frames import frame_like
from sklar.training.engine.runtime import generator_on, resolve_device

DEFAULT_K = 10
PROBABILITY_DRAWS = 256


class CopulaRanker(CopulaEstimator):
    """The constructor words and answers that both rankers share."""

    _parameter_constraints = RANKER

    def __init__(
        self,
        *,
        k: int | None = None,
        groups: Sequence[Sequence[str | int]] | None = None,
        forced: Sequence[str | int] | None = None,
        forbidden: Sequence[str | int] | None = None,
        objective: str = "honest",
        covariance: str = "low-rank",
        n_factors: int = 8,
        temperature: float = 1.0,
        step_exponent: float = 0.0,
        correlation_strength: float = 1.0,
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
        self.k = k
        self.groups = groups
        self.forced = forced
        self.forbidden = forbidden
        self.objective = objective
        self.covariance = covariance
        self.n_factors = n_factors
        self.temperature = temperature
        self.step_exponent = step_exponent
        self.correlation_strength = correlation_strength
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

    def rank(self, X: Any) -> np.ndarray:
        """The k features that decide each row, best first, as column numbers: int (n, k).

        A group of columns is one feature, and its first column stands for it.
        """
        rows = self._check_rows(X)
        k = self._fitted_k()
        first = self.union_[np.searchsorted(self.union_gates_, np.arange(self.model_.architecture.n_features))]
        return first[self._map_rows(rows, lambda model, x: ranking(model.scores(x), k), k, int)]

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
        rows, k = self._check_rows(X), self._fitted_k()
        result = np.empty((len(rows), k, 2), dtype=int)
        for part, model, x in self._blocks(rows, self.n_models_ * len(self.union_)):
            listed = ranking(model.scores(x), k)  # (1, b, k)
            places = model.places(x)  # (models, b, w)
            of_listed = places.gather(-1, listed.expand(len(places), -1, -1)).cpu().numpy()
            edges = np.quantile(of_listed, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
            result[part] = np.moveaxis(edges, 0, -1)
        return result

    def selection_proba(self, X: Any) -> Any:
        """How sure: P(z_i = 1 | x), float (n, d), estimated from 256 draws of the copula.

        All rows share the same draws, so the answer is deterministic and a row's does not depend on the others.
        """
        device = resolve_device(self.device)

        def answer(model: GateModel, x: Tensor) -> Tensor:
            generator = generator_on(device, 0)
            choice = model.gates(x)
            total = torch.zeros_like(choice.scores)
            for _ in range(PROBABILITY_DRAWS):
                total += model.sample(choice, (1, 1), generator)
            return total / PROBABILITY_DRAWS

        proba = self._per_feature(self._check_rows(X), answer, float, self._entries_of_loadings())
        return frame_like(X, proba, self._names())

    def _fitted_k(self) -> int:
        """The k of the fit; the word may have changed since."""
        return int(self.model_.architecture.k or 0)

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

    _parameter_constraints = {**RANKER, **CLASSIFIER}

    @with_params_of(CopulaRanker.__init__)
    def __init__(self, *, class_weight: dict[Any, float] | str | None = None, **words: Any) -> None:
        super().__init__(**words)
        self.class_weight = class_weight


class CopulaRankerRegressor(RegressorTask, CopulaRanker):
    """For every row, the k features that decide its value, best first.

    The words are those of `CopulaRankerClassifier`, with `loss` for `class_weight`: "squared" (the squared error of the
    standardised target), "poisson" or "cox", as in `CopulaSelectorRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar import CopulaRankerRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> CopulaRankerRegressor(k=1, max_epochs=5, random_state=0).fit(X, X[:, 0] * 3).rank(X).shape
    (200, 1)
    """

    _parameter_constraints = {**RANKER, **REGRESSOR}

    @with_params_of(CopulaRanker.__init__)
    def __init__(self, *, loss: str = "squared", **words: Any) -> None:
        super().__init__(**words)
        self.loss = loss
