"""Training on a Dask cluster: one model by all workers together, or several models, each by a worker.

Workers of one model form a team (`training.engine.team`): each works on its rows of every batch.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import torch

from sklar.estimators.dask_answers import is_dask
from sklar.training.data import Trained, TrainingData, combined
from sklar.training.engine.meeting import free_port, meet
from sklar.training.engine.runtime import resolve_device, spawn_seeds
from sklar.training.engine.team import ALONE
from sklar.training.honest.fit import train_honest
from sklar.training.tasks import Task

# Rows of a batch that are worth a process, measured (docs/guides/scale.md): with 1,000 rows each two took longer
# than one in every run; with 2,000 they took 0.7 to 0.95 times the CPU time, but on busy cores not always less time.
ROWS_OF_PROCESS = 2_000


@dataclass(frozen=True)
class Work:
    """What is trained."""

    params: dict[str, Any]
    data: TrainingData
    task: Task
    k: int | None

    def done(self, seed: int) -> Trained:
        """Train, on the device that is here; what was trained is for a client that may have none."""
        data = _on(self.data, resolve_device(self.params["device"]))
        trained = train_honest(self.params, data, self.task, self.k, seed)
        priced = None if trained.priced is None else trained.priced.cpu()
        return trained._replace(model=trained.model.cpu(), priced=priced)


def cluster_of(X: Any, n_models: int) -> Any:
    """The Dask client to train with: that of a Dask DataFrame or, for several models, of joblib's backend; or None."""
    if not is_dask(X):
        return _client_of_joblib() if n_models > 1 else None
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):  # Dask alone, in this process
        return None


def train_on(client: Any, work: Work, seed: int) -> Trained:
    """Train on a cluster; the rows are sent to each worker once.

    Several models are trained each by a worker, from seeds of their own.
    """
    n_models = work.params["n_models"]
    workers = sorted(client.nthreads())
    if not workers:
        raise ConnectionError("the Dask cluster has no workers; start some")
    if n_models == 1:  # as many workers as a batch keeps busy
        n_busy = max(1, min(work.params["batch_size"], len(work.data.x)) // ROWS_OF_PROCESS)
        workers = one_a_gpu(client.run(_gpu, work.params["device"], workers=workers))[:n_busy]
    light = replace(work, data=_on(work.data, torch.device("cpu")))
    [sent] = client.scatter([light], workers=workers, broadcast=True, hash=False)
    if n_models > 1:
        return combined(client.gather(client.map(_member, spawn_seeds(seed, n_models), work=sent, pure=False)))
    host, port = client.submit(_address, workers=workers[:1], pure=False).result()
    places = [(host, port, rank, len(workers)) for rank in range(len(workers))]
    parts = [
        client.submit(_part, place, sent, seed, workers=[worker], pure=False)
        for place, worker in zip(places, workers, strict=True)
    ]
    return _first(client, parts)


def one_a_gpu(gpus: dict[str, str | None]) -> list[str]:
    """The workers that train: of those that have one GPU together the first, and where there are GPUs no others.

    NCCL refuses two processes on one GPU, and a process without one cannot talk to those that have one.

    Examples
    --------
    >>> one_a_gpu({"tcp://b": "GPU-1", "tcp://a": "GPU-1", "tcp://c": None, "tcp://d": "GPU-2"})
    ['tcp://a', 'tcp://d']
    >>> one_a_gpu({"tcp://b": None, "tcp://a": None})
    ['tcp://a', 'tcp://b']
    """
    first = {gpu: worker for worker, gpu in sorted(gpus.items(), reverse=True) if gpu is not None}
    return sorted(first.values() or gpus)


def _gpu(device: str) -> str | None:
    """Which GPU a worker would train on, by a name that no other has."""
    on_gpu = resolve_device(device).type == "cuda"
    return str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid) if on_gpu else None


def _first(client: Any, parts: list[Any]) -> Trained:
    """What the first process returns, when all have ended; the others are ended where one fails."""
    from distributed import CancelledError, KilledWorker, as_completed

    try:
        for part in as_completed(parts):
            part.result()
    except BaseException as error:
        client.cancel(parts)
        if isinstance(error, ConnectionError | KilledWorker | CancelledError):
            raise ConnectionError(f"a worker was lost while it trained; fit again ({error})") from error
        raise
    trained, said = parts[0].result()
    for text in said:
        warnings.warn(text, stacklevel=4)
    return trained


def _address() -> tuple[str, int]:
    """Where the workers can meet: at this one."""
    from distributed import get_worker

    host = urlsplit(get_worker().address)
    name = host.hostname if host.scheme in ("tcp", "tls") and host.hostname else "127.0.0.1"
    return name, free_port(name)


def _part(place: tuple[str, int, int, int], work: Work, seed: int) -> tuple[Trained, list[str]] | None:
    """One process of a team; the first returns what was trained, and what was warned of."""
    team = meet(*place, resolve_device(work.params["device"])) if place[-1] > 1 else ALONE
    with team.as_current(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        trained = work.done(seed)
    said = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    return (trained, said) if team.rank == 0 else None


def _member(seed: int, work: Work) -> Trained:
    """One of several models."""
    return replace(work, params={**work.params, "n_models": 1}).done(seed)


def _on(data: TrainingData, device: torch.device) -> TrainingData:
    """The rows on a device, without the reader of others: it stays where it is."""
    weight = None if data.weight is None else data.weight.to(device)
    return data._replace(x=data.x.to(device), y=data.y.to(device), weight=weight, more=None)


def _client_of_joblib() -> Any:
    """The client of `joblib.parallel_config("dask")`, where this is no task of it already."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    if type(backend).__name__ != "DaskDistributedBackend":
        return None
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:  # not on a worker
        return backend.client
    return None
