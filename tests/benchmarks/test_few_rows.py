"""The benchmark of few rows compares arms on the seeds that both have."""

import importlib.util
import json
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("few_rows", Path(__file__).parents[2] / "benchmarks" / "few_rows.py")
few_rows = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(few_rows)


def test_synthetic_data_have_rates_and_tables_have_none():
    (row,) = few_rows.measure("syn4-200", 11, 2, 1.0, 1)
    assert 0 <= row["tpr"] <= 100
    assert row["loss"] > 0
    (row,) = few_rows.measure("diabetes", 500, 2, 1.0, 1)
    assert row["tpr"] is None
    assert row["n_folds"] == 2


def test_an_arm_stands_beside_the_default_of_the_same_seeds():
    rows = [
        dict(zip(few_rows.KEY, ("wine", seed, folds, "auto", None), strict=True))
        | {"tpr": None, "fdr": None, "loss": loss, "score": 90.0}
        for seed, folds, loss in ((1, 4, 0.5), (2, 4, 9.0), (1, 8, 0.25), (3, 8, 7.0))
    ]
    (line,) = few_rows.table(json.loads(json.dumps(rows))).splitlines()[2:]
    assert line == "| wine | 1 | 8 | auto |  |  | 0.250 | 0.500 | 90.0 | 90.0 |"
