"""`torchrun -m sklar.fit`: real processes, one model."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from sklar import load
from sklar.fit import _more_words, main
from sklar.training.engine.team import ALONE, Team
from tests.helpers import toy_rows

FEW = ["--max-epochs", "30", "--batch-size", "400", "--choice-hidden", "12", "--predict-hidden", "16"]


@pytest.fixture
def data(tmp_path):
    X, value = toy_rows(450)
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=list("abcde")).assign(y=value).to_csv(path, index=False)
    return path


def words(data, out, *more):
    return [str(data), "--target", "y", "--out", str(out), *FEW, *more]


def weights_of(path):
    return np.concatenate([value.numpy().ravel() for value in load(path).fitted_.network.state_dict().values()])


def torchrun(*arguments):
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*start, "-m", "sklar.fit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)


def test_two_processes_write_the_model_of_one(data, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(words(data, tmp_path / "alone.sklar", "--random-state", "3", "--quiet"))
    assert ended.value.code == 0
    done = torchrun(*words(data, tmp_path / "together.sklar", "--random-state", "3", "--json"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_rows"] == 450  # said once, by the first
    assert sorted(path.name for path in tmp_path.glob("*.sklar")) == ["alone.sklar", "together.sklar"]
    differ = np.abs(weights_of(tmp_path / "alone.sklar") - weights_of(tmp_path / "together.sklar")).max()
    assert 0 < differ < 1e-3


def test_a_mistake_is_said(data, tmp_path):
    done = torchrun(*words(data, tmp_path / "model.sklar", "--objective", "joint"))
    assert done.returncode != 0
    assert 'error: objective="joint" trains in one process' in done.stderr
    assert not (tmp_path / "model.sklar").exists()


def test_all_draw_from_one_seed_and_the_first_alone_writes():
    class Group:
        """Two processes, of which the first has the seed 5."""

        def __init__(self, rank):
            self.rank, self.size = (lambda: rank), (lambda: 2)

        def allreduce(self, tensors):
            tensors[0].fill_(5)
            return self

        def wait(self):
            return True

    first, second = (_more_words(["rows.csv"], Team(Group(rank)), "folder") for rank in (0, 1))
    assert first == ["--random-state", "5"]
    assert second == ["--random-state", "5", "--out", "folder/model.sklar", "--quiet"]
    for given in ("--random-state=3", "--random-state", "--config"):
        assert _more_words([given], Team(Group(0)), "folder") == []
    assert _more_words([], ALONE, "folder") == []
