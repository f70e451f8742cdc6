"""Many small steps, quickly: the loop of every training that counts steps and not epochs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from sklar.training.engine.graphs import GraphedStep
from sklar.training.engine.optim import RateSchedule, set_learning_rate

LARGE = 32_000_000  # bytes, just below the largest that glibc's malloc learns from

Rates = Sequence[tuple[torch.optim.Optimizer, RateSchedule]]


def train_steps(
    step: Callable[[], object],
    n_steps: int,
    rates: Rates,
    generator: torch.Generator,
    before: Callable[[int], object] = lambda k: None,
) -> None:
    """`step()` n_steps times, each optimiser at the rate of its schedule; `before(k)` is called ahead of step k."""

    def prepare(k: int) -> None:
        for optimiser, schedule in rates:
            set_learning_rate(optimiser, schedule.at(k, n_steps))
        before(k)

    run_steps(step, n_steps, prepare, generator)


def run_steps(
    step: Callable[[], object], n_steps: int, before: Callable[[int], object], generator: torch.Generator
) -> None:
    """Call `before(k)` and `step()` for k = 0 .. n_steps - 1, where the generator is.

    `step` must be the same work every time: on a GPU it is captured and replayed, `before` is not.
    """
    if generator.device.type == "cpu":
        # malloc keeps freed blocks up to the size of the largest it has ever freed, and gives larger ones back: without
        # this one, a step may have to ask for all its pages again.
        torch.empty(LARGE, dtype=torch.uint8)
    graphed = GraphedStep(step, generator.device, generator)
    for k in range(n_steps):
        before(k)
        graphed()
