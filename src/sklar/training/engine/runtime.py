"""Where a model runs and where its randomness comes from: always an argument, never a global."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from sklearn.utils import check_random_state

DEVICES = ("auto", "cpu", "cuda")


def resolve_device(device: str) -> torch.device:
    """The torch device for a word: "auto" is CUDA where there is one."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device='cuda' was asked for, but torch sees no CUDA device; use 'auto' or 'cpu'")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)


def spawn_seeds(random_state: int | np.random.RandomState | None, n: int) -> list[int]:
    """Seeds that a `random_state` stands for, in scikit-learn's sense."""
    return [int(seed) for seed in check_random_state(random_state).randint(0, 2**31 - 1, size=n)]


def generator_on(device: torch.device, seed: int) -> torch.Generator:
    """A generator of its own; the global one is not touched."""
    return torch.Generator(device=device).manual_seed(seed)


# Up to this many features a step's products are so small that threads mostly wait for each other.
WIDEST_FOR_ONE_THREAD = 64


@contextmanager
def threads_for(n_features: int) -> Iterator[None]:
    """Inside, one CPU thread for narrow tables: less CPU time, no stall on a busy machine. Wide ones get all."""
    before = torch.get_num_threads()
    if n_features <= WIDEST_FOR_ONE_THREAD:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
