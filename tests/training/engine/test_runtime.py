import numpy as np
import pytest
import torch

from sklar.training.engine.runtime import generator_on, resolve_device, spawn_seeds


def test_auto_is_cuda_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto").type == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto").type == resolve_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="device='cuda' was asked for"):
        resolve_device("cuda")


def test_seeds_stand_for_a_random_state_in_scikit_learns_sense():
    assert spawn_seeds(3, 4) == spawn_seeds(3, 4)
    assert spawn_seeds(3, 4) != spawn_seeds(4, 4)
    assert len(set(spawn_seeds(0, 50))) == 50
    state = np.random.RandomState(0)
    assert spawn_seeds(state, 2) != spawn_seeds(state, 2)


def test_generators_are_their_own(global_seeds_untouched):
    device = torch.device("cpu")
    first, second = (torch.randn(5, generator=generator_on(device, 7)) for _ in range(2))
    assert torch.equal(first, second)
