"""How the processes of a team find each other: by an address that all were told, or by what torchrun tells them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch import distributed

from sklar.training.engine.team import Team

TO_MEET = timedelta(minutes=5)  # for all to be there
PATIENCE = timedelta(minutes=30)  # for a process that works longer than the others


def free_port(host: str) -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def meet(host: str, port: int, rank: int, size: int, device: torch.device) -> Team:
    """The team of `size` processes that were all told of this address; the first of them listens there.

    Messages go by gloo between CPUs, by NCCL between GPUs. Nothing global is set: threads of one process can be a team.

    Examples
    --------
    >>> meet("127.0.0.1", free_port("127.0.0.1"), 0, 1, torch.device("cpu")).sum(torch.ones(1))
    tensor([1.])
    """
    try:
        store = distributed.TCPStore(host, port, size, is_master=rank == 0, timeout=TO_MEET)
        if device.type == "cuda":
            options = distributed.ProcessGroupNCCL.Options()
            options._timeout = PATIENCE
            return Team(distributed.ProcessGroupNCCL(store, rank, size, options))
        return Team(distributed.ProcessGroupGloo(store, rank, size, PATIENCE))
    except RuntimeError as error:
        raise ConnectionError(f"the {size} processes of this fit did not meet at {host}:{port} ({error})") from error


@contextmanager
def torchrun_team() -> Iterator[Team]:
    """Inside, fits are those of all processes that torchrun started; of one, or without torchrun, of this one alone.

    Every process runs the same program: the same table, parameters and `random_state`. All end with the same model.

    Examples
    --------
    >>> with torchrun_team() as team:
    ...     team.size
    1
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ["WORLD_SIZE"] == "1":
        yield Team.current()
        return
    n_gpus, n_here = torch.cuda.device_count(), int(os.environ["LOCAL_WORLD_SIZE"])
    if n_gpus:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % n_gpus)
    # NCCL refuses two processes on one GPU; gloo takes them, by way of the CPU's memory.
    distributed.init_process_group("cpu:gloo,cuda:nccl" if n_gpus >= n_here else "gloo", timeout=PATIENCE)
    try:
        team = Team(distributed.group.WORLD)
        with team.as_current():
            yield team
    finally:
        distributed.destroy_process_group()
