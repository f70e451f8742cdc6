"""The benchmarks, where there is a clone of the repository and where there is none."""

import pytest

import sklar
from sklar.paper.bench import run_benchmarks


def test_the_benchmarks_run_from_a_clone(capsys):
    run_benchmarks((3,), "cpu", quick=True)
    assert "| d | sklar | Cholesky | ratio | target |" in capsys.readouterr().out


def test_without_a_clone_the_benchmarks_say_where_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sklar, "__file__", str(tmp_path / "a" / "b" / "__init__.py"))
    with pytest.raises(FileNotFoundError, match="in a clone of the repository"):
        run_benchmarks()
