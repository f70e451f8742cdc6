"""SHAP (Lundberg, Lee, NeurIPS 2017): Shapley values of each row, by the public package."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sklar.paper.baselines.base import optional
from sklar.paper.baselines.explained_trees import ExplainedTrees
from sklar.params import Count


class Shap(ExplainedTrees):
    """The features of largest Shapley value in the answer of boosted trees.

    Needs the package `shap`: `pip install "sklar[baselines]"`.

    Takes the parameters of `ExplainedTrees` too; a score is the |value|.

    Parameters
    ----------
    n_permutations : int, default 10
        Orders of the features that are walked through, forth and back, for each row.
    n_background : int, default 50
        Training rows that stand for "feature absent".

    Examples
    --------
    >>> import numpy as np
    >>> from sklar.paper.baselines import Shap
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> shap = Shap(k=1, n_trees=20, n_permutations=2, random_state=0).fit(X, 3 * X[:, 2])
    >>> shap.select(np.ones((1, 4)))
    array([[False, False,  True, False]])
    """

    n_permutations: Count = 10
    n_background: Count = 50

    def _background(self, rows: np.ndarray, seed: int) -> np.ndarray:
        _package()  # better missed now than after training
        return super()._background(rows, seed)

    def _explainer(self, seed: int) -> Any:
        shap = _package()
        masker = shap.maskers.Independent(self.background_, max_samples=len(self.background_))
        with numpy_seed(seed):  # its constructor seeds the global generator too
            return shap.PermutationExplainer(self._black_box, masker)

    def _explain(self, explainer: Any, row: np.ndarray, label: int) -> np.ndarray:
        evaluations = self.n_permutations * (2 * len(row) + 1)
        with numpy_seed(self.seed_):
            values = explainer(row[None], max_evals=evaluations, silent=True).values
        return values[0, :, label] if values.ndim == 3 else values[0]  # (d,)


@contextmanager
def numpy_seed(seed: int) -> Iterator[None]:
    """Lend the package a seeded global generator, which it draws from, and put the caller's back afterwards."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _package() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package's own, on import
        return optional("shap", "SHAP")
