import numpy as np
import pytest

from sklar.report.plots import plot_correlation
from tests.report.test_ordering import two_groups


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


def test_one_and_two_features_can_be_drawn():
    for d in (1, 2):
        assert plot_correlation(np.eye(d)).images[0].get_array().shape == (d, d)


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="as many rows as columns"):
        plot_correlation(np.ones((2, 3)))
