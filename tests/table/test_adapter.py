"""Every kind of table through one adapter: rows taken, cells read, answers in the same kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sklar.table.adapter import adapt

VALUES = np.array([[True, False], [False, True]])
NUMBERS = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])
KINDS = {
    "numpy": NUMBERS,
    "lists": NUMBERS.tolist(),
    "csr": sparse.csr_array(NUMBERS),
    "csc matrix": sparse.csc_matrix(NUMBERS),
    "dict": {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]},
    "pandas": pd.DataFrame(NUMBERS, columns=["a", "b"], index=["x", "y", "z"]),
    "polars": pl.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}),
    "pyarrow": pa.table({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_columns_and_cells(kind):
    table = adapt(KINDS[kind])
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.dense(), NUMBERS)
    assert [float(value) for value in table.cells(1)] == [5.0, 6.0, 7.0]
    taken = adapt(table.take(np.array([2, 0])))
    assert type(taken) is type(table)
    np.testing.assert_array_equal(taken.dense(), NUMBERS[[2, 0]])
    if kind in ("dict", "pandas", "polars", "pyarrow"):
        assert (table.names, table.labels) == (["a", "b"], "text")
    else:
        assert (table.names, table.labels) == (None, "position")


def test_answers_come_in_the_kind_of_the_table():
    index = pd.Index([7, 9])
    framed = adapt(pd.DataFrame({"x": [1, 2]}, index=index)).like(VALUES, ["a", "b"])
    pd.testing.assert_frame_equal(framed, pd.DataFrame(VALUES, columns=["a", "b"], index=index))
    answer = adapt(pl.DataFrame({"x": [1, 2]})).like(VALUES, ["a", "b"])
    assert answer.equals(pl.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]}))
    assert adapt(pa.table({"x": [1, 2]})).like(VALUES, ["a", "b"]).to_pydict() == {
        "a": [True, False],
        "b": [False, True],
    }
    for table in (np.eye(2), [[1, 2]], sparse.csr_array(np.eye(2)), {"x": np.zeros(2)}):
        assert adapt(table).like(VALUES, ["a", "b"]) is VALUES


def test_a_square_answer_has_the_names_as_index():
    square = adapt(pd.DataFrame({"x": [1, 2, 3]})).like(np.eye(2), ["a", "b"], per_row=False)
    assert square.index.tolist() == square.columns.tolist() == ["a", "b"]


def test_row_labels_are_those_of_pandas_else_numbers():
    rows = np.array([0, 2])
    assert adapt(KINDS["pandas"].iloc[rows]).row_labels(rows) == ["x", "z"]
    assert adapt(KINDS["polars"][rows]).row_labels(rows) == ["0", "2"]
    assert adapt(NUMBERS[rows]).row_labels(rows) == ["0", "2"]


def test_labels_that_are_not_text_are_told_from_text():
    table = adapt(pd.DataFrame(NUMBERS))
    assert (table.names, table.labels) == (["0", "1"], "other")


def test_an_arrow_integer_that_no_float_equals_names_its_column():
    with pytest.raises(ValueError, match="column 'big' holds numbers that float64 cannot"):
        adapt(pa.table({"big": [2**60 + 1, None]})).columns()


def test_rows_of_lists_keep_numbers_beside_text():
    taken = adapt([[1, "a"], [2, "b"]]).take(np.array([1]))
    assert taken.tolist() == [[2, "b"]]
    assert adapt(np.array([["a"], ["b"]])).dense().dtype.kind == "U"


def test_plain_numbers_of_pandas_as_columns_keep_their_holes():
    """An NA beside booleans made a TypeError where a model also reads text."""
    frame = pd.DataFrame({"a": pd.array([True, None], dtype="boolean"), "b": [1, 2]})
    assert adapt(frame).columns() is None
    first, second = adapt(frame).number_columns(["a", "b"])
    assert (first.values[0], np.isnan(first.values[1]), second.values.tolist()) == (1.0, True, [1.0, 2.0])
