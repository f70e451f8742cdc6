import numpy as np
import pytest

from sklar.report.plots import plot_correlation
from sklar.report.plots.dependence import linked_order, strongest


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


def test_the_map_shows_the_reordered_values_and_writes_them():
    correlation = two_groups()
    ax = plot_correlation(correlation, [f"f{i}" for i in range(12)])
    order = [int(label.get_text()[1:]) for label in ax.get_yticklabels()]
    drawn = np.asarray(ax.images[0].get_array())
    off = ~np.eye(12, dtype=bool)
    np.testing.assert_array_equal(drawn[off], correlation[np.ix_(order, order)][off])
    written = [text.get_text() for text in ax.texts]
    assert sorted(set(written)) == ["+.9", "\N{MINUS SIGN}.5"] or sorted(set(written)) == ["+.9", "\N{MINUS SIGN}.4"]
    assert len(written) == 8


def test_many_features_get_signs_and_a_limit():
    correlation = two_groups(50)
    ax = plot_correlation(correlation, most=20)
    assert len(ax.get_yticklabels()) == 20
    assert "20 of 50" in ax.get_title("left")
    assert {text.get_text() for text in ax.texts} == {"+"}  # -0.45 is no strong link


def test_the_strongest_links_are_kept():
    assert strongest(two_groups(), 5).tolist() == [0, 1, 4, 7, 8]


def test_one_and_two_features_can_be_drawn():
    for d in (1, 2):
        assert plot_correlation(np.eye(d)).images[0].get_array().shape == (d, d)


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="as many rows as columns"):
        plot_correlation(np.ones((2, 3)))
