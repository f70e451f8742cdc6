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
from sklearn.utils import Tags, check_array, check_consistent_length, check_X_y
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data
from torch import Tensor

from sklar.estimators.columns import number_columns, read_columns
from sklar.estimators.encoding import Encoding, Known, all_inputs, learn_categories
from sklar.estimators.exports import Exports
from sklar.estimators.fitting import train
from sklar.estimators.frames import frame_like
from sklar.estimators.gating import Gating, gating
from sklar.estimators.readable import ReadableAnswers
from sklar.estimators.scaling import EVERY, Scaling
from sklar.estimators.sparse import by_columns, dense, like, where_selected
from sklar.estimators.weights import arranged, weights_of_rows, without_zeros
from sklar.model.gates import Gates
from sklar.model.selection import GateModel
from sklar.training.objectives import Task
from sklar.training.prescreen import WIDEST, strongest_features
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
        fitted = train(
            self.get_params(deep=False),
            torch.from_numpy(all_inputs(encoding, rows, gates.columns)).to(device),
            labels,
            task,
            k,
            spawn_seeds(self.random_state, 1)[0],
            gates.gates,
            counts,
        )
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

    # Reading tables.

    @property
    def scaling_(self) -> Scaling:
        """Centre and spread of the columns."""
        return self.encoding_.scaling

    def _read(self, X: Any, y: Any) -> tuple[Known | None, Any, np.ndarray]:
        """A table's categories, its rows (see `encoding`) and the target, checked."""
        columns = read_columns(X)
        check = {"ensure_all_finite": False, "ensure_min_samples": 2}
        plain = {**check, "dtype": "numeric", "accept_sparse": "csr"}
        pairs = getattr(self, "loss", None) == "cox" and y is not None  # an event and a time: no check knows them
        shape = () if pairs else np.asarray(y).shape
        several = len(shape) == 2 and shape[1] > 1
        if columns is None and pairs:
            rows = validate_data(self, X, "no_validation", **plain)
            check_consistent_length(rows, y)
            return None, rows, np.asarray(y)
        if columns is None:
            rows, y = validate_data(self, X, y, multi_output=several, **plain)
            return None, rows, y
        self._see_names(X, y, reset=True)
        check_consistent_length(columns[0].values, y)
        known, rows = learn_categories(columns)
        if pairs:
            return known, check_array(rows, estimator=self, **check), np.asarray(y)
        rows, y = check_X_y(rows, y, multi_output=several, estimator=self, **check)
        return known, rows, y

    def _see_names(self, X: Any, y: Any, reset: bool) -> None:
        """Note or compare the names and the number of columns."""
        if isinstance(X, dict):  # named columns, as of a file
            if reset:
                self.feature_names_in_, self.n_features_in_ = np.array([*X], dtype=object), len(X)
            elif [*X] != self._names():
                raise ValueError(f"the feature names should be those of fit: {', '.join(self._names()[:10])}")
            return
        validate_data(self, X, "no_validation" if y is None and not reset else y, reset=reset, skip_check_array=True)

    # Answering.

    def _names(self) -> list[str]:
        return [str(name) for name in _check_feature_names_in(self)]

    def _check_rows(self, X: Any) -> Any:
        """The table's rows (see `encoding`), or CSR; only what the model reads must be known to it."""
        check_is_fitted(self)
        columns = read_columns(X)
        if columns is None and not self.encoding_.has_text:
            rows = validate_data(self, X, dtype="numeric", accept_sparse="csr", ensure_all_finite=False, reset=False)
        else:
            self._see_names(X, None, reset=False)
            columns = columns or number_columns(X, self._names())
            rows = check_array(self.encoding_.rows(columns), ensure_all_finite=False, estimator=self)
        self.encoding_.require_known(rows, self._names(), self._read_columns())
        return rows

    def _read_columns(self) -> slice | np.ndarray:
        """The columns of the union; a slice, which copies nothing, where that is all of them."""
        return EVERY if np.array_equal(self.union_, np.arange(self.n_features_in_)) else self.union_

    def _blocks(self, rows: np.ndarray, width: int) -> Iterator[tuple[slice, GateModel, Tensor]]:
        """Blocks of rows, scaled, on the device, with the model there: bounded memory for any number of rows."""
        device = resolve_device(self.device)
        model = self.model_ if device.type == "cpu" else copy.deepcopy(self.model_).to(device)
        a = self.model_.architecture
        size = max(1, BLOCK_ENTRIES // max(width, a.n_inputs, a.choice_hidden, 4 * a.predict_hidden))
        columns = self._read_columns()
        with torch.inference_mode():
            for start in range(0, rows.shape[0], size):
                part = slice(start, min(start + size, rows.shape[0]))
                x = self.encoding_.apply(dense(rows[part], columns), columns)
                yield part, model, torch.from_numpy(x).unsqueeze(0).to(device)

    def _map_rows(self, rows: np.ndarray, answer: Answer, width: int, dtype: type, draws: int = 1) -> np.ndarray:
        """`answer` for every row: (n, width)."""
        result: np.ndarray = np.empty((rows.shape[0], width), dtype=dtype)
        for part, model, x in self._blocks(rows, draws):
            result[part] = answer(model, x)[0].cpu().numpy()
        return result

    def _per_feature(self, rows: np.ndarray, answer: Answer, dtype: type, draws: int = 1) -> Any:
        """`answer` about every feature of every row, 0 for features that the model does not read: (n, d)."""
        inside = self._map_rows(rows, answer, self.model_.architecture.n_features, dtype, draws)
        if inside.shape[1] < len(self.union_):  # columns that share a gate
            inside = inside[:, self.union_gates_]
        return like(rows, inside, self.union_, self.n_features_in_)

    def _masks(self, rows: Any) -> Any:
        return self._per_feature(rows, _decide, bool)

    def _outputs(self, rows: np.ndarray) -> np.ndarray:
        """What is predicted from the selected features: logits or values, (n, out)."""
        n_outputs = self.model_.architecture.n_outputs
        return self._map_rows(rows, lambda model, x: model.output(x, _decide(model, x).to(x.dtype)), n_outputs, float)

    def _mean_correlation(self, rows: np.ndarray) -> np.ndarray:
        """R among the features of the union, averaged over rows: (w, w); 1 inside a group."""
        width = self.model_.architecture.n_features
        total = np.zeros((width, width))
        for _, model, x in self._blocks(rows, width * max(width, self._entries_of_loadings())):
            correlation = model.covariance(model.gates(x)).correlation()
            total += correlation.expand(1, x.shape[1], width, width).sum((0, 1)).cpu().numpy()
        return (total / rows.shape[0])[np.ix_(self.union_gates_, self.union_gates_)]

    def _entries_of_loadings(self) -> int:
        """Entries of L for one row; none where all rows share L."""
        return sum(value.shape[-1] for name, value in self.model_.named_parameters() if name.endswith(LOADINGS_HEAD))


def _decide(model: GateModel, x: Tensor) -> Tensor:
    return model.decide(model.scores(x))
