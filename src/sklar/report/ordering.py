"""Orders in which like things are neighbours: rows by their masks, features by their links."""

from __future__ import annotations

import numpy as np

# More different masks than this are sorted by their most frequent features instead of clustered.
MOST_CLUSTERED = 1_000


def cluster_order(masks: np.ndarray) -> np.ndarray:
    """An order of the rows in which like masks are neighbours: int (n,).

    Examples
    --------
    >>> cluster_order(np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0]])).tolist()
    [0, 2, 3, 1]
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist

    patterns, member = np.unique(masks, axis=0, return_inverse=True)
    place = np.arange(len(patterns))
    if len(patterns) > MOST_CLUSTERED:
        frequent_first = np.argsort(masks.mean(axis=0), kind="stable")
        place[np.lexsort(~patterns.astype(bool)[:, frequent_first].T)] = np.arange(len(patterns))
    elif len(patterns) > 2:
        leaves = leaves_list(linkage(pdist(patterns, "cityblock"), "average", optimal_ordering=True))
        place[leaves] = np.arange(len(patterns))
    return np.argsort(place[member.ravel()], kind="stable")


def strongest(correlation: np.ndarray, most: int) -> np.ndarray:
    """The features with the strongest links, at most so many, in the order of the columns."""
    links = np.abs(correlation - np.diag(np.diag(correlation))).max(axis=0, initial=0)
    return np.sort(np.argsort(-links, kind="stable")[:most])


def linked_order(correlation: np.ndarray) -> np.ndarray:
    """An order of the features in which strongly linked ones, of either sign, are neighbours: int (d,)."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(correlation) < 3:
        return np.arange(len(correlation))
    distance = 1 - np.clip(np.abs(correlation), 0, 1)
    distance = (distance + distance.T) / 2
    np.fill_diagonal(distance, 0)
    return leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True))
