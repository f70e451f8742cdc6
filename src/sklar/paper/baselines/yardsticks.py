"""The two rows no table may lack: the best constant mask, told the truth, and random masks of the same size.

A selector that does not beat the first has not selected by row; one that does not beat the second has not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.paper.baselines.base import COMMON, Baseline, count, top_k
from sklar.training.engine.runtime import spawn_seeds


class ConstantUnion(Baseline):
    """Every feature that matters to any row, for every row. It is told the truth, and does not predict.

    Parameters
    ----------
    task, random_state, verbose
        As in `Tree`; the method has no randomness.

    Examples
    --------
    >>> from sklar.paper.baselines import REGISTRY
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn4", n_samples=100, random_state=0)
    >>> int(REGISTRY["constant-union"]().fit(X, y, relevant=relevant).select(X)[0].sum())  # x1 to x6 and x11
    7
    """

    _parameter_constraints = COMMON

    def __init__(
        self,
        *,
        task: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.task = task
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, relevant: Any = None) -> ConstantUnion:
        """Take down the truth: `relevant`, bool (n, d), the features that decide each row of X."""
        if relevant is None:
            raise ValueError("constant-union must be told the truth: fit(X, y, relevant=...), a bool table like X")
        rows, _ = self._prepare(X, y)
        self.shares_ = _truth(relevant, rows.shape).mean(axis=0)
        return self

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self.shares_

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0


class RandomMasks(Baseline):
    """Features picked blindly, anew for each row, k of them. It does not predict.

    Parameters
    ----------
    k : int or None
        Features a row; None is the mean size of `relevant` where `fit` is told, else half the features.
    task, random_state, verbose
        As in `Tree`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import REGISTRY
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> set(REGISTRY["random"](k=2, random_state=0).fit(X, X[:, 0] > 0).select(X).sum(axis=1).tolist())
    {2}
    """

    is_instance_wise = True
    _parameter_constraints = {**COMMON, "k": [None, *count()]}

    def __init__(
        self,
        *,
        k: int | None = None,
        task: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.task = task
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, relevant: Any = None) -> RandomMasks:
        """Fix the seed and the size; `relevant`, bool (n, d), only serves to take its mean size."""
        rows, _ = self._prepare(X, y)
        size = (rows.shape[1] + 1) // 2
        if relevant is not None:
            size = max(1, round(float(_truth(relevant, rows.shape).sum(axis=1).mean())))
        self.size_ = size if self.k is None else self.k
        self.seed_ = spawn_seeds(self.random_state, 1)[0]
        return self

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return np.random.default_rng(self.seed_).random(rows.shape)

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return top_k(scores, self.size_)


def _truth(relevant: Any, shape: tuple[int, ...]) -> np.ndarray:
    truth = np.asarray(relevant).astype(bool)
    if truth.shape != shape:
        raise ValueError(f"relevant must have the shape of X, {shape}; got {truth.shape}")
    return truth
