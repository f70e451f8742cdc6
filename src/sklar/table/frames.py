"""Tables in, tables out: a result for a DataFrame is a DataFrame of the same kind, with the same names."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def frame_like(table: Any, values: np.ndarray, columns: list[str], per_row: bool = True) -> Any:
    """`values` (n, m) as the same kind of table as `table`: pandas, polars, pyarrow, else a numpy array.

    With `per_row`, a pandas result keeps the index of `table`.
    """
    pandas, polars, arrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return pandas.DataFrame(values, columns=columns, index=table.index if per_row else columns)
    if polars is not None and isinstance(table, polars.DataFrame):
        return polars.DataFrame(values, schema=columns, orient="row")
    if arrow is not None and isinstance(table, arrow.Table):
        return arrow.table({name: np.ascontiguousarray(values[:, j]) for j, name in enumerate(columns)})
    return values
