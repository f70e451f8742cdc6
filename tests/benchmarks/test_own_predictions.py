"""The benchmark of own predictions measures what it says, and its table has the right means."""

import importlib.util
import json
from pathlib import Path

SPEC = importlib.util.spec_from_file_location(
    "own_predictions", Path(__file__).parents[2] / "benchmarks" / "own_predictions.py"
)
own_predictions = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(own_predictions)


def test_one_split_of_a_small_table():
    row = own_predictions.measure("diabetes", 0, True)
    assert (row["table"], row["train_rows"], row["n_features"]) == ("diabetes", 309, 10)
    assert row["chosen"] in ("networks", "mean", "trees")
    assert row["chosen"] != "networks" or row["auto"] == row["networks"]
    json.dumps(row)


def test_the_table_has_means_over_splits_and_tables():
    same = {"train_rows": 100, "n_features": 5, "features": 2.0, "networks": 50.0, "chosen": "mean"}
    rows = [
        {"table": "a", "auto": 60.0, "all_features": 61.0, **same},
        {"table": "a", "auto": 62.0, "all_features": 61.0, **same, "chosen": "trees"},
        {"table": "b", "auto": 70.0, "all_features": 72.0, **same},
    ]
    text = own_predictions.shown(rows)
    assert "| a | 100 | 2.0 of 5 | 50.0 | 61.0 | mean 1, trees 1 | 61.0 | +0.0 |" in text
    assert "auto -1.00 (-2.0) points" in text


def test_a_table_that_is_not_there_is_said(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    assert own_predictions.measure("colon", 0, True) is None
    assert "colon" in capsys.readouterr().err
