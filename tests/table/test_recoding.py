"""A column read off its copy: numbers by a line, categories by pairs, and nothing where neither says."""

import numpy as np
import pytest
from scipy import sparse

from sklar.table.recoding import MOST_PAIRS, Recoding, learn_recodings, read_off_copies

N = 400
A = np.random.default_rng(0).standard_normal(N)


def learned(column, copy, kept=None, others=None):
    (one,) = learn_recodings(np.stack([column, copy], axis=1), [[0, 1]], [kept, others])
    return one


@pytest.mark.parametrize("copy", [2.54 * A, -A, 1000 + A / 7, np.round(2.54 * A, 2), 5 * A[::-1][::-1]])
def test_numbers_in_another_unit(copy):
    one = learned(A, copy)
    np.testing.assert_allclose(one.values(copy), A, atol=0.01)
    assert not one.differ(np.stack([A, copy], axis=1)).any()
    assert one.differ(np.stack([A, copy + 0.1 * np.std(copy)], axis=1)).all()


def test_few_numbers_and_categories_under_other_names():
    code = (np.arange(N) % 3).astype(float)
    names = np.array([2.0, 0.0, 1.0])[np.arange(N) % 3]
    one = learned(code, names, others=("x", "y", "z"))
    assert one.pairs == ((0.0, 1.0), (1.0, 2.0), (2.0, 0.0))
    np.testing.assert_array_equal(one.values(np.array([2.0, 0.0, np.nan, 3.0])), [0, 1, np.nan, np.nan])
    rows = np.array([[0.0, 2.0], [0.0, 1.0], [0.0, np.nan], [np.nan, 2.0], [np.nan, np.nan], [0.0, 3.0]])
    assert one.differ(rows).tolist() == [False, True, True, True, False, True]


def test_the_code_that_rare_and_unseen_categories_share_says_nothing():
    code = (np.arange(N) % 3).astype(float)
    assert learned(code, code, ("u", "v"), ("x", "y")).pairs == ((0.0, 0.0), (1.0, 1.0))


def test_many_values_that_no_line_goes_through_say_nothing_of_each_other():
    one = learned(A, np.exp(A))
    assert (one.line, one.pairs) == (None, ())
    assert np.isnan(one.values(np.exp(A))).all()
    assert one.differ(np.array([[0.0, 1.0], [0.0, 5.0], [0.0, np.nan]])).tolist() == [False, False, True]
    assert len(learned(np.arange(N), np.arange(N) ** 3.0).pairs) == 0 < MOST_PAIRS < N


def test_missing_values_of_fit_are_no_part_of_it():
    a, copy = A.copy(), 2 * A
    a[:50] = copy[:50] = np.nan
    assert learned(a, copy).line == pytest.approx((0.5, 0.0))
    assert learned(np.full(N, np.nan), np.full(N, np.nan)) == Recoding(0, 1)


def test_rows_are_filled_where_a_copy_knows():
    rows = np.array([[1.0, 2.54, 10.0], [np.nan, 2.54, 20.0], [np.nan, np.nan, 30.0], [np.nan, np.nan, np.nan]])
    before = rows.copy()
    ways = [Recoding(0, 1, line=(1 / 2.54, 0.0)), Recoding(0, 2, pairs=((10.0, 1.0), (30.0, 3.0)))]
    np.testing.assert_allclose(read_off_copies(rows, ways)[:, 0], [1, 1, 3, np.nan])
    np.testing.assert_array_equal(rows, before)
    assert read_off_copies(rows[:1], ways) is not None
    assert read_off_copies(rows, ()) is rows
    whole = np.ones((2, 2), dtype=int)
    assert read_off_copies(whole, ways) is whole


def test_infinity_says_nothing():
    rows = np.array([[np.nan, np.inf], [np.nan, 1e308]])
    assert np.isnan(read_off_copies(rows, [Recoding(0, 1, line=(2.0, 0.0))])[:, 0]).all()


def test_sparse_tables_miss_nothing():
    rows = sparse.csr_array(np.eye(3))
    assert learn_recodings(rows, [[0, 1]], [None] * 3) == ()
    assert read_off_copies(rows, [Recoding(0, 1, line=(1.0, 0.0))]) is rows
