"""Captured steps: on a CPU plain calls, on a GPU replays that do the same."""

import pytest
import torch

from sklar.training.engine.graphs import EAGER_STEPS, BatchStep, graphed
from tests.helpers import seeded

CPU = torch.device("cpu")


def test_on_a_cpu_steps_are_plain_calls():
    def plain():
        return 1

    assert graphed(plain, seeded()) is plain
    step = BatchStep(lambda rows: rows.sum(), CPU, seeded())
    assert step(torch.arange(3)) == 3
    assert step(torch.arange(5)) == 10


@pytest.mark.gpu
def test_a_replay_draws_new_numbers_and_returns_what_the_step_returns():
    device = torch.device("cuda")
    generator = torch.Generator(device).manual_seed(0)
    step = graphed(lambda: torch.rand(4, generator=generator, device=device), generator)
    found = [step().clone() for _ in range(EAGER_STEPS + 3)]
    assert step.graph is not None
    assert len({tuple(part.tolist()) for part in found}) == len(found)


@pytest.mark.gpu
def test_batches_of_the_first_size_are_replayed_and_others_are_not():
    device = torch.device("cuda")
    x = torch.randn(50, generator=seeded()).to(device)
    step = BatchStep(lambda rows: x[rows].sum(), device, torch.Generator(device))
    for start in range(8):
        for size in (10, 7):
            rows = torch.arange(start, start + size, device=device)
            torch.testing.assert_close(step(rows), x[rows].sum())
    assert step.graphed.graph is not None
