"""Training on a real Dask cluster: two worker processes make one model together, or several models one each."""

import os
import signal
import threading
import time

import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV, cross_val_score

from sklar import CopulaRankerRegressor, CopulaSelectorRegressor
from sklar.estimators import dask_training
from sklar.estimators.dask_training import ROWS_OF_PROCESS, cluster_of, one_a_gpu
from tests.helpers import toy_rows

# Dask's own: a worker that is killed leaves sockets behind for a moment.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def client():
    """Two worker processes."""
    words = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**words) as cluster, Client(cluster) as running:
        yield running


TWO = 2 * ROWS_OF_PROCESS  # rows of a batch that keep two workers busy


def quick(cls, **words):
    """An honest fit of a few steps."""
    small = {"max_epochs": 30, "batch_size": 400, "choice_hidden": 12, "predict_hidden": 16, "random_state": 0}
    return cls(**{**small, **words})


@pytest.fixture
def sizes(monkeypatch):
    """How many workers trained each model."""
    found, first = [], dask_training._first
    monkeypatch.setattr(dask_training, "_first", lambda client, parts: found.append(len(parts)) or first(client, parts))
    return found


def table(n=450):
    X, value = toy_rows(n)
    return pd.DataFrame(X, columns=list("abcde")).assign(y=value)


def weights_of(model):
    return np.concatenate([value.numpy().ravel() for value in model.fitted_.network.state_dict().values()])


def test_two_workers_train_one_model(client, sizes):
    """It is the model of one process, but for the rounding of sums."""
    rows, words = table(TWO + 50), {"batch_size": TWO, "max_epochs": 10}
    alone = quick(CopulaSelectorRegressor, **words).fit(rows.drop(columns="y"), rows["y"])
    together = quick(CopulaSelectorRegressor, **words).fit(dd.from_pandas(rows, npartitions=3), target="y")
    assert sizes == [2]
    differ = np.abs(weights_of(alone) - weights_of(together)).max()
    assert 0 < differ < 1e-3
    X = rows.drop(columns="y")
    assert (alone.select(X).to_numpy() == together.select(X).to_numpy()).all()
    assert together.penalty_ == pytest.approx(alone.penalty_, rel=1e-4)


@pytest.mark.parametrize(("n", "batch_size"), [(450, 1000), (TWO - 1, TWO), (TWO, TWO - 1)])
def test_where_two_workers_would_not_pay_one_trains(client, sizes, n, batch_size):
    """Bit for bit as here."""
    rows, words = table(n), {"batch_size": batch_size, "max_epochs": 2, "penalty": 0.01}
    alone = quick(CopulaSelectorRegressor, **words).fit(rows.drop(columns="y"), rows["y"])
    there = quick(CopulaSelectorRegressor, **words).fit(dd.from_pandas(rows, npartitions=2), target="y")
    assert sizes == [1]
    assert (weights_of(alone) == weights_of(there)).all()


@pytest.mark.parametrize("n", [450, TWO])
def test_what_is_warned_of_is_said_here(client, n):
    rows = table(n).assign(y=np.random.default_rng(0).standard_normal(n))
    with pytest.warns(UserWarning, match="no feature can be shown to matter"):
        quick(CopulaSelectorRegressor, batch_size=n, max_epochs=3).fit(dd.from_pandas(rows, npartitions=2), target="y")


def test_members_are_tasks(client):
    """Of a frame on the cluster, and of a table here with joblib's backend: each model by a worker."""
    rows = table(90)
    X, y = rows.drop(columns="y"), rows["y"]
    model = quick(CopulaSelectorRegressor, penalty=0.01, n_models=3, quantile_bins=0)  # weights of one shape
    side_by_side = weights_of(model.fit(X, y))
    there = model.fit(dd.from_pandas(rows, npartitions=2), target="y").selection_frequency(X).to_numpy()
    with joblib.parallel_config("dask"):
        again = model.fit(X, y).selection_frequency(X).to_numpy()
    assert (there == again).all()
    assert model.n_models_ == 3
    assert (weights_of(model) != side_by_side).any()  # whose draws are from one seed


def test_members_are_those_of_their_seeds(client):
    """Where a feature has several inputs, models here are trained in turn: on a cluster they are the same."""
    rows = table(90)
    rows["text"] = np.where(rows["a"] > 0, "warm", np.where(rows["b"] > 0, "cold", "mild"))
    model = quick(CopulaRankerRegressor, k=2, n_models=2)
    here = weights_of(model.fit(rows.drop(columns="y"), rows["y"]))
    assert (weights_of(model.fit(dd.from_pandas(rows, npartitions=2), target="y")) == here).all()


def test_searches_and_scores(client):
    rows = table(90)
    X, y = rows.drop(columns="y"), rows["y"]
    model = quick(CopulaSelectorRegressor, penalty=0.01, n_models=2)  # inside a task, models are trained side by side
    search = GridSearchCV(model, {"penalty": [0.01, 0.3]}, cv=2)
    here = cross_val_score(model, X, y, cv=2), search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        there = cross_val_score(model, X, y, cv=2), search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(here, there)


def test_one_worker_a_gpu():
    assert one_a_gpu({"b": "GPU-1", "a": "GPU-1", "c": None, "d": "GPU-2"}) == ["a", "d"]
    assert one_a_gpu({"b": None, "a": None}) == ["a", "b"]


def test_no_cluster_no_client():
    assert cluster_of(np.zeros((3, 2)), 5) is None


@pytest.mark.parametrize("batch_size", [TWO, 1000])  # one of two that train together, the only one that trains
def test_a_worker_that_is_killed_ends_the_fit_with_one_line(client, batch_size):
    """And the same fit goes well when it is begun again."""
    lazy = dd.from_pandas(table(TWO), npartitions=2)
    model = CopulaSelectorRegressor(random_state=0, max_epochs=20_000, batch_size=batch_size)
    process_of = client.run(os.getpid)

    def training():
        return [worker for worker, tasks in client.processing().items() if any("_part" in str(task) for task in tasks)]

    def kill():
        while not training():
            time.sleep(0.05)
        time.sleep(2)
        os.kill(process_of[training()[0]], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ConnectionError, match="a worker was lost"):
        model.fit(lazy, target="y")
    killer.join()
    client.wait_for_workers(2)
    again = quick(CopulaSelectorRegressor, penalty=0.01, max_epochs=2).fit(lazy, target="y")
    assert again.penalty_ == pytest.approx(0.01)
