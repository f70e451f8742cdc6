import numpy as np
import pyarrow as pa
import pytest

from sklar.table.csv_format import TableError
from sklar.table.files import Table
from sklar.table.target_columns import arrow_values, read_target


def table(**columns):
    return Table("t.csv", {name: np.array(values) for name, values in columns.items()})


def test_rows_without_a_target_are_left_out_and_counted():
    said = []
    judged = read_target(table(y=[1.0, np.nan, 0.0]), ["y"], echo=said.append)
    assert judged.y.tolist() == [1, 0]
    assert judged.y.dtype == np.int64  # a hole made them floats
    assert judged.of({"a": np.array([5, 6, 7])})["a"].tolist() == [5, 7]
    assert said == ["1 of 3 rows have no value of 'y' and are left out"]


def test_they_may_be_refused():
    with pytest.raises(TableError, match=r"t\.csv: the target 'y' is missing in row 1"):
        read_target(table(y=["a", "", "b"]), ["y"], drop=False)


def test_numbers_with_another_decimal_sign_are_no_classes():
    of_commas = Table("t.csv", {"y": np.array(["1.5", "2.5"], dtype=object)}, decimal=",")
    with pytest.raises(TableError, match=r"column 'y' holds '1\.5', which is no number here; say --decimal \."):
        read_target(of_commas, ["y"])
    assert read_target(Table("t.csv", of_commas.columns), ["y"]).y.tolist() == ["1.5", "2.5"]


def test_no_row_with_a_target_is_refused():
    with pytest.raises(TableError, match="no row has a value of the target 'y'"):
        read_target(table(y=[np.nan, np.nan]), ["y"])


def test_a_row_needs_all_of_several_targets():
    judged = read_target(table(u=[1.5, np.nan, 3.0], v=[1, 2, 3]), ["u", "v"])
    assert judged.rows.tolist() == [0, 2]
    assert judged.y.tolist() == [[1.5, 1], [3, 3]]


def test_an_event_and_its_time():
    judged = read_target(table(days=[3.0, 4.0, np.nan], died=["True", "0", "1"]), ["days"], "died")
    assert judged.y.tolist() == [(True, 3.0), (False, 4.0)]
    with pytest.raises(TableError, match="--event takes a column of 0 and 1"):
        read_target(table(days=[3.0], died=["perhaps"]), ["days"], "died")
    with pytest.raises(TableError, match="'days' is text"):
        read_target(table(days=["long"], died=[1]), ["days"], "died")


def test_what_no_hole_made_float_stays_as_it_is():
    assert read_target(table(y=[1.0, 2.0]), ["y"]).y.dtype == float
    assert read_target(table(y=["a", "b"]), ["y"]).y.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "kind"), [(["a", "bc"], "U"), ([1, 2], "i"), ([0.5, 2.0], "f"), ([True, False], "b")]
)
def test_arrow_columns_have_the_types_of_numpy(values, kind):
    found = arrow_values(pa.chunked_array([values[:1], values[1:]]))
    assert found.dtype.kind == kind
    assert found.tolist() == values
