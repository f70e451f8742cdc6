"""Targets as people have them: missing beside text, and in pandas' nullable types."""

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.table.target_values import check_target, plain_target
from tests.helpers import quick, toy_rows


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_value_beside_text_is_called_missing(missing):
    with pytest.raises(ValueError, match="y is missing in row 1; leave out rows without a target"):
        check_target(pd.Series(["yes", missing, "no"], dtype=object))


@pytest.mark.parametrize(
    ("dtype", "classes"),
    [("boolean", [False, True]), ("Int64", [0, 1]), ("bool[pyarrow]", [False, True]), ("int8", [0, 1])],
)
def test_classes_of_nullable_types_are_not_floats(dtype, classes):
    X, value = toy_rows(60)
    y = pd.Series(value > 0).astype(dtype)
    model = quick(sklar.CopulaSelectorClassifier, penalty=0.01).fit(X, y)
    assert model.classes_.tolist() == classes
    assert model.classes_.dtype.kind == np.asarray(classes).dtype.kind
    assert model.score(X, y) == np.mean(model.predict(X) == (value > 0))


def test_other_targets_stay_what_they_are():
    for y in (np.array([0.5]), ["a"], pd.Series(["a"]), pd.Series([1, None], dtype="Int64")):
        assert plain_target(y) is y
