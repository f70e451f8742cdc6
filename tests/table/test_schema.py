"""A table read for the first time, and others read as that one was."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sklar.table.recoding import Recoding
from sklar.table.schema import Schema, read_training_table

X = np.random.default_rng(0).standard_normal((12, 3))
Y = X[:, 0]


def schema_of(table, **params):
    return Schema.of(read_training_table(table, Y, None, "Owner"), params)


@pytest.mark.parametrize(
    ("table", "names", "labels"),
    [
        (X, ("x0", "x1", "x2"), "position"),
        (pd.DataFrame(X, columns=["b", "a", "c"]), ("b", "a", "c"), "text"),
        (pd.DataFrame(X), ("0", "1", "2"), "other"),
        ({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2]}, ("u", "v", "w"), "text"),
    ],
)
def test_names_and_where_they_come_from(table, names, labels):
    schema = schema_of(table)
    assert (schema.names, schema.labels, schema.n_columns) == (names, labels, 3)
    np.testing.assert_allclose(schema.inputs(schema.read(table)), (X - X.mean(0)) / X.std(0))


@pytest.mark.parametrize("labels", [[0, 1, 2], [10, 5, 7], [("a", 1), ("a", 2), ("b", 1)]])
def test_columns_in_another_order_are_refused_whatever_their_labels_are(labels):
    columns = pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else labels
    frame = pd.DataFrame(X, columns=columns)
    schema = schema_of(frame)
    np.testing.assert_array_equal(schema.read(frame), X)
    with pytest.raises(ValueError, match="feature names should be those of fit, in their order"):
        schema.read(frame.iloc[:, [1, 0, 2]])


def test_scikit_learn_compares_names_that_are_text():
    schema = schema_of(pd.DataFrame(X, columns=list("abc")))
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        schema.read(pd.DataFrame(X, columns=list("bac")))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Owner was fitted with"):
        schema.read(X)


def test_the_number_of_columns_is_checked():
    with pytest.raises(ValueError, match="X has 2 features, but Owner is expecting 3 features"):
        schema_of(X).read(X[:, :2])


def test_gates_that_are_left_read_their_columns_alone():
    schema = schema_of(X, groups=[[0, 2]])
    assert (schema.columns.tolist(), schema.gates.tolist()) == ([0, 2, 1], [0, 0, 1])
    narrow = schema.only([1])
    assert (narrow.columns.tolist(), narrow.gates.tolist()) == ([1], [0])
    np.testing.assert_allclose(narrow.inputs(X)[:, 0], (X[:, 1] - X[:, 1].mean()) / X[:, 1].std())
    np.testing.assert_array_equal(narrow.widen(X, np.ones((12, 1), dtype=bool)).sum(axis=0), [0, 12, 0])


def test_training_inputs_are_the_inputs_in_float32():
    frame = pd.DataFrame({"n": X[:, 0], "t": ["u", "v", "w"] * 4, "m": np.where(X[:, 1] > 0, X[:, 1], np.nan)})
    schema = schema_of(frame)
    rows = schema.read(frame)
    inputs = schema.training_inputs(rows)
    assert inputs.dtype == np.float32
    assert inputs.shape == (12, 1 + 3 + 2)
    np.testing.assert_allclose(inputs, schema.inputs(rows), rtol=1e-6)
    assert schema.text_columns == ["t"]
    by_block = schema.column_inputs(rows)
    np.testing.assert_allclose(np.column_stack([by_block(slice(0, 2)), by_block(slice(2, 3))]), inputs, rtol=1e-6)


def test_copies_of_columns_that_are_read():
    schema = schema_of(pd.DataFrame({"a": X[:, 0], "b": 2 * X[:, 0], "w": ["u", "v"] * 6}))
    schema = replace(schema.only([0, 2]), recodings=(Recoding(0, 1, line=(0.5, 0.0)),))
    rows = schema.read(pd.DataFrame({"a": [np.nan, 1.0], "b": [4.0, 5.0], "w": ["v", None]}))
    assert rows[:, 0].tolist() == [2, 1]
    assert [schema.differing_copies(rows[[row]]) for row in (0, 1)] == [set(), {("a", "b")}]
    assert [schema.value(rows, 0, j) for j in (0, 2)] == [2.0, "v"]
    assert schema.value(rows, 1, 2) is None
    assert schema.only([1]).recodings_read == ()
