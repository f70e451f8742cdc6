"""The two rows no table may lack: the best constant mask, given the ground truth, and random masks of the same size.

A selector that does not beat the first has not selected per row; one that does not beat the second has not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklar.paper.baselines.base import Baseline, top_k
from sklar.params import Count
from sklar.training.engine.runtime import spawn_seeds


class ConstantUnion(Baseline):
    """Every feature that matters to any row, for every row. `fit` is given the ground truth. It does not predict.

    The parameters are those of `Baseline`; the method has no randomness.

    Examples
    --------
    >>> from sklar.paper.baselines import ConstantUnion
    >>> from sklar.datasets import make_synthetic
    >>> X, y, relevant = make_synthetic("syn4", n_samples=100, random_state=0)
    >>> int(ConstantUnion().fit(X, y, relevant=relevant).select(X)[0].sum())  # x1 to x6 and x11
    7
    """

    def fit(self, X: Any, y: Any, relevant: Any = None) -> ConstantUnion:
        """Store the ground truth: `relevant`, bool (n, d), the features that decide each row of X."""
        if relevant is None:
            raise ValueError("constant-union needs the ground truth: fit(X, y, relevant=...), a bool table like X")
        rows, _ = self._prepare(X, y)
        self.shares_ = _truth(relevant, rows.shape).mean(axis=0)
        return self

    def _scores(self, rows: np.ndarray) -> np.ndarray:
        return self.shares_

    def _choose(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return scores > 0


class RandomMasks(Baseline):
    """k features at random for each row. It does not predict.

    Takes the parameters of `Baseline` too.

    Parameters
    ----------
    k : int or None
        Features per row; None is the mean size of `relevant` where `fit` is given it, else half the features.

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import RandomMasks
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> set(RandomMasks(k=2, random_state=0).fit(X, X[:, 0] > 0).select(X).sum(axis=1).tolist())
    {2}
    """

    is_instance_wise = True
    k: Count | None = None

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
