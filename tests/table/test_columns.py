"""Every kind of column in every kind of table, read as numbers or categories; the rest is refused in a clear line."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklar.table import columns as columns_module
from sklar.table.adapter import adapt
from sklar.table.columns import from_objects

NAN = float("nan")


def read_columns(table):
    return adapt(table).columns()


WORDS = ["a", None, "b"]
NUMBERS = [1.5, None, -2.0]
FLAGS = [True, None, False]


def as_lists(columns):
    return [
        [None if value is None or value != value else value for value in column.values.tolist()] for column in columns
    ]


TABLES = {
    "pandas object": pd.DataFrame({"w": WORDS, "x": NUMBERS, "f": FLAGS}),
    "pandas string": pd.DataFrame({"w": pd.array(WORDS, "string"), "x": NUMBERS, "f": pd.array(FLAGS, "boolean")}),
    "pandas category": pd.DataFrame(
        {"w": pd.Categorical(WORDS), "x": pd.array([1.5, None, -2], "Float64"), "f": FLAGS}
    ),
    "polars": pl.DataFrame({"w": WORDS, "x": NUMBERS, "f": FLAGS}),
    "polars categorical": pl.DataFrame({"w": pl.Series(WORDS, dtype=pl.Categorical), "x": NUMBERS, "f": FLAGS}),
    "polars enum": pl.DataFrame({"w": pl.Series(WORDS, dtype=pl.Enum(["b", "a"])), "x": NUMBERS, "f": FLAGS}),
    "arrow": pa.table({"w": WORDS, "x": NUMBERS, "f": FLAGS}),
    "arrow dictionary": pa.table({"w": pa.array(WORDS).dictionary_encode(), "x": NUMBERS, "f": FLAGS}),
    "arrow chunks": pa.concat_tables(
        [pa.table({"w": pa.array([w]).dictionary_encode(), "x": [x], "f": [f]}) for w, x, f in
         zip(["a", "c", "b"], [1.5, 0.5, -2.0], [True, True, False], strict=True)]
    ),
    "numpy objects": np.array([WORDS, NUMBERS, FLAGS], dtype=object).T,
    "lists": [list(row) for row in zip(WORDS, NUMBERS, FLAGS, strict=True)],
    "named columns": {
        "w": np.array(WORDS, dtype=object), "x": np.array([1.5, NAN, -2]), "f": np.array(FLAGS, dtype=object)
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
def test_text_is_categories_and_the_rest_numbers(kind):
    columns = read_columns(TABLES[kind])
    assert [column.is_text for column in columns] == [True, False, False]
    middle = ["c", 0.5, 1.0] if kind == "arrow chunks" else [None] * 3
    assert as_lists(columns) == [["a", middle[0], "b"], [1.5, middle[1], -2.0], [1.0, middle[2], 0.0]]


@pytest.mark.parametrize(
    "table",
    [
        np.eye(3),
        np.eye(3, dtype=int),
        [[1, 2], [3, 4]],
        pd.DataFrame(np.eye(3)),
        pl.DataFrame({"a": [1, 2]}),
        pa.table({"a": [1.0, 2.0], "b": [True, False]}),
        np.zeros(3),
        None,
        "text",
        [[1], [2, 3]],
    ],
    ids=lambda table: type(table).__name__,
)
def test_plain_numbers_and_what_is_no_table_are_left_to_scikit_learn(table):
    assert read_columns(table) is None


def test_numbers_that_a_frame_calls_categories_are_categories():
    (column,) = read_columns(pd.DataFrame({"grade": pd.Categorical([3, 1, None])}))
    assert column.is_text
    assert column.values.tolist() == [3, 1, None]


def test_decimals_are_numbers():
    (column,) = read_columns(pd.DataFrame({"price": [decimal.Decimal("1.5"), None]}))
    assert as_lists([column]) == [[1.5, None]]


DAY = datetime.date(2024, 2, 29)
DATES = {
    "pandas": pd.DataFrame({"when": pd.to_datetime([DAY, DAY]), "w": ["a", "b"]}),
    "pandas with a zone": pd.DataFrame({"when": pd.to_datetime([DAY, DAY]).tz_localize("UTC")}),
    "pandas period": pd.DataFrame({"when": pd.period_range("2024-01", periods=2, freq="M")}),
    "pandas timedelta": pd.DataFrame({"when": pd.to_timedelta([1, 2], unit="D")}),
    "pandas objects": pd.DataFrame({"when": np.array([DAY, DAY], dtype=object)}),
    "polars": pl.DataFrame({"when": [DAY, DAY]}),
    "arrow": pa.table({"when": [DAY, DAY]}),
    "named columns": {"when": np.array(["2024-02-29"] * 2, dtype="datetime64[D]")},
    "text": pd.DataFrame({"when": ["2024-02-29", "2024-03-01 12:00"]}),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_of_every_kind_are_known_as_such(kind):
    column = read_columns(DATES[kind])[0]
    assert column.is_date
    assert not column.is_text
    assert np.isfinite(column.numbers()).all()


def test_categories_of_dates_are_refused():
    frame = pd.DataFrame({"when": pd.Categorical(pd.to_datetime([DAY, DAY]))})
    with pytest.raises(ValueError, match="column 'when' has categories of another kind"):
        read_columns(frame)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([f"name {i}" for i in range(20)], "a different text in every row"),
        ([f"name {max(i, 1)}" for i in range(20)], "a different text in nearly every row"),
        ([f"name {max(i, 2)}" for i in range(20)], None),
        ([f"name {i}" for i in range(19)], None),
        (["a", "b", *(f"name {i}" for i in range(17)), "a", "b"], None),
        (np.arange(5.0, 30.0), "the number of the row"),
        (np.delete(np.arange(5.0, 40.0), [3, 9, 20]), "the number of the row"),
        (np.arange(5.0, 30.0) ** 2, None),
        (np.arange(5.0, 30.0) / 2, None),
    ],
)
def test_names_of_rows_are_seen(values, told):
    assert from_objects("id", values).names_rows() == told


@pytest.mark.parametrize(
    ("values", "date"),
    [
        (["31.12.2024", None, "1.1.2025"], "31.12.2024"),
        (["12/31/24 10:30", "01/02/25 08:00"], "12/31/24 10:30"),
        (["2024/12/31"], "2024/12/31"),
        (["2024-12-31"], None),  # ISO 8601
        (["31.12.2024", "soon"], None),
        (["1.2.3.4"], None),
        ([None], None),
    ],
)
def test_dates_that_are_read_as_text_are_seen(values, date):
    assert from_objects("when", values).odd_date() == date


def test_what_is_empty():
    assert from_objects("a", [None, np.nan]).is_empty
    assert not from_objects("a", [None, "x"]).is_empty


def test_a_column_of_numbers_and_text_says_where():
    frame = pd.DataFrame({"a": [1.0, 2.0], "size": ["large", 3]})
    with pytest.raises(ValueError, match=r"column 'size' mixes text \('large' in row 0\) and numbers \(3 in row 1\)"):
        read_columns(frame)


@pytest.mark.parametrize("value", [{"foo": "bar"}, [1], b"bytes", 1j])
def test_what_is_neither_text_nor_number_is_refused(value):
    table = np.array([["a"], [None]], dtype=object)
    table[1, 0] = value
    with pytest.raises(TypeError, match=f"column 'x0'.* not '{type(value).__name__}'"):
        read_columns(table)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([["a", 1]], columns=["c", "c"]),
        pd.DataFrame([[1.0, 1.0]], columns=["c", "c"]),
        pa.table([pa.array([1]), pa.array([2])], names=["c", "c"]),
    ],
    ids=["pandas text", "pandas numbers", "arrow"],
)
def test_repeated_names_are_refused(table):
    with pytest.raises(ValueError, match="column 'c' stands in the table more than once"):
        read_columns(table)


def test_a_huge_cell_is_refused(monkeypatch):
    monkeypatch.setattr(columns_module, "LONGEST_TEXT", 10)
    assert read_columns(pd.DataFrame({"c": ["x" * 10, "y"]}))[0].is_text
    with pytest.raises(ValueError, match="column 'c', row 1: a cell of 11 characters, at most 10 are read"):
        read_columns(pd.DataFrame({"c": ["y", "x" * 11]}))
