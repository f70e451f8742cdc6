"""Workers: they work side by side, and end when the process that started them is killed or interrupted."""

import os
import signal
import subprocess
import sys
import time

import pytest

from sklar.paper.experiments.workers import in_processes

WORK = """
import os, time

def wait(folder, number):
    open(f"{folder}/{os.getpid()}", "w").close()
    time.sleep(600)
"""
PARENT = """
import sys
from sklar.paper.experiments.workers import in_processes
from waiting import wait

try:
    list(in_processes(wait, [(sys.argv[1], i) for i in range(2)], jobs=2))
except KeyboardInterrupt:
    print("interrupted", file=sys.stderr)
    sys.exit(130)
"""


def alive(pid):
    """Whether a process runs; one that ended and that nobody asked about does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_results_come_as_they_are_made():
    assert sorted(in_processes(pow, [(2, 3), (3, 2)], jobs=2)) == [8, 9]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_no_worker_outlives_its_parent(tmp_path, how):
    script, folder = tmp_path / "parent.py", tmp_path / "pids"
    script.write_text(PARENT)
    (tmp_path / "waiting.py").write_text(WORK)
    folder.mkdir()
    parent = subprocess.Popen(
        [sys.executable, str(script), str(folder)], stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    assert until(lambda: len(list(folder.iterdir())) == 2), "the workers did not begin"
    workers = [int(path.name) for path in folder.iterdir()]
    assert all(map(alive, workers))
    if how == "killed":
        parent.kill()
    else:  # as a terminal does: everyone in the group
        os.killpg(parent.pid, signal.SIGINT)
    said = parent.communicate(timeout=60)[1]
    assert until(lambda: not any(map(alive, workers)), 10)
    if how == "interrupted":
        assert parent.returncode == 130
        assert said.startswith("interrupted\n")  # joblib's tracker may add that it cleaned up behind its workers
        assert "Traceback" not in said
