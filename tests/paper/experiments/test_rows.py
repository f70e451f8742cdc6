"""Rows on disk: whole, once, and safe from a kill."""

import json

import pytest

from sklar.paper.experiments.rows import RowFile, read_rows


def row(seed=0, value=1.0, **more):
    fields = {"method": "m", "dataset": "d", "setting": "", "k": None, "metric": "tpr", "quick": False, "overrides": {}}
    return {**fields, "experiment": "e", "seed": seed, "value": value, **more}


def test_never_twice(tmp_path):
    with RowFile(tmp_path / "rows-a.jsonl") as file:
        assert file.add([row(0), row(1), row(0)]) == 2
        assert file.add([row(1, value=9.0)]) == 0
    assert [(r["seed"], r["value"]) for r in read_rows(tmp_path)] == [(0, 1.0), (1, 1.0)]


def test_another_experiment_may_have_measured_it(tmp_path):
    with RowFile(tmp_path / "rows-a.jsonl") as file:
        file.add([row(0)])
    with RowFile(tmp_path / "rows-b.jsonl") as file:
        assert file.add([row(0, experiment="other"), row(0, overrides={"rank": 2}), row(0, quick=True)]) == 2


def test_rows_of_before_a_rename_count(tmp_path):
    (tmp_path / "rows-old.jsonl").write_text(json.dumps(row(0, overrides={"aside": True})) + "\n")
    with RowFile(tmp_path / "rows-new.jsonl") as file:
        assert file.add([row(0, overrides={"held_out": True}), row(1, overrides={"held_out": True})]) == 1


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_half_a_row_is_cut_off(tmp_path, cut):
    path = tmp_path / "rows-a.jsonl"
    with RowFile(path) as file:
        file.add([row(0), row(1)])
    path.write_bytes(path.read_bytes()[:-cut])
    assert len(read_rows(tmp_path)) == 1
    with RowFile(path) as file:
        assert file.add([row(0), row(1)]) == 1
    lines = path.read_text().splitlines()
    assert [json.loads(line)["seed"] for line in lines] == [0, 1]


def test_one_run_at_a_time(tmp_path):
    path = tmp_path / "rows-a.jsonl"
    with RowFile(path), pytest.raises(OSError, match="another run is writing"):
        RowFile(path)
    RowFile(path).close()


def test_a_line_that_is_no_row_is_named(tmp_path):
    (tmp_path / "rows-a.jsonl").write_text("{}\nnonsense\n{}\n")
    with pytest.raises(ValueError, match=r"rows-a.jsonl line 2 is no row"):
        read_rows(tmp_path)


def test_values_that_are_no_numbers_are_refused(tmp_path):
    with RowFile(tmp_path / "rows-a.jsonl") as file, pytest.raises(ValueError, match="JSON"):
        file.add([row(value=float("nan"))])


def test_a_file_without_rows_is_not_left_behind(tmp_path):
    with RowFile(tmp_path / "rows-a.jsonl") as file:
        file.add([])
    assert list(tmp_path.iterdir()) == []
