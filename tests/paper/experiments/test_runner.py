"""The runner: every cell once, kills survived, trials marked, mistakes in one line."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from joblib import parallel_config

from sklar.paper.experiments import runner
from sklar.paper.experiments.rows import read_rows
from sklar.paper.experiments.runner import reproduce
from sklar.paper.experiments.specs import SPECS
from sklar.paper.experiments.units import Measured

QUICK = {"quick": True, "device": "cpu", "echo": lambda text: None}


@pytest.fixture
def counted(monkeypatch):
    """A stand-in for measuring that says how often it was asked for what."""
    asked = []

    def measure(unit, device_type):
        asked.append(unit)
        results = [Measured(cell, dict.fromkeys(unit.spec.metrics, 50.0), (("note", 1),)) for cell in unit.cells]
        return unit, results, {"seconds": 0.5, "peak_memory_mib": 1, "device": "cpu"}

    monkeypatch.setattr(runner, "measure", measure)
    return asked


def test_real_rows_say_all_that_they_must(tmp_path):
    reproduce("table-11d", out=tmp_path, methods=["tree", "constant-union"], **QUICK)
    rows = read_rows(tmp_path)
    assert {row["dataset"] for row in rows} == {"syn1", "syn4"}
    assert {row["metric"] for row in rows} == {"tpr", "fdr"}
    for row in rows:
        assert row["experiment"] == "table-11d"
        assert row["quick"] is True
        assert 0 <= row["value"] <= 100
        assert row["seconds"] >= 0
        assert row["peak_memory_mib"] > 0
        assert set(row["versions"]) >= {"python", "torch", "sklar"}
        assert row["commit"]
        assert row["command"].startswith("sklar reproduce table-11d --device cpu --quick --method tree")
    union = {(row["dataset"], row["metric"]): row["value"] for row in rows if row["method"] == "constant-union"}
    assert union["syn1", "tpr"] == union["syn4", "tpr"] == 100
    assert union["syn1", "fdr"] == 0
    assert 40 < union["syn4", "fdr"] < 46


def test_nothing_is_measured_twice(tmp_path, counted):
    reproduce("table-nola", out=tmp_path, seeds=2, **QUICK)
    assert sum(len(unit.cells) for unit in counted) == 3 * 4 * 2
    before = read_rows(tmp_path)
    counted.clear()
    reproduce("table-nola", out=tmp_path, seeds=2, **QUICK)
    assert counted == []
    reproduce("table-nola", out=tmp_path, seeds=3, **QUICK)
    assert {cell.seed for unit in counted for cell in unit.cells} == {2}
    assert read_rows(tmp_path)[: len(before)] == before


def test_tables_share_their_cells(tmp_path, counted):
    reproduce("table-nola", out=tmp_path, **QUICK)
    counted.clear()
    reproduce("table-low-rank", out=tmp_path, **QUICK)
    assert {unit.method.name for unit in counted} == {"joint-low-rank"}


def test_a_trial_is_another_row(tmp_path, counted):
    reproduce("table-nola", out=tmp_path, methods=["sklar"], ks=[10], **QUICK)
    reproduce("table-nola", out=tmp_path, methods=["sklar"], ks=[10], overrides={"learning_rate": 0.1}, **QUICK)
    assert [row["overrides"] for row in read_rows(tmp_path)] == [{}, {}, *[{"learning_rate": 0.1}] * 2]
    assert counted[-1].params["learning_rate"] == 0.1
    reproduce("table-nola", out=tmp_path, methods=["sklar"], ks=[10], overrides={"judge.steps": 7}, **QUICK)
    assert counted[-1].spec.judge.steps == 7
    assert "judge.steps" not in counted[-1].params


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "table-1"}, "there is no experiment 'table-1'"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"methods": ["magic"]}, "table-nola has no method 'magic'; it has sklar"),
        ({"datasets": ["cifar"]}, "table-nola has no data set 'cifar'"),
        ({"ks": [11]}, "table-nola has no k 11"),
        ({"overrides": {"judge.speed": 1}}, "the judge has no setting 'speed'"),
        ({"overrides": {"held_out": True}, "name": "table-11d"}, "table-11d has no held-out rows"),
        ({"overrides": {"aside": True}, "name": "table-11d"}, "table-11d has no held-out rows"),  # its older name
        ({"overrides": {"speed": 1}, "methods": ["joint-full"]}, "joint training has no parameter 'speed'"),
    ],
)
def test_mistakes(tmp_path, arguments, says):
    with pytest.raises(ValueError, match=says):
        reproduce(**{"name": "table-nola", "out": tmp_path, **QUICK, **arguments})


def test_a_missing_package_is_named_and_left_out(tmp_path, counted, monkeypatch):
    monkeypatch.setattr(runner, "NEEDS", {"shap": "no_such_package"})
    said = []
    reproduce("table-11d", out=tmp_path, methods=["shap", "tree"], **{**QUICK, "echo": said.append})
    assert said[0].startswith("left out: shap, which needs the package 'no_such_package'")
    assert {unit.method.name for unit in counted} == {"tree"}


def test_progress_has_an_estimate(tmp_path, counted):
    said = []
    reproduce("table-11d", out=tmp_path, methods=["tree"], **{**QUICK, "echo": said.append})
    assert any("1 of 2 cells, about" in line for line in said)


def test_jobs_give_the_same_rows(tmp_path):
    for jobs in (1, 2):
        with parallel_config(backend="threading"):  # processes take seconds to start
            reproduce("table-11d", out=tmp_path / str(jobs), methods=["tree", "scfs"], jobs=jobs, **QUICK)
    one, two = (
        {(r["method"], r["dataset"], r["metric"]): r["value"] for r in read_rows(tmp_path / str(jobs))}
        for jobs in (1, 2)
    )
    assert one == two
    assert len(one) == 8


KILLED = """
import sys, time
from sklar.paper.experiments import runner
from sklar.paper.experiments.units import Measured

def measure(unit, device_type):
    time.sleep(0.02)
    results = [Measured(cell, {"tpr": 1.0, "fdr": 2.0}, (("padding", "x" * 20_000),)) for cell in unit.cells]
    return unit, results, {"seconds": 0.0, "peak_memory_mib": 1, "device": "cpu"}

runner.measure = measure
runner.reproduce("table-11d", seeds=30, quick=True, device="cpu", out=sys.argv[1], methods=["tree"])
"""


def test_a_killed_run_goes_on(tmp_path, counted):
    """Killed wherever it is: in the end every row is there, whole and once."""
    path = tmp_path / "rows-table-11d.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 60
    while (path.stat().st_size if path.exists() else 0) == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert child.poll() is None, "the run was over before it was killed"
    child.send_signal(signal.SIGKILL)
    child.wait()
    path.write_bytes(path.read_bytes()[:-7])  # as if the last write had not come through
    before = read_rows(tmp_path)
    assert 0 < len(before) < 120
    reproduce("table-11d", out=tmp_path, seeds=30, methods=["tree"], **QUICK)
    assert 0 < len(counted) < 60
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    keys = [(row["dataset"], row["seed"], row["metric"]) for row in rows]
    assert rows[: len(before)] == before
    assert len(keys) == len(set(keys))
    assert {(dataset, seed) for dataset, seed, metric in keys if metric == "tpr"} == {
        (dataset, seed) for dataset, seed, metric in keys if metric == "fdr"
    }
    assert len(keys) >= 2 * 30 * 2


@pytest.mark.slow  # two minutes on one core: everything, in its small version
@pytest.mark.parametrize("name", SPECS)
def test_every_quick_version_takes_less_than_two_minutes(name, tmp_path):
    start = time.process_time()
    reproduce(name, out=tmp_path, **QUICK)
    assert time.process_time() - start < 120
    assert read_rows(tmp_path) or (tmp_path / f"{name}.json").exists()
