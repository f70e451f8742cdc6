import numpy as np
import pandas as pd
import pytest

from sklar.table.cells import plain


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
