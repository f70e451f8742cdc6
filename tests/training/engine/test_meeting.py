"""Where processes meet; that they train together is seen in `test_team`, torchrun in `tests/test_fit.py`."""

import threading
from datetime import timedelta

import pytest
import torch

from sklar.training.engine import meeting
from sklar.training.engine.meeting import free_port, meet, torchrun_team
from sklar.training.engine.team import Team


def test_threads_of_one_process_can_be_a_team():
    port, sums = free_port("127.0.0.1"), {}

    def one(rank):
        team = meet("127.0.0.1", port, rank, 3, torch.device("cpu"))
        sums[rank] = team.sum(torch.tensor([1.0 + rank])).item(), team.agreed(10 + rank)
        team.sum(torch.zeros(1))  # until all are done: the first holds the address

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sums == dict.fromkeys(range(3), (6.0, 10))


def test_without_torchrun_a_fit_is_of_one_process(monkeypatch):
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    with torchrun_team() as team:
        assert team is Team.current()
        assert team.size == 1


def test_who_waits_for_nobody_is_told(monkeypatch):
    monkeypatch.setattr(meeting, "TO_MEET", timedelta(seconds=1))
    port = free_port("127.0.0.1")
    with pytest.raises(ConnectionError, match=f"the 2 processes of this fit did not meet at 127.0.0.1:{port}"):
        meet("127.0.0.1", port, 0, 2, torch.device("cpu"))


def test_one_process_of_torchrun_is_no_team(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with torchrun_team() as team:
        assert team.is_alone
