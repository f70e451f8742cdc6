import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from sklar.table.frames import frame_like

VALUES = np.array([[True, False], [False, True]])


def test_every_kind_of_table_gives_its_kind():
    index = pd.Index([5, 9], name="id")
    framed = frame_like(pd.DataFrame({"x": [1, 2]}, index=index), VALUES, ["a", "b"])
    pd.testing.assert_frame_equal(framed, pd.DataFrame(VALUES, columns=["a", "b"], index=index))
    assert frame_like(pl.DataFrame(), VALUES, ["a", "b"]).equals(pl.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]}))
    assert frame_like(pa.table({}), VALUES, ["a", "b"]).to_pydict() == {"a": [True, False], "b": [False, True]}


def test_anything_else_gives_numpy():
    for table in (VALUES, VALUES.tolist()):
        assert frame_like(table, VALUES, ["a", "b"]) is VALUES


def test_a_square_is_named_on_both_sides():
    square = frame_like(pd.DataFrame({"x": [1, 2, 3]}), np.eye(2), ["a", "b"], per_row=False)
    assert square.index.tolist() == square.columns.tolist() == ["a", "b"]
