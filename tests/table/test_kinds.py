import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklar.table.adapter import adapt
from sklar.table.encoding import learn_categories
from sklar.table.kinds import rows_as_in_fit


def later(fitted, new, read=None):
    """The rows of a table whose model was fitted to another."""
    known, _ = learn_categories(columns_of(fitted))
    return rows_as_in_fit(columns_of(new), known.of_column, known.dates, read)


def columns_of(table):
    adapted = adapt(table)
    return adapted.columns() or adapted.number_columns(adapted.names)


def truth(values, how="pandas"):
    frame = pd.DataFrame({"w": values})
    ways = {
        "pandas": lambda: frame,
        "nullable": frame.convert_dtypes,
        "arrow": lambda: frame.convert_dtypes(dtype_backend="pyarrow"),
        "objects": lambda: frame.astype(object),
        "categories": lambda: frame.astype("category"),
        "polars": lambda: pl.from_pandas(frame),
        "numbers": lambda: frame.astype(float),
        "dict": lambda: {"w": np.array(values)},
    }
    return ways[how]()


TEXTS = [["True", "False", "True"], ["true", "false", "true"], ["TRUE", "FALSE", "TRUE"]]
WAYS = ["pandas", "nullable", "arrow", "objects", "categories", "polars", "numbers", "dict"]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("text", TEXTS)
def test_true_and_false_are_the_same_as_text_and_as_booleans(text, how):
    booleans = truth([True, False, True], how)
    assert later({"w": text}, booleans)[:, 0].tolist() == [1, 0, 1]
    for other in TEXTS:
        assert later({"w": text}, {"w": other})[:, 0].tolist() == [1, 0, 1]
        if how != "categories":
            assert later(booleans, {"w": [*other, None]})[:, 0].tolist()[:3] == [1, 0, 1]


def test_a_missing_truth_value_stays_missing():
    text = {"w": ["True", None, "False"]}
    assert np.isnan(later(text, pd.DataFrame({"w": pd.array([True, None], dtype="boolean")}))[1, 0])
    assert np.isnan(later({"w": np.array([True, False])}, text)[1, 0])


def test_truth_values_as_categories():
    assert later(truth([True, False, True], "categories"), {"w": ["true", "FALSE"]})[:, 0].tolist() == [1, 0]


def test_text_forced_by_a_csv_holds_ones_and_zeros():
    assert later({"w": ["True", "False"]}, {"w": np.array(["1", "0"], dtype=object)})[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("fitted", "new", "says"),
    [
        (["True", "False"], [1.0, 2.0], "column 'w' held text in fit, and holds numbers here"),
        (["True", "no"], [True, False], "column 'w' held text in fit, and holds numbers here"),
        ([1.0, 2.0], ["true", "yes"], "column 'w' held numbers in fit, and holds text here: 'true'"),
    ],
)
def test_other_numbers_and_text_do_not_cross(fitted, new, says):
    with pytest.raises(ValueError, match=says):
        later({"w": fitted}, {"w": new})


@pytest.mark.parametrize("new", [["x", "y"], np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")])
def test_a_column_that_nothing_reads_may_be_of_any_kind(new):
    fitted, table = {"a": [1.0, 2.0], "const": [1.0, 1.0]}, {"a": [3.0, 4.0], "const": new}
    rows = later(fitted, table, read=[0])
    assert rows[:, 0].tolist() == [3, 4]
    assert np.isnan(rows[:, 1]).all()
    with pytest.raises(ValueError, match="column 'const' held numbers in fit"):
        later(fitted, table, read=[0, 1])
