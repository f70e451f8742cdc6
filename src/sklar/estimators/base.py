"""The scikit-learn contract, shared by all four estimators: check, scale, train; then answer in blocks of rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
from torch import Tensor

from sklar.estimators.exports import Exports
from sklar.estimators.fitting import train
from sklar.estimators.frames import frame_like
from sklar.estimators.readable import ReadableAnswers
from sklar.estimators.scaling import EVERY, Scaling, require_finite
from sklar.estimators.sparse import by_columns, dense, like, where_selected
from sklar.model.selection import GateModel
from sklar.training.objectives import Task
from sklar.training.prescreen import WIDEST, strongest_columns
from sklar.training.runtime import generator_on, resolve_device, spawn_seeds

# Entries of the widest array that answering a block of rows may make (float64: 16 MiB).
BLOCK_ENTRIES = 2**21

LOADINGS_HEAD = "choice.loadings.weight"

Answer = Callable[[GateModel, Tensor], Tensor]  # rows (1, b, w) -> (1, b, ...)


class CopulaEstimator(ReadableAnswers, Exports, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Everything but the task (classifier, regressor) and the mask (selector, ranker).

    A model reads the columns of `union_` alone. Networks train in float32 and answer in float64, so that what a row
    gets does not depend on rounding, and hence not on which other rows are in the call.
    """

    def fit(self, X: Any, y: Any) -> CopulaEstimator:
        """Learn which features decide each row.

        Parameters
        ----------
        X : table of numbers, (n, d): numpy, pandas, polars, pyarrow, or a sparse matrix (read as CSR)
        y : target, (n,)

        Returns
        -------
        self
        """
        self._validate_params()
        device = resolve_device(self.device)
        X, y = validate_data(self, X, y, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=2)
        names = self._names()
        require_finite(X, names)
        k = self._features_per_row()
        target, task = self._encode_target(y)
        self.scaling_ = Scaling.of(X, names)
        labels = torch.from_numpy(target).to(device)
        columns = self._columns_to_train(X, labels, task, k)
        fitted = train(
            self.get_params(deep=False),
            self._scaled(X, columns, device),
            labels,
            task,
            k,
            spawn_seeds(self.random_state, 1)[0],
        )
        self.model_ = fitted.model.cpu().double().eval()
        self.union_ = np.arange(X.shape[1], dtype=np.intp)[columns][fitted.union]
        self.penalty_, self.path_, self.history_ = fitted.penalty, fitted.path, fitted.history
        return self

    def select(self, X: Any) -> Any:
        """Which features decide each row: bool (n, d); a DataFrame in gives a DataFrame out."""
        return frame_like(X, self._masks(self._check_rows(X)), self._names())

    @property
    def n_models_(self) -> int:
        """How many models were trained; the word may have changed since."""
        return max(1, len(getattr(self.model_.architecture, "members", ())))

    def selection_frequency(self, X: Any) -> Any:
        """The share of the models (`n_models`) that select each feature of each row: float (n, d).

        With one model it is 0 or 1: `select` as numbers.
        """
        rows = self._check_rows(X)
        width = self.n_models_ * len(self.union_)
        shares = self._per_feature(rows, lambda model, x: model.votes(x), float, width)
        return frame_like(X, shares, self._names())

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
                masks[index, part][:, self.union_] = (draw[0] > 0.5).cpu().numpy()
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
        rows = self.scaling_.centre[np.newaxis] if X is None else self._check_rows(X)
        linked = self._mean_correlation(rows) < -threshold
        names, (count, group) = np.array(self._names())[self.union_], connected_components(linked, directed=False)
        groups = [names[group == g].tolist() for g in range(count)]
        return [members for members in groups if len(members) > 1]

    def transform(self, X: Any) -> Any:
        """X where selected, 0 elsewhere, at full width (n, d)."""
        rows = self._check_rows(X)
        return where_selected(rows, self._masks(rows))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file that `sklar.load` reads without running code."""
        from sklar.estimators.files import save

        save(self, path)

    def __sklearn_tags__(self) -> Tags:
        """Say that y is needed and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # What subclasses fill in.

    def _encode_target(self, y: np.ndarray) -> tuple[np.ndarray, Task]:
        raise NotImplementedError

    def _predict_rows(self, rows: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _features_per_row(self) -> int | None:
        """Exactly how many features a row gets, or None for as many as it needs."""
        raise NotImplementedError

    def _columns_to_train(self, X: Any, labels: Tensor, task: Task, k: int | None) -> slice | np.ndarray:
        """All columns; of a very wide table those that a look at each alone finds strongest."""
        most = max(WIDEST, 2 * (k or 0))
        if X.shape[1] <= most or self.objective == "joint":
            return EVERY
        table = by_columns(X)
        return strongest_columns(lambda part: self._scaled(table, part, labels.device), X.shape[1], labels, task, most)

    def _scaled(self, X: Any, columns: slice | np.ndarray, device: torch.device) -> Tensor:
        """Some columns to train on: float32 (n, c)."""
        return torch.from_numpy(self.scaling_.apply(dense(X, columns), columns).astype(np.float32)).to(device)

    # Answering.

    def _names(self) -> list[str]:
        return [str(name) for name in _check_feature_names_in(self)]

    def _check_rows(self, X: Any) -> Any:
        """The table as an array, or CSR; only what the model reads must be finite."""
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", ensure_all_finite=False, reset=False)
        require_finite(rows, self._names(), self._read_columns())
        return rows

    def _read_columns(self) -> slice | np.ndarray:
        """The columns of the union; a slice, which copies nothing, where that is all of them."""
        return EVERY if len(self.union_) == self.n_features_in_ else self.union_

    def _blocks(self, rows: np.ndarray, width: int) -> Iterator[tuple[slice, GateModel, Tensor]]:
        """Blocks of rows, scaled, on the device, with the model there: bounded memory for any number of rows."""
        device = resolve_device(self.device)
        model = self.model_ if device.type == "cpu" else copy.deepcopy(self.model_).to(device)
        a = self.model_.architecture
        size = max(1, BLOCK_ENTRIES // max(width, a.n_features, a.choice_hidden, 4 * a.predict_hidden))
        columns = self._read_columns()
        with torch.inference_mode():
            for start in range(0, rows.shape[0], size):
                part = slice(start, min(start + size, rows.shape[0]))
                x = self.scaling_.apply(dense(rows[part], columns), columns)
                yield part, model, torch.from_numpy(x).unsqueeze(0).to(device)

    def _map_rows(self, rows: np.ndarray, answer: Answer, width: int, dtype: type, draws: int = 1) -> np.ndarray:
        """`answer` for every row: (n, width)."""
        result: np.ndarray = np.empty((rows.shape[0], width), dtype=dtype)
        for part, model, x in self._blocks(rows, draws):
            result[part] = answer(model, x)[0].cpu().numpy()
        return result

    def _per_feature(self, rows: np.ndarray, answer: Answer, dtype: type, draws: int = 1) -> Any:
        """`answer` about every feature of every row, 0 for features that the model does not read: (n, d)."""
        inside = self._map_rows(rows, answer, len(self.union_), dtype, draws)
        return like(rows, inside, self.union_, self.n_features_in_)

    def _masks(self, rows: Any) -> Any:
        return self._per_feature(rows, _decide, bool)

    def _outputs(self, rows: np.ndarray) -> np.ndarray:
        """What is predicted from the selected features: logits or values, (n, out)."""
        n_outputs = self.model_.architecture.n_outputs
        return self._map_rows(rows, lambda model, x: model.output(x, _decide(model, x).to(x.dtype)), n_outputs, float)

    def _mean_correlation(self, rows: np.ndarray) -> np.ndarray:
        """R among the features of the union, averaged over rows: (w, w)."""
        width = len(self.union_)
        total = np.zeros((width, width))
        for _, model, x in self._blocks(rows, width * max(width, self._entries_of_loadings())):
            correlation = model.covariance(model.gates(x)).correlation()
            total += correlation.expand(1, x.shape[1], width, width).sum((0, 1)).cpu().numpy()
        return total / rows.shape[0]

    def _entries_of_loadings(self) -> int:
        """Entries of L for one row; none where all rows share L."""
        return sum(value.shape[-1] for name, value in self.model_.named_parameters() if name.endswith(LOADINGS_HEAD))


def _decide(model: GateModel, x: Tensor) -> Tensor:
    return model.decide(model.scores(x))
