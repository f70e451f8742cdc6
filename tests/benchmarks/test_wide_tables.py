"""The benchmark of few rows and many features: one fit, and the table of its rows."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SPEC = importlib.util.spec_from_file_location("wide_tables", Path(__file__).parents[2] / "benchmarks/wide_tables.py")
wide_tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(wide_tables)


def test_genes_are_drawn_again_alike():
    X, y = wide_tables.genes(3, 0.5)
    assert X.shape == (160, 3000)
    assert set(y) == {0, 1, 2, 3}
    np.testing.assert_array_equal(X, wide_tables.genes(3, 0.5)[0])


@pytest.mark.parametrize("arm", wide_tables.ARMS)
def test_a_fit_of_each_arm(arm, monkeypatch):
    X, y = wide_tables.genes(0, 0.5)
    split = (X[:60, :80], y[:60] % 2, X[60:, :80], y[60:] % 2)
    monkeypatch.setattr(wide_tables, "splits", lambda data, seed: [split])
    usual = wide_tables.rehearsal.tries_one_set
    (row,) = wide_tables.measure("genes", 0, arm)
    assert row["one_set"].endswith("of 1" if arm == "with" else "of 0")
    assert 0 <= row["balanced_accuracy"] <= 100
    assert wide_tables.rehearsal.tries_one_set is usual


def test_the_table_has_a_line_for_each_data_and_arm():
    row = {"balanced_accuracy": 80.0, "log_loss": 0.5, "features": 20.0, "seconds": 2.0}
    rows = [
        {"data": "colon", "seed": seed, "arm": arm, "one_set": "4 of 5" if arm == "with" else "0 of 0", **row}
        for seed in (0, 1)
        for arm in wide_tables.ARMS
    ]
    first, second, *rivals = wide_tables.table(rows).splitlines()[2:]
    assert first == "| colon | 2 | `sklar` | 80.0 | 0.500 | 20.0 | 8 of 10 | 2.0 |"
    assert second == "| colon | 2 | `sklar`, one set not tried | 80.0 | 0.500 | 20.0 |  | 2.0 |"
    assert len(rivals) == 2
