"""The ablation of joint training: rows, no cell twice, and the table from rows."""

import importlib.util
import json
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "joint_ablation.py"
SPEC = importlib.util.spec_from_file_location("joint_ablation", FILE)
ablation = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ablation)

QUICK = ["--quick", "--device", "cpu", "--data", "paper"]


@pytest.fixture(scope="module")
def rows_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    ablation.main([*QUICK, "--readings", "paper", "--folds", "--out", str(path)])
    return path


def test_a_row_is_a_model(rows_file):
    rows = [json.loads(line) for line in rows_file.read_text().splitlines()]
    assert len(rows) == 2 * ablation.N_PENALTIES  # Syn1 and Syn4
    assert len({row["penalty"] for row in rows}) == ablation.N_PENALTIES
    assert all(row["cv_loss"] > 0 for row in rows)
    assert all(0 <= row[what] <= 100 for row in rows for what in ("tpr", "fdr", "accuracy"))


def test_what_is_there_is_not_measured_again(rows_file):
    before = rows_file.read_text()
    assert ablation.main([*QUICK, "--readings", "paper", "--folds", "--out", str(rows_file)]) == []
    assert rows_file.read_text() == before


def test_lambda_by_cross_validation_and_in_hindsight(capsys, tmp_path):
    shared = {"reading": "paper", "setting": "d=11", "variant": "paper", "dataset": "syn1"}
    rows = [
        {**shared, "seed": seed, "penalty": penalty, "tpr": tpr, "fdr": fdr, "cv_loss": loss}
        for seed, penalty, tpr, fdr, loss in [
            (0, 0.1, 100.0, 50.0, 0.4),
            (0, 0.2, 90.0, 0.0, 0.5),
            (1, 0.1, 50.0, 0.0, 0.5),
            (1, 0.2, 60.0, 0.0, 0.4),
        ]
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ablation.main(["--table", str(path)])
    printed = capsys.readouterr().out
    assert "| d = 11, the paper's formulas | *published* | | | 100.0/0.0 |" in printed
    assert "| paper | cross-validated | 2 | 80.0/25.0 |" in printed
    assert "| paper | in hindsight | 2 | 75.0/0.0 |" in printed


def test_cells_that_reach_what_is_printed_are_counted():
    printed = [(100.0, 0.0), (86.4, 4.8), (86.4, 4.8), (96.8, 2.0)]
    assert ablation.n_reached([(95.0, 5.0), (86.4, 9.9), (100.0, 0.0), None], printed) == "2 of 3"


def test_every_reading_changes_a_parameter_that_there_is():
    first = ablation.params_of("paper", 1)
    for reading in ablation.READINGS:
        other = ablation.params_of(reading, 1)
        assert other.keys() == first.keys()
        assert (other == first) == (reading == "paper")
