"""What the bodies of requests become without a server: rows, tables of one row, and answers of several targets."""

import json

import numpy as np
import pyarrow as pa
import pytest

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.scale.serving.bodies import arrow_answer, json_answer, parts_of, read_each, read_rows
from sklar.scale.serving.errors import ARROW, RequestError
from tests.helpers import quick, toy_rows
from tests.scale.serving.conftest import frame


def test_rows_are_those_of_the_table(model):
    X, _ = frame()
    body = b'{"rows": [{"text": null, "d": 0, "c": 1, "b": 2.5, "a": -1, "other": "x"}]}'
    rows = read_rows(model.fitted_.schema, body, "application/json; charset=utf-8", 5)
    np.testing.assert_array_equal(rows, [[-1, 2.5, 1, 0, np.nan]])
    [one] = read_each(model.fitted_.schema, body, "application/json", 5)
    assert list(one) == list(X.columns)
    with pytest.raises(RequestError, match="2 rows"):
        read_each(model.fitted_.schema, b'{"rows": [{}, {}]}', "application/json", 1)


def test_a_copy_is_read_where_its_original_is_missing():
    X, value = toy_rows(200)
    X[:, 4] = 2 * X[:, 0]
    schema = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, value).fitted_.schema
    rows = read_rows(schema, b'{"rows": [{"x0": null, "x1": 1, "x2": 2, "x3": 3, "x4": 8}]}', "application/json", 5)
    np.testing.assert_allclose(rows, [[4, 1, 2, 3, 8]])


def told(schema, body, content_type="application/json"):
    """The error of a request."""
    with pytest.raises(RequestError) as caught:
        read_rows(schema, body, content_type, 10)
    return caught.value


def of_numbers(*rows):
    return json.dumps({"rows": [dict(zip(("x0", "x1", "x2", "x3", "x4"), row, strict=True)) for row in rows]}).encode()


@pytest.mark.parametrize(
    "cell", [[], [0.5], [[0.5]], [1, 2], {}, {"a": 1}, "1.5", "", 1e400, 10**400], ids=lambda cell: repr(cell)[:9]
)
def test_cells_that_are_no_numbers_name_their_column(numbers_model, cell):
    """Also where all cells are of that kind, so that numpy would make another array of them."""
    schema = numbers_model.fitted_.schema
    for body in (of_numbers([cell] * 5), of_numbers([1.0] * 5, [cell] * 5), of_numbers([cell, 1, 2, 3, None])):
        error = told(schema, body)
        assert (error.kind, error.column) == ("bad_value", "x0")
    error = told(schema, of_numbers([None, 10**30, 0.5, cell, True]))
    assert (error.kind, error.column) == ("bad_value", "x3")
    assert "row 0: column 'x3' holds " in str(error)


def test_whole_numbers_of_any_size_are_numbers(numbers_model):
    schema = numbers_model.fitted_.schema
    for others in ([0.5, 1, 2, 3], [None, 1, 2, True], [10**30] * 4):
        rows = read_rows(schema, of_numbers([10**30, *others]), "application/json", 10)
        assert rows.dtype == np.float64
        assert rows[0, 0] == 1e30


def test_what_stands_beside_the_rows_is_refused(numbers_model):
    """A price that is not asked at must not be answered at another."""
    body = of_numbers([1, 2, 3, 4, 5])[:-1] + b', "penalty": 0.1}'
    with pytest.raises(RequestError, match="'penalty' beside 'rows'") as caught:
        read_rows(numbers_model.fitted_.schema, body, "application/json", 10)
    assert caught.value.status == 422


def test_columns_of_text_and_numbers_are_named(model):
    """A list is no text either."""
    good = {"a": 1.0, "b": 0.5, "c": 2, "d": 0.1, "text": "up"}
    for column, value in [
        ("b", "x"),
        ("b", 10**400),
        ("text", 4),
        ("text", ["up"]),
        ("text", {}),
        ("b", [1]),
        ("c", 1e400),
    ]:
        error = told(model.fitted_.schema, json.dumps({"rows": [good, {**good, column: value}]}).encode())
        assert (error.kind, error.column) == ("bad_value", column), value


def arrow(names, columns):
    table, sink = pa.Table.from_arrays(columns, names=names), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def test_arrow_columns_are_named(model, numbers_model):
    one, names = pa.array([0.5, 1.0]), [f"x{j}" for j in range(5)]
    for what, kind, columns in [
        ("repeated_column", [*names, "x2"], [one] * 6),
        ("missing_column", ["x0", "x1", "x3", "x4"], [one] * 4),
        ("bad_value", names, [one, one, pa.array([[1.0], [2.0]]), one, one]),
        ("bad_value", names, [one, one, pa.array([{"q": 1}, {"q": 2}]), one, one]),
        ("bad_value", names, [one, one, pa.array([b"a", b"b"]), one, one]),
    ]:
        error = told(numbers_model.fitted_.schema, arrow(kind, columns), ARROW)
        assert (error.kind, error.column) == (what, "x2")
    error = told(model.fitted_.schema, arrow([*"abcd", "text"], [one, one, pa.array(["x", "y"]), one, one]), ARROW)
    assert (error.kind, error.column) == ("bad_value", "c")


def test_answers_of_several_targets():
    X, value = toy_rows()
    two = quick(CopulaSelectorRegressor).fit(X, np.column_stack([value, -value])).fitted_
    parts = parts_of(two, "outputs")(two.read(X[:3]))
    assert np.shape(json_answer(two, parts)["predictions"]) == (3, 2)
    columns = pa.ipc.open_stream(arrow_answer(two, parts)).read_all().column_names
    assert columns == ["prediction_1", "prediction_2"]
    labels = quick(CopulaSelectorClassifier).fit(X, np.column_stack([value > 0, value > 1]).astype(int)).fitted_
    parts = parts_of(labels, "outputs")(labels.read(X[:3]))
    assert list(json_answer(labels, parts)["probabilities"]) == ["1", "2"]
