"""Streams of answers hold what the same questions give in memory."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest

from sklar import CopulaRankerClassifier, CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.estimators.answers import answer_names
from sklar.table import sources
from sklar.table.files import TableError
from tests.helpers import quick, toy_rows

QUESTIONS = {
    "select": "masks",
    "selection_proba": "selection_proba",
    "selection_frequency": "votes",
    "transform": "selected_values",
    "predict": "predictions",
    "predict_proba": "probabilities",
    "rank": "ranks",
}


@pytest.fixture(scope="module")
def model():
    X, value = toy_rows()
    return quick(CopulaRankerClassifier).fit(as_table(X), np.where(value > 0, "up", "down"))


def as_table(X):
    return pa.table({name: X[:, j] for j, name in enumerate("abcde")})


@pytest.mark.parametrize("method", QUESTIONS)
def test_a_stream_is_what_memory_gives(model, method, monkeypatch):
    monkeypatch.setattr(sources, "BATCH_ROWS", 50)  # three batches
    X, _ = toy_rows()
    stream = getattr(model, method)(pa.dataset.dataset(as_table(X)))
    assert isinstance(stream, pa.RecordBatchReader)
    batches = list(stream)
    assert [batch.num_rows for batch in batches] == [50, 50, 20]
    table = pa.Table.from_batches(batches)
    assert table.column_names == answer_names(model.fitted_, QUESTIONS[method])
    expected = np.asarray(getattr(model, method)(as_table(X)))
    answer = table.to_pandas().to_numpy().reshape(expected.shape)
    if expected.dtype == float:  # blocks of other sizes are summed in another order
        np.testing.assert_allclose(answer, expected, rtol=1e-12)
    else:
        assert (answer == expected).all()


def test_names_of_answers(model):
    assert answer_names(model.fitted_, "ranks") == ["rank_1", "rank_2"]
    assert answer_names(model.fitted_, "probabilities") == ["proba_down", "proba_up"]
    assert answer_names(model.fitted_, "predictions") == ["prediction"]
    X, value = toy_rows()
    two = quick(CopulaSelectorRegressor).fit(X, np.column_stack([value, value]))
    assert answer_names(two.fitted_, "predictions") == ["prediction_1", "prediction_2"]
    labels = quick(CopulaSelectorClassifier).fit(X, np.column_stack([value > 0, value > 1]).astype(int))
    assert answer_names(labels.fitted_, "probabilities") == ["proba_1", "proba_2"]


def test_a_model_of_columns_without_names_knows_them_by_number():
    X, value = toy_rows()
    model = quick(CopulaSelectorRegressor).fit(X, value)
    table = pa.table({f"x{j}": X[:, j] for j in range(5)})
    found = model.predict(pa.dataset.dataset(table)).read_all()["prediction"].to_numpy()
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("method", QUESTIONS)
def test_no_rows_are_a_stream_of_none(model, method):
    """Of the columns and types that rows would have."""
    X, _ = toy_rows()
    some, none = (getattr(model, method)(pa.dataset.dataset(as_table(rows))).read_all() for rows in (X, X[:0]))
    assert none.num_rows == 0
    assert none.schema == some.schema


def test_no_rows_of_a_query_that_finds_none():
    X, value = toy_rows()
    for y in (value > 0, (value > 0).astype(int), np.column_stack([value > 0, value > 1]).astype(int)):
        model = quick(CopulaSelectorClassifier).fit(as_table(X), y)
        query = duckdb.from_arrow(as_table(X))
        none = model.predict(query.filter("a > 99")).read_all()
        assert none.num_rows == 0
        assert none.schema == model.predict(query).schema


def test_mistakes_show_at_once(model):
    X, _ = toy_rows()
    with pytest.raises(TableError, match="has no column 'e'"):
        model.select(pa.dataset.dataset(as_table(X).drop_columns("e")))


def test_a_mistake_in_a_later_batch_ends_the_stream(model, monkeypatch):
    monkeypatch.setattr(sources, "BATCH_ROWS", 50)
    X, _ = toy_rows()
    X[110, 1] = np.inf
    stream = model.select(pa.dataset.dataset(as_table(X)))
    with pytest.raises(ValueError, match="column 'b' contains infinity"):
        stream.read_all()
