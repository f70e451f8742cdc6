"""Teams whose tensors are on a GPU: NCCL in a group of one process, gloo between two that share the GPU.

NCCL refuses two processes on one GPU. On a CPU the same tests run with gloo: what differs is where the tensors are.
"""

import multiprocessing

import numpy as np
import pandas as pd
import pytest
import torch
from torch import distributed

from sklar import CopulaRankerRegressor, CopulaSelectorClassifier
from sklar.training.engine import graphs
from sklar.training.engine.meeting import PATIENCE, free_port, meet
from sklar.training.engine.team import ALONE, Team
from tests.helpers import toy_rows

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
WORDS = {"max_epochs": 15, "batch_size": 400, "choice_hidden": 12, "predict_hidden": 16, "random_state": 0}


def answers(device, team):
    """Of a selector of correlated gates and a ranker whose excess is kept down: every kind of sum is asked for."""
    X, value = toy_rows(450, 20)
    with team.as_current():
        selector = CopulaSelectorClassifier(device=device, **WORDS).fit(X, value > 0)
        ranker = CopulaRankerRegressor(k=2, device=device, **WORDS).fit(X, value)
    return selector.union_.tolist(), selector.select(X), selector.predict_proba(X), ranker.rank(X), ranker.predict(X)


def group_of(backend, device, *place):
    """As `meet` makes it; gloo also for tensors on a GPU."""
    if backend == "as meet has it":
        return meet("127.0.0.1", *place, torch.device(device))
    port, rank, size = place
    store = distributed.TCPStore("127.0.0.1", port, size, is_master=rank == 0, timeout=PATIENCE)
    return Team(distributed.ProcessGroupGloo(store, rank, size, PATIENCE))


def process(backend, device, port, rank, size, results):
    torch.set_num_threads(1)
    team = group_of(backend, device, port, rank, size)
    summed = team.sum(torch.full((3,), 1.0 + rank, device=device)).tolist()
    results.put((rank, type(team.group).__name__, summed, answers(device, team)))
    team.sum(torch.zeros(1, device=device)).tolist()  # until all are done: the first holds the address


def by_processes(backend, device, size):
    """The name of the group, a sum, and the answers, of each process."""
    context = multiprocessing.get_context("spawn")
    results, port = context.Queue(), free_port("127.0.0.1")
    given = [(backend, device, port, rank, size, results) for rank in range(size)]
    started = [context.Process(target=process, args=one, daemon=True) for one in given]
    for one in started:
        one.start()
    try:
        return [found[1:] for found in sorted((results.get(timeout=300) for _ in started), key=lambda found: found[0])]
    finally:
        for one in started:
            one.join(timeout=30)


def assert_same_answers(found, expected):
    """Up to the rounding of sums, which a GPU also adds in another order each time."""
    union, masks, probabilities, ranks, predictions = found
    assert union == expected[0]
    assert (masks == expected[1]).all(axis=1).mean() > 0.99
    np.testing.assert_allclose(probabilities, expected[2], atol=0.01)
    assert (ranks == expected[3]).all(axis=1).mean() > 0.99
    np.testing.assert_allclose(predictions, expected[4], atol=0.02)


@pytest.fixture
def alone(monkeypatch):
    """Answers without a group, each step as it is: a team's steps are not captured."""
    monkeypatch.setattr(graphs, "GraphedStep", lambda step, generator: step)
    return lambda device: answers(device, ALONE)


@pytest.mark.parametrize("device", DEVICES)
def test_a_group_of_one_process_gives_what_no_group_gives(device, alone):
    [(name, summed, found)] = by_processes("as meet has it", device, 1)
    assert name == {"cpu": "ProcessGroupGloo", "cuda": "ProcessGroupNCCL"}[device]
    assert summed == [1.0] * 3
    assert_same_answers(found, alone(device))


@pytest.mark.parametrize("device", DEVICES)
def test_two_processes_that_share_a_device_give_what_one_gives(device, alone):
    expected = alone(device)
    for name, summed, found in by_processes("gloo", device, 2):
        assert name == "ProcessGroupGloo"
        assert summed == [3.0] * 3
        assert_same_answers(found, expected)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_of_dask_workers_that_share_a_gpu_one_trains(monkeypatch):
    dd, cluster_of = pytest.importorskip("dask.dataframe"), pytest.importorskip("distributed")
    from sklar.estimators import dask_training

    sizes, first = [], dask_training._first
    monkeypatch.setattr(dask_training, "_first", lambda client, parts: sizes.append(len(parts)) or first(client, parts))
    X, value = toy_rows(4_000)
    lazy = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")).assign(y=value > 0), npartitions=2)
    words = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with cluster_of.LocalCluster(**words) as cluster, cluster_of.Client(cluster):
        model = CopulaSelectorClassifier(**{**WORDS, "batch_size": 4_000}, device="cuda").fit(lazy, target="y")
    assert sizes == [1]
    assert (model.predict(X) == (value > 0)).mean() > 0.8
