"""Rows on disk: whole, once, and safe from a kill."""

import json

import numpy as np
import pytest

from sklar.paper.experiments.results import for_the_page, summaries, tables_of
from sklar.paper.experiments.rows import RowFile, read_rows
from sklar.paper.results_page import _distinct, _rows_of, _seconds


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


def test_a_cell_of_earlier_settings_is_measured_again_and_then_counts(tmp_path):
    (tmp_path / "rows-a.jsonl").write_text(json.dumps(row(0, value=1.0, earlier="half the steps")) + "\n")
    assert read_rows(tmp_path)[0]["value"] == 1.0
    with RowFile(tmp_path / "rows-b.jsonl") as file:
        assert file.add([row(0, value=2.0)]) == 1
    assert [r["value"] for r in read_rows(tmp_path)] == [2.0]


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
    whole = json.dumps(row())
    (tmp_path / "rows-a.jsonl").write_text(f"{whole}\nnonsense\n{whole}\n")
    with pytest.raises(ValueError, match=r"rows-a.jsonl line 2 is no row"):
        read_rows(tmp_path)


def test_values_that_are_no_numbers_are_refused(tmp_path):
    with RowFile(tmp_path / "rows-a.jsonl") as file, pytest.raises(ValueError, match="JSON"):
        file.add([row(value=float("nan"))])


def test_a_file_without_rows_is_not_left_behind(tmp_path):
    with RowFile(tmp_path / "rows-a.jsonl") as file:
        file.add([])
    assert list(tmp_path.iterdir()) == []


HOSTILE = [None, True, -1, 2**63, 10**400, 1e308, 0.5, "", "x" * 10_000, "<script>", [], {}, [[]], {"a": [1]}]
RAW = ["NaN", "Infinity", "1e999", "9" * 5000, "[" * 100_000, '"\\ud800"', '{"a":' * 50_000]


def edited_line(random):
    """A row with one field removed or replaced, now and then by what is hardly JSON."""
    fields = {**row(), "command": "c", "commit": "c", "device": "d", "seconds": 1.0, "dataset": "mnist", "k": 10}
    fields |= {"method": "joint-full", "metric": "accuracy"}
    name = str(random.choice(sorted(fields)))
    how = random.random()
    if how < 0.1:
        return json.dumps({**fields, name: "HERE"}).replace('"HERE"', RAW[random.integers(len(RAW))])
    if how < 0.3:
        del fields[name]
    else:
        fields[name] = HOSTILE[random.integers(len(HOSTILE))]
    return json.dumps(fields)


@pytest.mark.parametrize("seeds", [range(300), pytest.param(range(300, 10_300), marks=pytest.mark.slow)], ids=len)
def test_edited_rows_are_read_or_refused_by_line(tmp_path, seeds):
    """What is read can be counted, appended to and summarised."""
    read, refused = 0, []
    for seed in seeds:
        (tmp_path / "rows-a.jsonl").write_text(edited_line(np.random.default_rng(seed)) + "\n", encoding="utf-8")
        try:
            rows = read_rows(tmp_path)
        except ValueError as error:
            refused.append(str(error))
            continue
        read += 1
        summaries(rows), for_the_page(rows), _rows_of("table-nola", rows), _seconds(rows), _distinct(rows, "command")
        tables_of("table-nola", rows, quick=False)
        with RowFile(tmp_path / "rows-a.jsonl") as file:
            assert file.add(rows) == 0
    assert read
    assert refused
    assert all("rows-a.jsonl line 1 is no row: " in error for error in refused)


def test_a_field_of_another_type_is_named(tmp_path):
    (tmp_path / "rows-a.jsonl").write_text(json.dumps(row(seed="0")) + "\n")
    with pytest.raises(ValueError, match="'seed' must be int; got '0'"):
        read_rows(tmp_path)
