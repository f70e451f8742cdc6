"""How features depend on each other, as a mixin: the learned copula, drawn from and read."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from sklar.estimators.answering import BlockAnswers
from sklar.table.frames import frame_like
from sklar.training.engine.runtime import generator_on, resolve_device, spawn_seeds


class Dependence(BlockAnswers):
    """What the gates' correlation says of features."""

    objective: str

    def sample_masks(
        self, X: Any, n_draws: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> np.ndarray:
        """Draw masks from the learned copula itself: bool (n_draws, n, d)."""
        rows = self._check_rows(X)
        if not isinstance(n_draws, Integral) or n_draws < 1:
            raise ValueError(f"n_draws must be a whole number from 1; got {n_draws!r}")
        generator = generator_on(resolve_device(self.device), spawn_seeds(random_state, 1)[0])
        masks = np.zeros((n_draws, *rows.shape), dtype=bool)
        for part, model, x in self._blocks(rows, self._entries_of_loadings()):
            choice = model.gates(x)
            for index in range(n_draws):
                draw = model.sample(choice, choice.scores.shape[:-1], generator)
                masks[index, part][:, self.union_] = (draw[0] > 0.5).cpu().numpy()[:, self.union_gates_]
        return masks

    def correlation(self, X: Any) -> Any:
        """The learned correlation R of the gates, averaged over the rows of X: (d, d).

        With the honest objective R < 0 says that two features are interchangeable, R > 0 that they work together, and
        all rows share one R.
        """
        rows = self._check_rows(X)
        result = np.eye(rows.shape[1])
        result[np.ix_(self.union_, self.union_)] = self._mean_correlation(rows)
        return frame_like(X, result, self._names(), per_row=False)

    def interchangeable(self, threshold: float = 0.5, X: Any = None) -> list[list[str]]:
        """Groups of features that stand for each other: gates correlated below -threshold, directly or in a chain.

        Joint training gives every row its own correlation: say for which rows with `X`.
        """
        check_is_fitted(self)
        if not 0 < threshold <= 1:
            raise ValueError(f"threshold must be in (0, 1]; got {threshold}")
        if X is None and self.objective == "joint":
            raise ValueError("with objective='joint' every row has its own correlation: pass X")
        rows = self.encoding_.scaling.centre[np.newaxis] if X is None else self._check_rows(X)
        linked = self._mean_correlation(rows) < -threshold
        names, (count, group) = np.array(self._names())[self.union_], connected_components(linked, directed=False)
        groups = [names[group == g].tolist() for g in range(count)]
        return [members for members in groups if len(members) > 1]

    def _mean_correlation(self, rows: np.ndarray) -> np.ndarray:
        """R among the features of the union, averaged over rows: (w, w); 1 inside a group."""
        width = self.model_.architecture.n_features
        total = np.zeros((width, width))
        for _, model, x in self._blocks(rows, width * max(width, self._entries_of_loadings())):
            correlation = model.covariance(model.gates(x)).correlation()
            total += correlation.expand(1, x.shape[1], width, width).sum((0, 1)).cpu().numpy()
        return (total / rows.shape[0])[np.ix_(self.union_gates_, self.union_gates_)]
