import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklar.report.explorer.tables import cells
from sklar.table.adapter import adapt

FRAME = pd.DataFrame({"n": [1.23456, np.nan, np.inf], "t": ["a", None, "x" * 200], "b": [True, False, True]})


@pytest.mark.parametrize("kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas, lambda f: f.to_numpy()])
def test_rows_and_cells_of_any_table(kind):
    table = adapt(adapt(kind(FRAME)).take(np.array([2, 1])))
    texts = cells(table, 1)
    assert texts[1] is None
    assert len(texts[0]) == 80
    assert cells(table, 0) == ["inf", None]
    assert cells(table, 2) == [True, False]
    json.dumps([cells(table, j) for j in range(3)], allow_nan=False)
