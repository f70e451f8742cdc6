"""What a predictor of the user's reads of a row."""

import numpy as np
import pandas as pd
import pytest

from sklar.predictor.inputs import ShownInputs
from sklar.table.schema import Schema, read_training_table


def made(X, y, params=None):
    """A table's schema, its inputs, and what a predictor reads of them."""
    schema = Schema.of(read_training_table(X, y, None, "test"), params or {})
    x = schema.training_inputs(schema.read(X))
    return schema, x, ShownInputs.of(schema, x, np.asarray(y, dtype=float).reshape(len(y), -1))


def test_numbers_are_as_the_network_has_them():
    X = np.random.default_rng(0).standard_normal((50, 3))
    _, x, inputs = made(X, X[:, 0])
    np.testing.assert_array_equal(inputs.values(x), x)
    np.testing.assert_array_equal(inputs.gate_of_column, [0, 1, 2])


def test_missing_is_below_all_numbers_and_not_hidden():
    X = np.random.default_rng(0).standard_normal((50, 2))
    X[::5, 1] = np.nan
    _, x, inputs = made(X, X[:, 0])
    values = inputs.values(x)
    assert values.shape == (50, 2)
    assert values[::5, 1].max() < np.delete(values[:, 1], np.arange(0, 50, 5)).min()
    hidden = inputs.hidden(values, np.tile([True, False], (50, 1)))
    assert np.isnan(hidden[:, 1]).all()
    assert not np.isnan(hidden[:, 0]).any()


def test_categories_are_sorted_by_the_mean_target_and_unseen_ones_are_zero():
    y = np.repeat([3.0, 1.0, 2.0], 40)
    X = pd.DataFrame({"a": np.repeat(["x", "y", "z"], 40), "b": np.arange(120.0) % 7})
    schema, x, inputs = made(X, y)
    np.testing.assert_allclose(inputs.values(x)[:, 0], y, rtol=1e-6)
    with pytest.warns(UserWarning, match="did not know"):
        other = schema.read(pd.DataFrame({"a": ["new", "y"], "b": [0.0, 1.0]}))
    np.testing.assert_allclose(inputs.values(schema.inputs(other))[:, 0], [0, 1], rtol=1e-6)


def test_several_targets_sort_categories_along_their_first_component():
    codes = np.repeat([0, 1, 2, 3], 50)
    y = np.column_stack([codes * 2.0, codes * 5.0, codes * 0.0])
    X = pd.DataFrame({"a": np.array(list("dbca"))[codes]})
    schema = Schema.of(read_training_table(X, codes, None, "test"), {})
    x = schema.training_inputs(schema.read(X))
    np.testing.assert_allclose(ShownInputs.of(schema, x, y).values(x)[:, 0], codes + 1, rtol=1e-6)


def test_a_group_is_hidden_together_and_cycles_of_a_date_with_it():
    days = pd.date_range("2024-01-01", periods=60, freq="9h")
    X = pd.DataFrame({"a": np.arange(60.0) % 11, "when": days, "b": np.arange(60.0) % 7})
    params = {"groups": [["a", "b"]], "dates": "parts"}
    schema, x, inputs = made(X, np.arange(60.0), params)
    assert inputs.n_columns == 2 + 7
    gate = int(schema.gates[list(schema.columns).index(1)])
    shown = inputs.hidden(inputs.values(x), np.tile(np.arange(2) == gate, (60, 1)))
    assert np.isnan(shown).all(axis=0).sum() == 2
