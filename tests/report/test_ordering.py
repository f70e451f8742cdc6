import numpy as np
import pytest

from sklar.report import ordering
from sklar.report.ordering import cluster_order, linked_order, strongest


def changes(masks):
    """How many cells change from a row to the next."""
    return np.abs(np.diff(masks.astype(int), axis=0)).sum()


@pytest.mark.parametrize("most", [1_000, 3])
def test_sorting_keeps_the_rows_and_puts_like_ones_together(most, monkeypatch):
    monkeypatch.setattr(ordering, "MOST_CLUSTERED", most)
    masks = np.random.default_rng(0).random((200, 5)) > 0.5
    order = cluster_order(masks)
    assert sorted(order) == list(range(200))
    assert changes(masks[order]) < 0.4 * changes(masks)
    patterns = np.unique(masks, axis=0, return_inverse=True)[1][order]
    assert np.count_nonzero(np.diff(patterns)) == len(np.unique(patterns)) - 1  # each pattern in one piece


def two_groups(d=12):
    """Features 0, 4, 8 exclude each other, 1 and 7 work together."""
    correlation = np.eye(d)
    for group, value in (([0, 4, 8], -0.45), ([1, 7], 0.9)):
        for i in group:
            for j in group:
                correlation[i, j] = 1 if i == j else value
    return correlation


def test_groups_become_neighbours():
    order = linked_order(two_groups()).tolist()
    assert sorted(order) == list(range(12))
    for group in ([0, 4, 8], [1, 7]):
        places = [order.index(i) for i in group]
        assert max(places) - min(places) == len(group) - 1


def test_the_strongest_links_are_kept():
    assert strongest(two_groups(), 5).tolist() == [0, 1, 4, 7, 8]
