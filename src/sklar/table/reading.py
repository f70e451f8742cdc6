"""Reading tables, as a mixin: rows, names and categories of whatever a user hands over, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, check_X_y
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from sklar.table.columns import number_columns, read_columns
from sklar.table.encoding import Encoding, Known, learn_categories
from sklar.table.scaling import EVERY, Scaling


class TableReading:
    """How an estimator sees a table: at first in `fit`, and as it was in `fit` ever after."""

    n_features_in_: int
    feature_names_in_: np.ndarray
    encoding_: Encoding
    union_: np.ndarray  # the columns that the model reads

    @property
    def scaling_(self) -> Scaling:
        """Centre and spread of the columns."""
        return self.encoding_.scaling

    def _names(self) -> list[str]:
        return [str(name) for name in _check_feature_names_in(self)]

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

    def _see_names(self, X: Any, y: Any, reset: bool) -> None:
        """Note or compare the names and the number of columns."""
        if isinstance(X, dict):  # named columns, as of a file
            if reset:
                self.feature_names_in_, self.n_features_in_ = np.array([*X], dtype=object), len(X)
            elif [*X] != self._names():
                raise ValueError(f"the feature names should be those of fit: {', '.join(self._names()[:10])}")
            return
        validate_data(self, X, "no_validation" if y is None and not reset else y, reset=reset, skip_check_array=True)

    def _read_columns(self) -> slice | np.ndarray:
        """The columns of the union; a slice, which copies nothing, where that is all of them."""
        return EVERY if np.array_equal(self.union_, np.arange(self.n_features_in_)) else self.union_
