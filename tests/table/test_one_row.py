import numpy as np
import pytest

from sklar.table.one_row import as_array, columns_of_one


def test_columns_of_one_row_by_name():
    found = columns_of_one(["a", "b"], {"b": [None], "c": 1, "a": np.array([2.5])}, "explain")
    assert {name: values.tolist() for name, values in found.items()} == {"a": [2.5], "b": [None]}
    with pytest.raises(ValueError, match="the row has no 'a'; give None where a value is missing"):
        columns_of_one(["a"], {"b": 1}, "explain")
    with pytest.raises(ValueError, match="acquire takes one row; column 'a' has 2"):
        columns_of_one(["a"], {"a": [1, 2]}, "acquire")


def test_numbers_beside_text_stay_numbers():
    assert as_array([1, "a"]).tolist() == [1, "a"]
    assert as_array([1, 2.5]).dtype == float
