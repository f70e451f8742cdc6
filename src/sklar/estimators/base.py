"""The scikit-learn contract, shared by all four estimators: check, scale, train; then answer in blocks of rows."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from torch import Tensor

from sklar.estimators.dependence import Dependence
from sklar.estimators.exports import Exports
from sklar.estimators.readable import ReadableAnswers
from sklar.model.gates import Gates
from sklar.table.encoding import Encoding, all_inputs
from sklar.table.frames import frame_like
from sklar.table.gating import Gating, gating
from sklar.table.sparse import by_columns, dense, where_selected
from sklar.table.weights import arranged, weights_of_rows, without_zeros
from sklar.training.data import TrainingData
from sklar.training.engine.runtime import resolve_device, spawn_seeds
from sklar.training.honest.fit import train_honest
from sklar.training.honest.prescreen import WIDEST, strongest_features
from sklar.training.joint.fit import train_joint
from sklar.training.tasks import Task


class CopulaEstimator(ReadableAnswers, Exports, Dependence, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Everything but the task (classifier, regressor) and the mask (selector, ranker).

    A model reads the columns of `union_` alone. Networks train in float32 and answer in float64, so that what a row
    gets does not depend on rounding, and hence not on which other rows are in the call.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CopulaEstimator:
        """Learn which features decide each row.

        Parameters
        ----------
        X : table, (n, d): numpy, pandas, polars or pyarrow; numbers, booleans, categories or text, also missing
            Or a sparse matrix of numbers (read as CSR), nothing in it missing.
        y : target, (n,); several, (n, targets); or for loss="cox" a structured array of an event and a time
        sample_weight : what each row counts, (n,), from 0; None is 1 for all
            A whole number is as many copies of the row, and 0 is none.

        Returns
        -------
        self
        """
        self._validate_params()
        device = resolve_device(self.device)
        X, y, weight = without_zeros(X, y, weights_of_rows(sample_weight, X))
        known, rows, y = self._read(X, y)
        rows, y, weight = arranged(rows, y, weight)
        encoding = Encoding.of(rows, self._names(), known)
        encoding.require_room(rows.shape[0], self._names())
        gates = gating(self.get_params(deep=False), self._names(), encoding.widths())
        k = self._features_per_row(gates.gates)
        target, task, weight = self._encode_target(y, weight)
        labels = torch.from_numpy(target).to(device)
        counts = None if weight is None else torch.from_numpy(weight.astype(np.float32)).to(device)
        gates = self._gates_to_train(gates, encoding, rows, labels, task, k, counts)
        x = torch.from_numpy(all_inputs(encoding, rows, gates.columns)).to(device)
        train = train_joint if self.objective == "joint" else train_honest
        data, seed = TrainingData(x, labels, counts, gates.gates), spawn_seeds(self.random_state, 1)[0]
        fitted = train(self.get_params(deep=False), data, task, k, seed)
        self.encoding_, self.model_ = encoding, fitted.model.cpu().double().eval()
        kept = np.isin(gates.gate, fitted.union)
        self.union_ = gates.columns[kept]
        self.union_gates_ = np.searchsorted(fitted.union, gates.gate[kept])
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

    def transform(self, X: Any) -> Any:
        """X where selected, 0 elsewhere, at full width (n, d).

        Categories are numbered from 1 in the order of `encoding_.categories`, unseen ones last; missing values that
        were selected stay missing (NaN).
        """
        rows = self._check_rows(X)
        values = rows + [kept is not None for kept in self.encoding_.categories] if self.encoding_.has_text else rows
        return where_selected(values, self._masks(rows))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file that `sklar.load` reads without running code."""
        from sklar.estimators.files import save

        save(self, path)

    def __sklearn_tags__(self) -> Tags:
        """Say that y is needed, that values may be missing, and that float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # What subclasses fill in.

    def _encode_target(self, y: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, Task, np.ndarray | None]:
        """Numbers to learn, what to learn them by, and what rows count."""
        raise NotImplementedError

    def _predict_rows(self, rows: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _features_per_row(self, gates: Gates) -> int | None:
        """Exactly how many features a row gets, or None for as many as it needs."""
        raise NotImplementedError

    def _gates_to_train(
        self,
        gates: Gating,
        encoding: Encoding,
        rows: Any,
        labels: Tensor,
        task: Task,
        k: int | None,
        weight: Tensor | None,
    ) -> Gating:
        """All features; of a very wide table the forced ones, and those that a look at each alone finds strongest."""
        n_forced = 0 if gates.gates.forced is None else int(gates.gates.forced.sum())
        most = max(WIDEST, 2 * (k or 0), n_forced)
        if gates.gates.n <= most or self.objective == "joint":
            return gates
        table, columns, device = by_columns(rows), gates.columns, labels.device
        everything = np.array_equal(columns, np.arange(rows.shape[1]))

        def block(part: slice) -> Tensor:
            read = part if everything else columns[part]  # a slice copies nothing
            return torch.from_numpy(encoding.apply(dense(table, read), read).astype(np.float32)).to(device)

        known = gates.gates.to(device)
        return gates.only(strongest_features(block, len(columns), labels, task.to(device), most, known, weight))
