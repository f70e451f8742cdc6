"""Boosted trees as plain arrays."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from sklar.predictor.conversion import as_trees
from sklar.predictor.trees import LEAF, MANY_ROWS, Trees, joined, together


def stump(threshold=0.0, missing_left=True, low=-1.0, high=1.0):
    return {
        "feature": np.array([0, LEAF, LEAF]),
        "threshold": np.array([threshold, 0, 0]),
        "missing_left": np.array([missing_left, False, False]),
        "left": np.array([1, 0, 0]),
        "right": np.array([2, 0, 0]),
        "value": np.array([0, low, high]),
    }


def test_trees_add_up_by_output():
    trees = joined([stump(), stump(1.0, False, 10, 20)], [0, 1], np.array([0.5, 100]))
    x = np.array([[-1.0], [0.0], [0.5], [2.0], [np.nan]])
    np.testing.assert_array_equal(trees(x), [[-0.5, 110], [-0.5, 110], [1.5, 110], [1.5, 120], [-0.5, 120]])


def test_many_rows_are_answered_as_few_are():
    trees = joined([stump(t) for t in np.linspace(-2, 2, 50)], [0] * 50, np.zeros(1))
    x = np.random.default_rng(0).standard_normal((5000, 1))
    np.testing.assert_array_equal(trees(x), np.concatenate([trees(row[None]) for row in x]))


def test_rows_go_down_one_tree_after_the_other_as_they_do_down_all():
    """Trees of different depths, NaN to either side, several outputs, and one that is a leaf: to the bit."""
    x = np.random.default_rng(0).standard_normal((MANY_ROWS + 100, 4)).astype(np.float32)
    x[np.random.default_rng(1).random(x.shape) < 0.3] = np.nan
    y = np.digitize(np.nansum(x, axis=1), [-1, 1])
    found = as_trees(HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(x, y), x).trees
    alone = {name: np.zeros(1, dtype=int) for name in ("left", "right", "missing_left")}
    leaf = {"feature": np.array([LEAF]), "threshold": np.zeros(1), "value": np.array([0.25]), **alone}
    trees = together([found, joined([leaf], [2], np.zeros(3))])
    few = [trees(part) for part in np.array_split(x, 10)]
    np.testing.assert_array_equal(trees(x), np.concatenate(few))


def test_a_threshold_beyond_all_numbers_is_finite():
    trees = joined([stump(np.inf, False)], [0], np.zeros(1))
    np.testing.assert_array_equal(trees(np.array([[1e300], [np.nan]]))[:, 0], [-1, 1])
    assert np.isfinite(trees.threshold).all()


def test_arrays_and_back():
    trees = joined([stump(), stump(0.5)], [0, 0], np.zeros(1))
    again = Trees.from_arrays(trees.arrays(), 1)
    x = np.random.default_rng(0).standard_normal((20, 1))
    np.testing.assert_array_equal(again(x), trees(x))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("feature", [1, -1, -1, 0, -1, -1]),  # a column that is not there
        ("feature", [0.5, -1, -1, 0, -1, -1]),
        ("feature", [0, -1, -1, 0, -1]),
        ("left", [0, 0, 0, 4, 0, 0]),  # a node that is its own child: a way down without an end
        ("right", [6, 0, 0, 5, 0, 0]),
        ("threshold", [0.0]),
        ("missing_left", [1e300, 0, 0, 0, 0, 0]),
        ("root", [6, 0]),
        ("root", [0]),
        ("output", [0, 1]),
    ],
)
def test_what_is_no_tree_is_refused(name, value):
    arrays = joined([stump(), stump()], [0, 0], np.zeros(1)).arrays()
    with pytest.raises(ValueError, match="must"):
        Trees.from_arrays({**arrays, name: np.array(value, dtype=float)}, 1)


def test_the_first_rounds_and_the_mean_of_several():
    trees = joined([stump(0), stump(0.5), stump(1), stump(1.5)], [0, 1, 0, 1], np.array([1.0, 2.0]))
    x = np.random.default_rng(0).standard_normal((50, 1))
    first = joined([stump(0), stump(0.5)], [0, 1], np.array([1.0, 2.0]))
    np.testing.assert_array_equal(trees.first(1)(x), first(x))
    np.testing.assert_array_equal(trees.first(2)(x), trees(x))
    both = together([trees, first])
    np.testing.assert_allclose(both(x), (trees(x) + first(x)) / 2)
    np.testing.assert_array_equal(Trees.from_arrays(both.arrays(), 1)(x), both(x))
