"""What training is given: tensors of the columns worth training on."""

import numpy as np
import pytest
import torch

from sklar.estimators import preparation
from sklar.estimators.preparation import copies_read, named, prepare, require_finite_weights
from sklar.table.schema import Schema, read_training_table
from sklar.target import encode_numbers
from sklar.training.replacement import Replacement

CPU = torch.device("cpu")
X = np.random.default_rng(0).standard_normal((300, 12))


def prepared(k=None, screen=True, **params):
    table = read_training_table(X, X[:, 7], np.arange(1.0, 301.0) / 3, "Owner")
    schema = Schema.of(table, params)
    return prepare(schema, table.rows, encode_numbers(table.y, "squared", table.weight), k, CPU, screen)


def test_a_training_that_diverged_is_refused():
    layer = torch.nn.Linear(2, 2)
    require_finite_weights(layer)
    layer.weight.data[0, 0] = torch.inf
    with pytest.raises(ValueError, match="training diverged"):
        require_finite_weights(layer)


def test_all_columns_of_a_table_that_is_not_very_wide():
    schema, data, copies = prepared()
    assert copies == []
    assert schema.columns.tolist() == list(range(12))
    assert data.x.shape == (300, 12)
    assert data.x.dtype == torch.float32
    assert data.weight.mean().item() == np.float32(1.0)


def test_of_a_very_wide_table_the_strongest_and_the_forced(monkeypatch):
    monkeypatch.setattr(preparation, "WIDEST", 3)
    schema, data, _ = prepared(forced=[11])
    assert {7, 11} <= set(schema.columns.tolist())
    assert data.x.shape == (300, 3)
    assert prepared(k=4).data.x.shape == (300, 8)  # twice as many as a row is to get
    assert prepared(screen=False).data.x.shape == (300, 12)


def test_copies_are_left_out_and_listed_by_name(monkeypatch):
    monkeypatch.setattr(f"{__name__}.X", np.concatenate([X, 2 * X[:, [3, 7]]], axis=1))
    schema, data, copies = prepared()
    assert copies == [[3, 12], [7, 13]]
    assert data.x.shape == (300, 12)
    assert copies_read(schema, [0, 7], copies) == (("x7", "x13"),)
    (one,) = named(schema, [Replacement(3, 7, 0.1, 0.0, 1.0, 0.0, 0.1, 99)])
    assert (one.feature, one.by) == ("x3", "x7")
    assert prepared(screen=False).copies == []
    assert prepared(groups=[[3, 4]]).copies == [[7, 13]]  # a gate of several columns stays


def test_columns_of_one_value_are_left_out_unless_needed(monkeypatch):
    monkeypatch.setattr(f"{__name__}.X", np.insert(X, [2, 5], 3.0, axis=1))  # columns 2 and 6
    assert prepared().schema.columns.tolist() == [0, 1, 3, 4, 5, *range(7, 14)]
    assert 2 in prepared(forced=[2]).schema.columns
    assert {2, 3} <= set(prepared(groups=[[2, 3]]).schema.columns.tolist())  # its gate has a column that varies
    assert {2, 6}.isdisjoint(prepared(groups=[[2, 6]]).schema.columns.tolist())
    assert prepared(k=13).data.x.shape == (300, 14)  # a row is to get more than vary
    assert prepared(screen=False).data.x.shape == (300, 14)


def test_a_table_of_constants_alone_is_still_a_table(monkeypatch):
    monkeypatch.setattr(f"{__name__}.X", np.ones((300, 12)))
    assert prepared().data.x.shape == (300, 12)
