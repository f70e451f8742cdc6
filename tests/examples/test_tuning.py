"""The examples of searching for words run as they stand, on few rows."""

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(monkeypatch, capsys):
    """Standard output of an example; in this process, because a fresh one needs seconds to load torch."""

    def run_example(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run_example


def test_grid_search(run):
    lines = run("grid_search.py", "--rows", 150).splitlines()
    assert sum("log loss" in line for line in lines) == 3
    assert lines[-2].startswith("chosen: k = ")
    assert lines[-1].startswith("selected in % of the rows: x")


@pytest.mark.skipif(not importlib.util.find_spec("optuna"), reason="needs the [tune] extra")
def test_tune_optuna_goes_on_where_it_stopped(run, tmp_path):
    words = ("tune_optuna.py", "--rows", 150, "--journal", tmp_path / "tune.log", "--trials")
    assert run(*words, 2).startswith("2 trials in ")
    more = run(*words, 1)
    assert more.startswith("3 trials in ")
    assert "features per row, log loss" in more
