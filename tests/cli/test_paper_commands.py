"""The paper, reproduced from the command line."""

import json
import re

import pytest

from tests.cli.commands import run


def test_reproduce_and_report(tmp_path):
    arguments = ["--quick", "--device", "cpu", "--out", tmp_path, "--method", "tree", "--set", "n_trees=5"]
    result = run("reproduce", "table-11d", *arguments[:-2])
    assert result.exit_code == 0, result.output
    assert "2 of 2 cells" in result.stderr
    trial = run("reproduce", "table-11d", *arguments, "--json")  # which the page leaves out
    assert json.loads(trial.stdout) == {"name": "table-11d", "out": str(tmp_path)}
    result = run("report", tmp_path, "--out", tmp_path / "index.html")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "Tree" in text
    assert "n_trees" not in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reproduce", "table-9"], "there is no experiment 'table-9'; there are table-11d"),
        (["reproduce", "table-11d", "--quick", "--method", "magic"], "table-11d has no method 'magic'"),
        (["reproduce", "table-nola", "--method", "sklar", "--device", "cpu"], "mnist.*is not in .*SKLAR_DATA"),
        (["report", ".", "--out", "x.html"], "holds no rows and no figures"),
    ],
)
def test_mistakes_about_results(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKLAR_DATA", str(tmp_path))
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert re.search(says, result.stderr), result.stderr


def test_an_interrupted_reproduction_keeps_what_it_has(tmp_path, monkeypatch):
    from sklar.paper.experiments import runner

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "reproduce", fail)
    result = run("reproduce", "all", "--out", tmp_path)
    assert result.exit_code == 130
    assert "the same command goes on" in result.stderr
