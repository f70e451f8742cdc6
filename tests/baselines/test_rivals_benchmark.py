"""benchmarks/rivals.py runs, writes rows, and does not measure a row twice."""

import importlib.util
import json
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "rivals.py"


@pytest.fixture
def rivals():
    spec = importlib.util.spec_from_file_location("rivals", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows(rivals, tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    words = ["--quick", "--methods", "tree", "constant-union", "scfs", "--datasets", "syn4", "--out", str(out)]
    rows = rivals.main(words)
    assert [json.loads(text) for text in out.read_text().splitlines()] == rows
    tree, union, scfs = rows
    assert union["tpr"] == 100
    assert union["fdr"] == pytest.approx(42.9, abs=5)
    assert (tree["published_tpr"], tree["published_fdr"]) == (54.7, 39.0)
    assert tree["features"] == scfs["features"] == 4
    assert tree["fit_cpu_seconds"] > 0
    assert tree["select_ms_per_row"] > 0
    assert "published" in capsys.readouterr().out
    assert rivals.main(words) == []


def test_published_numbers_are_the_papers(rivals):
    assert rivals.published("invase", "syn4", 11) == (99.8, 10.3)
    assert rivals.published("lasso", "syn6", 100) == (45.9, 54.1)
    assert rivals.published("stg", "syn1", 11) == (None, None)
    assert rivals.published("invase", "syn1", 50) == (None, None)
