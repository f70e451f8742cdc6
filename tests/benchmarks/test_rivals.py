"""benchmarks/rivals.py runs, writes rows, and does not measure a row twice."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch

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
    assert tree["fit_seconds"] > 0
    assert (tree["device"], tree["side_by_side"]) == ("cpu", 1)
    assert "published" in capsys.readouterr().out
    assert rivals.main(words) == []


def test_published_numbers_are_the_papers(rivals):
    assert rivals.published("invase", "syn4", 11) == (99.8, 10.3)
    assert rivals.published("lasso", "syn6", 100) == (45.9, 54.1)
    assert rivals.published("stg", "syn1", 11) == (None, None)
    assert rivals.published("invase", "syn1", 50) == (None, None)


def test_fits_side_by_side(rivals, tmp_path):
    """Networks of one dimension and one k train together; what is done already, or cannot, does not."""
    out = tmp_path / "rows.jsonl"
    words = ["--quick", "--seeds", "2", "--out", str(out), "--methods"]
    (done,) = rivals.main([*words[:1], "--datasets", "syn4", *words[3:], "stg", "--device", "cpu"])
    rows = rivals.main([*words, "stg", "l2x", "tree", "--stack", "18"])
    together = {}
    for row in rows:
        together.setdefault(row["method"], {})[row["dataset"], row["seed"]] = row["side_by_side"]
    assert done["side_by_side"] == 1
    assert together == {
        "stg": {("syn1", 0): 3, ("syn1", 1): 3, ("syn4", 1): 3},
        "l2x": {("syn1", 0): 2, ("syn1", 1): 2, ("syn4", 0): 2, ("syn4", 1): 2},  # told k = 2 and k = 4
        "tree": {("syn1", 0): 1, ("syn1", 1): 1, ("syn4", 0): 1, ("syn4", 1): 1},
    }
    l2x = [row for row in rows if row["method"] == "l2x"]
    assert [(row["k"], row["features"]) for row in l2x] == [(2, 2), (2, 2), (4, 4), (4, 4)]
    assert l2x[0]["fit_seconds"] == l2x[1]["fit_seconds"] > 0
    assert rivals.main([*words, "stg", "l2x", "tree"]) == []


def test_stacks_can_be_smaller(rivals):
    rows = rivals.main(["--quick", "--seeds", "2", "--methods", "stg", "--stack", "3"])
    assert [row["side_by_side"] for row in rows] == [3, 3, 3, 1]


@pytest.mark.parametrize(
    "name", ["invase", "invase-minus", "l2x", "stg", "cae", "realx", "gdfs", "dime", "suwr", "tabnet"]
)
def test_every_network_that_predicts_from_its_mask_stacks(rivals, name):
    (row, _) = rivals.main(["--quick", "--datasets", "syn4", "--seeds", "2", "--methods", name, "--stack", "2"])
    assert row["side_by_side"] == 2
    assert row["device"] == ("cuda" if torch.cuda.is_available() else "cpu")
    assert 0 <= row["accuracy"] <= 100


def rows_for_tables():
    """Two seeds of the tree at d = 11, one of LIME and of STG, this from the GPU; old rows lack the newest fields."""
    shared = {"d": 11, "preset": "full", "accuracy": 60.0, "fit_cpu_seconds": 2.0, "select_ms_per_row": 0.5}
    shared |= {"rows_asked": 10_000, "published_tpr": None, "published_fdr": None}
    told = {"published_tpr": 54.7, "published_fdr": 39.0}
    return [
        {**shared, "method": "tree", "dataset": "syn4", "seed": 0, "tpr": 50.0, "fdr": 40.0, **told},
        {**shared, "method": "tree", "dataset": "syn4", "seed": 1, "tpr": 60.0, "fdr": 30.0, **told},
        {**shared, "method": "tree", "dataset": "syn1", "seed": 0, "tpr": 100.0, "fdr": 0.0, **told},
        {**shared, "method": "tree", "dataset": "syn1", "seed": 1, "tpr": 100.0, "fdr": 0.0, **told},
        {**shared, "method": "lime", "dataset": "syn4", "seed": 0, "tpr": 41.0, "fdr": 48.0, "rows_asked": 200},
        {**shared, "method": "stg", "dataset": "syn4", "seed": 0, "tpr": 1.0, "fdr": 2.0}
        | {"device": "cuda", "side_by_side": 18, "fit_seconds": 1.5},
    ]


def test_tables(rivals, tmp_path, capsys):
    rows = rows_for_tables()
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("".join(json.dumps(row) + "\n" for row in rows[:4]))
    second.write_text("".join(json.dumps(row) + "\n" for row in rows[4:]))
    assert rivals.main(["--table", str(first), str(second)]) == []
    assert (
        capsys.readouterr().out
        == """\
Means over 1 seed, 10,000 test rows; `lime`: 1 seed, 200 test rows; `tree`: 2 seeds, 10,000 test rows.

| d = 11 | Syn1 | Syn2 | Syn3 | Syn4 | Syn5 | Syn6 |
|---|---|---|---|---|---|---|
| `stg` | | | | 1.0/2.0 | | |
| `lime` | | | | 41.0/48.0 | | |
| `tree` | 100.0/0.0 | | | 55.0/35.0 | | |
| *published* | *54.7/39.0* | | | *54.7/39.0* | | |

`stg`: on cuda, 18 fits side by side, 1.5 s by the clock a fit.

| d = 11 | Syn1 | Syn2 | Syn3 | Syn4 | Syn5 | Syn6 | fit, CPU s | select, ms per row |
|---|---|---|---|---|---|---|---|---|
| `stg` | | | | 60.0 | | | 2.0 | 0.5000 |
| `lime` | | | | 60.0 | | | 2.0 | 0.5000 |
| `tree` | 60.0 | | | 60.0 | | | 2.0 | 0.5000 |
"""
    )


def test_tables_of_what_is_measured(rivals, capsys):
    """The rows that the repository holds can be shown; every dimension and preset has its tables."""
    path = FILE.parent.parent / "results" / "rivals.jsonl"
    rivals.main(["--table", str(path)])
    shown = capsys.readouterr().out
    for row in rivals.rows_of(path):
        assert f"| d = {row['d']}" in shown
        assert f"| `{row['method']}` |" in shown
