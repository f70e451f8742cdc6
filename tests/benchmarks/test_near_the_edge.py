"""The ways that the benchmark compares are what they say, and its table has the means of whole rows."""

import importlib.util
from pathlib import Path

import pytest
from sklearn.datasets import load_digits

from sklar.training.honest import swaps

SPEC = importlib.util.spec_from_file_location(
    "near_the_edge", Path(__file__).parents[2] / "benchmarks" / "near_the_edge.py"
)
bench = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bench)


def test_the_way_called_near_is_the_default():
    assert bench.WAYS["near"] == (swaps.NEAR, swaps.differences)
    assert bench.WAYS["all"][0] > 784


def test_the_settings_are_those_of_a_ranker(monkeypatch):
    """Each is known to the fit; one that is not is refused."""
    monkeypatch.setattr(bench, "load_images", lambda *_: load_digits(return_X_y=True))
    monkeypatch.setattr(bench, "ROWS", 200)
    short = {name: 2 for name in bench.SETTINGS if name.startswith("schedule.") and name.endswith("_steps")}
    monkeypatch.setattr(bench, "SETTINGS", bench.SETTINGS | short | {"schedule.most_width": 64})
    found = bench.measure("none", 3, 0)
    assert 0 <= found["accuracy"] <= 100
    monkeypatch.setattr(bench, "SETTINGS", bench.SETTINGS | {"schedule.no_such_steps": 2})
    with pytest.raises(ValueError, match="no_such_steps"):
        bench.measure("none", 3, 0)


def test_the_table_has_means_of_seeds():
    rows = [{"way": "all", "k": 10, "accuracy": value} for value in (80.0, 81.0)]
    assert bench.table(rows).splitlines()[-1] == "| all | 80.5 |"
