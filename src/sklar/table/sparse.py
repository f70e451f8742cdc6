"""Sparse tables (scipy CSR): read by blocks of rows or of columns, never made dense whole; sparse in, sparse out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Columns = slice | np.ndarray


def dense(X: Any, columns: Columns = slice(None)) -> np.ndarray:
    """Some columns of a table as a plain array: (n, c).

    Examples
    --------
    >>> dense(sparse.csr_array([[0, 2], [1, 0]]), slice(1, 2)).tolist()
    [[2], [0]]
    """
    return X[:, columns].toarray() if sparse.issparse(X) else X[:, columns]


def by_columns(X: Any) -> Any:
    """The table in the order that makes blocks of columns cheap to read."""
    return X.tocsc() if sparse.issparse(X) else X


def like(X: Any, inside: np.ndarray, columns: np.ndarray, n_features: int) -> Any:
    """Values of some columns (n, w) at full width (n, d), 0 elsewhere: sparse where X is, else dense."""
    if not sparse.issparse(X):
        if np.array_equal(columns, np.arange(n_features)):
            return inside
        wide: np.ndarray = np.zeros((len(inside), n_features), dtype=inside.dtype)
        wide[:, columns] = inside
        return wide
    rows, places = np.nonzero(inside)
    kind = type(X) if X.format == "csr" else sparse.csr_array
    return kind((inside[rows, places], (rows, columns[places])), shape=(inside.shape[0], n_features))


def where_selected(X: Any, masks: Any) -> Any:
    """X where its mask is True, 0 elsewhere: like X."""
    if sparse.issparse(X):
        return type(X)(X.multiply(masks).tocsr())
    return np.where(masks, X, np.zeros((), dtype=X.dtype))
