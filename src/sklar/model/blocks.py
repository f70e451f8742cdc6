"""Which features may depend on each other: blocks of correlated features, for covariance="block"."""

from __future__ import annotations

import numpy as np


def correlated_blocks(
    X: np.ndarray, threshold: float = 0.3, of_input: np.ndarray | None = None
) -> tuple[tuple[int, ...], ...]:
    """Group features by agglomerative clustering (average linkage) on 1 - |correlation|.

    Features of mean absolute correlation above `threshold` share a block; constant features stand alone. Where a
    feature is several columns of X (`of_input` gives the feature of each), its strongest correlation counts.

    Examples
    --------
    >>> x = np.array([[1.0, 1.1, 0.3], [2.0, 2.1, -0.2], [3.0, 2.9, 0.1], [4.0, 4.2, -0.1]])
    >>> correlated_blocks(x, threshold=0.9)
    ((0, 1), (2,))
    """
    from sklearn.cluster import AgglomerativeClustering

    if X.shape[1] == 1 or (of_input is not None and of_input.max() == 0):
        return ((0,),)
    distance = np.clip(1 - absolute_correlation(X, of_input), 0, 1)
    np.fill_diagonal(distance, 0)
    clustering = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=1 - threshold
    )
    labels = clustering.fit_predict(distance)
    blocks = (tuple(int(i) for i in np.flatnonzero(labels == label)) for label in np.unique(labels))
    return tuple(sorted(blocks))


def absolute_correlation(X: np.ndarray, of_input: np.ndarray | None = None) -> np.ndarray:
    """|correlation| of features, of those of several columns the strongest, 0 for constant ones: (d, d).

    Examples
    --------
    >>> x = np.array([[1.0, -1.0, 0.0], [2.0, -2.0, 0.0], [3.0, -3.0, 0.0]])
    >>> absolute_correlation(x).round(2).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    centred = X - X.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    unit = centred / np.where(norms > 0, norms, 1)
    correlation: np.ndarray = np.abs(unit.T @ unit)
    if of_input is None:
        return correlation
    starts = np.searchsorted(of_input, np.arange(of_input.max() + 1))
    return np.maximum.reduceat(np.maximum.reduceat(correlation, starts, axis=0), starts, axis=1)
