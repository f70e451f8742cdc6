"""Sweeps on a real cluster: killed workers lose and double nothing, a scheduler that goes away is one line."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from distributed import LocalCluster

from sklar.paper.experiments.runner import reproduce
from sklar.scale import sweeps
from sklar.scale.sweeps import over_dask

# Dask's own: a worker that is killed leaves sockets behind for a moment.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as running:
        yield running


def doubled(item, more):
    return os.getpid(), 2 * item + more


def test_all_items_are_done_by_the_workers(cluster):
    found = list(over_dask(cluster.scheduler_address, doubled, list(range(20)), 1))
    assert sorted(value for _, value in found) == [2 * item + 1 for item in range(20)]
    assert os.getpid() not in {pid for pid, _ in found}


def fails(item):
    raise ValueError(f"item {item} is bad")


def test_an_error_of_the_work_is_the_same_error_here(cluster):
    with pytest.raises(ValueError, match="item 7 is bad"):
        list(over_dask(cluster.scheduler_address, fails, [7]))


WORDS = {"quick": True, "methods": ["lasso"], "seeds": 2, "device": "cpu"}


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The rows of a table that was measured here."""
    return _rows(reproduce("table-11d", out=tmp_path_factory.mktemp("here"), echo=lambda text: None, **WORDS))


def test_a_killed_worker_loses_and_doubles_nothing(cluster, tmp_path, expected):
    """Cells of a table are measured on two workers; one is killed in the middle. Every row is there, once."""
    killed = []

    def kill_one(text):
        if " of " in text and "left" in text and not killed:
            [worker, *_] = cluster.workers.values()
            killed.append(worker.process.pid)
            os.kill(worker.process.pid, signal.SIGKILL)

    folder = reproduce("table-11d", out=tmp_path / "there", dask=cluster.scheduler_address, echo=kill_one, **WORDS)
    assert killed
    found = _rows(folder)
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == len(found)
    said = []
    reproduce("table-11d", out=tmp_path / "there", dask=cluster.scheduler_address, echo=said.append, **WORDS)
    assert any(": 0 of" in text for text in said)  # nothing is measured again


def _rows(folder):
    """What was measured and how it came out, of every row."""
    names = ("method", "dataset", "seed", "metric", "value")
    lines = [line for path in folder.glob("rows*.jsonl") for line in path.read_text().splitlines()]
    return [tuple(json.loads(line)[name] for name in names) for line in lines]


def test_no_scheduler_is_one_line(monkeypatch):
    monkeypatch.setattr(sweeps, "PATIENCE", 1)
    with pytest.raises(ConnectionError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(over_dask("tcp://127.0.0.1:9", doubled, [1], 1))


SCHEDULER = """
import os, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None,
                      protocol="tcp://") as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(600)
"""


def slowly(item):
    time.sleep(0.2)
    return item


@contextmanager
def scheduled():
    """A scheduler in a process of its own, and its address."""
    process = subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


GONE = r"the Dask scheduler at .* has gone; the same command goes on later"


def test_a_scheduler_that_goes_away_is_one_line(monkeypatch):
    monkeypatch.setattr(sweeps, "PATIENCE", 2)
    done = []

    def run():
        for item in over_dask(address, slowly, list(range(100))):
            done.append(item)
            if len(done) == 3:
                process.kill()

    with scheduled() as (process, address), pytest.raises(ConnectionError, match=GONE):
        run()
    assert 3 <= len(done) < 100


def test_after_a_scheduler_has_gone_the_same_command_completes(monkeypatch, tmp_path, expected):
    """It measures on another one what is left, and nothing again: every row is there, once."""
    monkeypatch.setattr(sweeps, "PATIENCE", 2)

    def kill(text):
        if " of " in text and "left" in text:
            process.kill()

    with scheduled() as (process, address), pytest.raises(ConnectionError, match=GONE):
        reproduce("table-11d", out=tmp_path, dask=address, echo=kill, **WORDS)
    some = _rows(tmp_path)
    assert 0 < len(some) < len(expected)
    with scheduled() as (_, another):
        found = _rows(reproduce("table-11d", out=tmp_path, dask=another, echo=lambda text: None, **WORDS))
    assert sorted(found) == sorted(expected)
    assert set(some) < set(found)
    assert len(set(found)) == len(found)
