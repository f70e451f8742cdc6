"""Batches are read one ahead, and cells that no column can hold are named."""

import threading

import pyarrow as pa
import pytest

from sklar.table.batches import read_ahead, require_flat, with_values
from sklar.table.csv_format import TableError


def test_one_is_read_ahead_and_none_when_nobody_asks_for_more():
    read, before = [], threading.active_count()

    def tables():
        for number in range(5):
            read.append(number)
            yield number

    reading = read_ahead(tables())
    assert [next(reading), next(reading)] == [0, 1]
    reading.close()
    assert read[:2] == [0, 1]
    assert len(read) <= 3
    assert threading.active_count() == before
    assert list(read_ahead(iter("abc"))) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float64()),
        pa.list_(pa.float64(), 2),
        pa.struct({"q": pa.int8()}),
        pa.map_(pa.string(), pa.int8()),
        pa.binary(),
        pa.binary(4),
        pa.month_day_nano_interval(),
    ],
    ids=str,
)
def test_cells_of_several_values_name_their_column(kind):
    with pytest.raises(TableError, match=r"rows: column 'b' holds .*, and a cell must be one number, text"):
        require_flat("rows", pa.schema({"a": pa.float64(), "b": kind}))


def test_columns_of_numbers_text_truth_values_and_dates_are_flat():
    kinds = [pa.int8(), pa.float16(), pa.decimal128(5), pa.string(), pa.bool_(), pa.date32(), pa.null(), pa.time32("s")]
    kinds += [pa.timestamp("s"), pa.duration("s"), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
    assert require_flat("rows", pa.schema({str(kind): kind for kind in kinds})) is None  # raises nothing


def test_rows_with_values():
    table = pa.table({"a": [1.0, None, float("nan"), 4.0], "t": ["x", "y", "z", ""]})
    assert with_values(table).to_pylist() == [True, False, False, False]
    assert with_values(table.select(["t"])).to_pylist() == [True, True, True, False]
