"""A fit of a table on disk that is killed (SIGKILL) goes on from its checkpoint to what a whole fit selects."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks what it kills")

# A process that has imported everything forks each fit, which saves its masks and how many rows it read on.
CODE = """
import os, signal, sys, time
from pathlib import Path
import numpy as np, pyarrow.parquet as pq, torch
from sklar import CopulaSelectorClassifier
from sklar.training.engine import checkpoint as checkpoints
from tests.estimators.test_row_reader import HONEST, new_rows, table_of
from tests.helpers import quick
from tests.killing import done, forked

def fit(folder):
    model = quick(CopulaSelectorClassifier, **HONEST).fit("rows", target="y", max_rows=300, checkpoint=folder)
    model.save("model.sklar")
    np.save("masks.npy", model.select("rows").read_all().to_pandas().to_numpy())
    Path("read.txt").write_text(str(new_rows(model)))

def outcome():
    return Path("model.sklar").read_bytes(), np.load("masks.npy"), int(Path("read.txt").read_text())

def kill_after(loop):
    pid = forked(lambda: fit("run"))
    while not (Path("run") / loop).exists():
        time.sleep(0.002)
        assert os.waitpid(pid, os.WNOHANG)[0] == 0, Path("stderr.txt").read_text()
    os.kill(pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert not Path("model.sklar").exists()

torch.set_num_threads(1)
checkpoints.SECONDS, checkpoints.SHARE = 0.0, float("inf")  # every step is written
os.chdir(sys.argv[1])
os.mkdir("rows")
for part in range(3):
    pq.write_table(table_of().slice(300 * part, 300), f"rows/{part}.parquet", row_group_size=70)
done(lambda: fit("whole"))
model, masks, n_read = outcome()
Path("model.sklar").unlink()
assert n_read > 200 and masks.any() and not masks.all()
loops = sorted(path.name for path in Path("whole").glob("loop-*"))[:-1]
for loop in loops if sys.argv[2] == "all" else [loops[len(loops) // 2]]:
    kill_after(loop)
done(lambda: fit("run"))
again, same, n_again = outcome()
assert again == model and (same == masks).all() and n_again == n_read
assert not list(Path().rglob("*.part"))
"""


@pytest.mark.parametrize("when", ["once", pytest.param("all", marks=pytest.mark.slow)])
def test_a_fit_that_is_killed_goes_on_to_the_same_masks(tmp_path, when):
    """Once in the middle, or in every loop but the last."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::UserWarning", "-c", CODE, str(tmp_path), when],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
