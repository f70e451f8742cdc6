"""Columns that say exactly the same, whatever their values are called."""

import numpy as np
import pytest
from scipy import sparse

from sklar.table import copies
from sklar.table.copies import exact_copies

N = 60


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((N, 6))


def groups(*columns):
    return exact_copies(np.stack(columns, axis=1), range(len(columns)))


def test_copies_scaled_bent_and_reversed(x):
    a, b = x[:, 0], x[:, 1]
    assert groups(a, b, 2 * a + 1, np.exp(a), -a) == [[0, 2, 3, 4]]


def test_columns_of_unique_values_are_no_copies(x):
    assert exact_copies(x, range(6)) == []


def test_recodings_of_few_values_in_any_order(x):
    code = np.arange(N) % 5
    names = np.array([3.0, 1.0, 4.0, 0.0, 2.0])[code]
    coarser = code // 2
    assert groups(code, x[:, 0], names, coarser) == [[0, 2]]


def test_one_row_that_differs_is_enough():
    code = np.arange(N) % 3
    other = code.copy()
    other[7] = (other[7] + 1) % 3
    assert groups(code, other) == []


def test_missing_is_a_value_of_its_own(x):
    a = x[:, 0].copy()
    a[::4] = np.nan
    filled = np.where(np.isnan(a), 9.0, a)
    assert groups(a, a.copy(), filled * 2) == [[0, 1, 2]]
    assert groups(a, x[:, 0]) == []


def test_columns_that_hardly_vary_say_nothing():
    rare = np.zeros(N)
    rare[:9] = 1.0
    assert groups(rare, rare, np.ones(N), np.ones(N)) == []
    rare[9] = 1.0
    assert groups(rare, rare, np.ones(N), np.ones(N)) == [[0, 1]]


def test_only_the_columns_asked_about(x):
    table = np.concatenate([x, x], axis=1)
    assert exact_copies(table, [0, 1, 2, 7, 8]) == [[1, 7], [2, 8]]


def test_a_few_rows_are_looked_at_first_and_then_all(x, monkeypatch):
    monkeypatch.setattr(copies, "FEWEST_ROWS", 30)
    monkeypatch.setattr(copies, "BLOCK_ENTRIES", 2 * N)
    other = x[:, 0].copy()
    swapped = np.argsort(other)[[5, 6]]
    other[swapped] = other[swapped[::-1]]
    assert groups(x[:, 0], x[:, 1], other, x[:, 0] + 1) == [[0, 3]]


def test_sparse_tables():
    table = sparse.random_array((200, 5), density=0.4, random_state=np.random.default_rng(0)).tocsr()
    both = sparse.hstack([table, 3 * table[:, [1]]]).tocsr()
    assert exact_copies(both, range(6)) == [[1, 5]]
