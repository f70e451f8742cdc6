"""Many small steps, quickly: the loop of every training that counts steps and not epochs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from sklar.training.engine.optim import RateSchedule, set_learning_rate

LARGE = 32_000_000  # bytes, just below the largest that glibc's malloc learns from

Rates = Sequence[tuple[torch.optim.Optimizer, RateSchedule]]


def scheduled(n_steps: int, rates: Rates, first: int = 0) -> Iterator[int]:
    """Step numbers k = first .. n_steps - 1, each optimiser then at the rate of its schedule.

    A loop over them is a training: `step = graphed(...)`, then `for k in scheduled(...): step()`.
    """
    # malloc keeps freed blocks up to the size of the largest it has ever freed, and gives larger ones back: without
    # this one, a step on a CPU may have to ask for all its pages again.
    torch.empty(LARGE, dtype=torch.uint8)
    for k in range(first, n_steps):
        for optimiser, schedule in rates:
            set_learning_rate(optimiser, schedule.at(k, n_steps))
        yield k
