"""Columns of one value."""

import numpy as np
import pytest
from scipy import sparse

from sklar.table import constant
from sklar.table.constant import constant_columns


@pytest.fixture
def rows():
    """1 and 4 are constant, 2 varies in its last row alone, 3 is missing here and there."""
    rows = np.random.default_rng(0).standard_normal((50, 5))
    rows[:, [1, 2, 4]] = [7.0, 0.0, 0.0]
    rows[-1, 2] = 1.0
    rows[:, 3] = np.where(np.arange(50) % 2, np.nan, 1.0)
    return rows


@pytest.mark.parametrize("n", [10, 50, 1_000])
@pytest.mark.parametrize("block", [1, 120, 2**21])
def test_what_varies_late_or_by_missing_values_is_not_constant(rows, monkeypatch, n, block):
    monkeypatch.setattr(constant, "FIRST_ROWS", n)
    monkeypatch.setattr(constant, "BLOCK_ENTRIES", block)
    assert constant_columns(rows, range(5)) == [1, 4]
    assert constant_columns(rows, [0, 4]) == [4]


def test_of_a_sparse_table(rows):
    table = sparse.csr_array(np.nan_to_num(rows))
    assert constant_columns(table, range(5)) == [1, 4]
