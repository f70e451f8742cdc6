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


def test_published_numbers_are_shares(rivals):
    for row in rivals.PUBLISHED.values():
        assert len(row) == 12
        assert all(0 <= value <= 100 for value in row)
