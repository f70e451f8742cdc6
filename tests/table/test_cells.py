import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklar.table.cells import column_values, dense, plain

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
KINDS = [FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME), FRAME.to_numpy()]


@pytest.mark.parametrize("table", KINDS, ids=lambda table: type(table).__module__)
def test_any_table_as_an_array_and_by_column(table):
    np.testing.assert_array_equal(dense(table), [[1, 3], [2, 4]])
    assert list(column_values(table, 1)) == [3, 4]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing_cells_are_plain(missing):
    assert plain(missing) is None


def test_other_cells_are_plain():
    assert (plain(np.int64(3)), plain(np.True_), plain("a"), plain(pd.Timestamp("2020-01-01"))) == (
        3,
        True,
        "a",
        "2020-01-01 00:00:00",
    )
