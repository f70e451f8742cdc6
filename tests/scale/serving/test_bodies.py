"""What the bodies of requests become without a server: rows, tables of one row, and answers of several targets."""

import numpy as np
import pyarrow as pa
import pytest

from sklar import CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.scale.serving.bodies import arrow_answer, json_answer, parts_of, read_each, read_rows
from sklar.scale.serving.errors import RequestError
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
