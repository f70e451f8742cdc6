"""Kills at random moments, for test_kills: one process that has imported everything, and forks what is to be killed.

`python -m tests.killing FOLDER N SEED` does each scene in turn: once to its end, to know what should come out and how
long it takes; then N times in all it is killed (SIGKILL) at a random moment and done again, in the same folder. What is
there after the kill must be whole; what is there after the next run must be what comes out of a run never killed,
without anything left over. Also Ctrl-C: one line, exit code 130, nothing half.
"""

import itertools
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import torch

import sklar
from sklar import workflow
from sklar.cli import main
from sklar.export.storage import read_model
from sklar.paper.experiments import runner
from sklar.paper.experiments.rows import read_rows
from sklar.paper.experiments.units import Measured
from sklar.training.engine import checkpoint as checkpoints
from sklar.training.engine.checkpoint import checkpointing

FIT = ["fit", "t.csv", "--target", "y", "--out", "model.sklar", "--checkpoint", "run", "--quiet", "--device", "cpu"]
SMALL = ["--max-epochs", "2", "--choice-hidden", "8", "--predict-hidden", "8", "--batch-size", "50"]
FIT += [*SMALL, "--random-state", "0", "--task", "classification"]


def fit():
    """The command, which writes a checkpoint after every step."""
    main(FIT, standalone_mode=False)


def save():
    """Over a file that is there."""
    model = sklar.load("fitted.sklar")
    for _ in range(15):
        model.save("model.sklar")


def report():
    """A page over one that is there."""
    X = np.random.default_rng(0).standard_normal((40, 4))
    sklar.load("fitted.sklar").report(X, (X[:, 0] > 0).astype(int), "page.html", audit=False)


def measure(unit, device_type):
    """A stand-in whose rows are long enough to be cut."""
    time.sleep(0.005)
    results = [Measured(cell, {"tpr": 1.0, "fdr": 2.0}, (("padding", "x" * 20_000),)) for cell in unit.cells]
    return unit, results, {"seconds": 0.0, "peak_memory_mib": 1, "device": "cpu"}


def reproduce():
    """Rows of a table."""
    runner.measure = measure
    runner.reproduce("table-11d", seeds=10, quick=True, device="cpu", out="rows", methods=["tree"], echo=silent)


def silent(text):
    """Say nothing."""


def write_checkpoint():
    """Large states, one after the other."""
    with checkpointing("large", {}, 0) as kept:
        state = {"x": torch.zeros(400_000)}
        done = kept.begin(state, 100)
        assert bool((state["x"] == done).all())  # of one moment, and of the moment it says
        for step in range(done, 15):
            state["x"].fill_(step + 1)
            kept.keep(state, step + 1)


def model_is_whole():
    if Path("model.sklar").exists():
        read_model("model.sklar")


def page_is_whole():
    if Path("page.html").exists():
        assert Path("page.html").read_text().rstrip().endswith("</html>")


def rows_are_single():
    rows = read_rows("rows") if Path("rows").exists() else []
    assert len({(row["dataset"], row["seed"], row["metric"]) for row in rows}) == len(rows)


def all_rows():
    """What does not differ from run to run."""
    lines = Path("rows/rows-table-11d.jsonl").read_text().splitlines()
    return sorted((row["dataset"], row["seed"], row["metric"], row["value"]) for row in read_rows("rows")), len(lines)


# scene -> what is whole after a kill, and what comes out in the end
SCENES = {
    fit: (model_is_whole, lambda: Path("model.sklar").read_bytes()),
    save: (model_is_whole, lambda: Path("model.sklar").read_bytes()),
    report: (page_is_whole, lambda: Path("page.html").read_text()),
    reproduce: (rows_are_single, all_rows),
    write_checkpoint: (lambda: None, lambda: Path("large/loop-001.safetensors").read_bytes()),
}


def forked(work):
    """A process that does the work; its exit code says whether it could."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        with open("stderr.txt", "w") as file:
            os.dup2(file.fileno(), 2)
        work()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def done(work):
    """Do the work to its end; how long it took."""
    start = time.monotonic()
    status = os.waitpid(forked(work), 0)[1]
    assert status == 0, Path("stderr.txt").read_text()
    return time.monotonic() - start


def killed(work, after):
    """Begin the work, and kill it after a while; whether that came before its end."""
    pid = forked(work)
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


def fresh(home, name):
    """A folder with a table and a model in it, as the present one."""
    folder = home / name
    folder.mkdir()
    os.chdir(folder)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    lines = [",".join([*map(repr, row.tolist()), str(int(row[0] > 0))]) for row in X]
    Path("t.csv").write_text("\n".join(["a,b,c,d,y", *lines]))
    if (home / "fitted.sklar").exists():
        Path("fitted.sklar").write_bytes((home / "fitted.sklar").read_bytes())


def leftovers():
    return [str(path) for path in Path().rglob("*.part")]


def kill_and_go_on(home, n, seed):
    rng, counts = random.Random(seed), itertools.count()
    expected, took = {}, {}
    for scene, (_, outcome) in SCENES.items():
        fresh(home, f"whole-{scene.__name__}")
        took[scene] = done(scene)
        expected[scene] = outcome()
        if scene is fit:
            (home / "fitted.sklar").write_bytes(expected[fit])
    n_killed = 0
    for scene, _ in zip(itertools.cycle(SCENES), range(n), strict=False):
        is_whole, outcome = SCENES[scene]
        fresh(home, f"{next(counts)}-{scene.__name__}")
        for _ in range(rng.choice([1, 1, 2])):
            n_killed += killed(scene, rng.uniform(0, took[scene]))
            is_whole()
        done(scene)
        assert outcome() == expected[scene], f"{scene.__name__} killed in {os.getcwd()}: another outcome"
        assert not leftovers(), f"{scene.__name__} killed in {os.getcwd()}: {leftovers()}"
    print(f"{n_killed} killed")


def fit_with_ctrl_c(after):
    """The command, and Ctrl-C so many seconds after it began to work; never after 0."""
    work = workflow.fit_file

    def armed(*given, **named):
        signal.setitimer(signal.ITIMER_REAL, after)
        try:
            return work(*given, **named)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    workflow.fit_file = armed
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    main(FIT, prog_name="sklar")


def interrupt(home, n, seed):
    """Ctrl-C in a fit: it ends with 130 and one line or, if it came too late, with 0; the next run ends as ever."""
    rng, n_interrupted = random.Random(seed), 0
    fresh(home, "not-interrupted")
    took = done(lambda: fit_with_ctrl_c(0))
    for i in range(n):
        fresh(home, f"interrupted-{i}")
        after = rng.uniform(1e-3, took * (i + 1) / n)
        code = os.waitstatus_to_exitcode(os.waitpid(forked(lambda: fit_with_ctrl_c(after)), 0)[1])  # noqa: B023
        if code:
            said = Path("stderr.txt").read_text()
            assert (code, said) == (130, "interrupted: the same command goes on from run\n"), said
            assert not Path("model.sklar").exists()
            n_interrupted += 1
        done(fit)
        assert Path("model.sklar").read_bytes() == (home / "fitted.sklar").read_bytes()
        assert not leftovers()
    print(f"{n_interrupted} interrupted")


if __name__ == "__main__":
    torch.set_num_threads(1)
    checkpoints.SECONDS, checkpoints.SHARE = 0.0, float("inf")
    home, (n, seed) = Path(sys.argv[1]), map(int, sys.argv[2:])
    kill_and_go_on(home, n, seed)
    interrupt(home, max(3, n // 10), seed)
