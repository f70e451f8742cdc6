"""Networks, trees, or the mean of both."""

import numpy as np
import pytest
import torch

from sklar.predictor.choice import choose_predictor
from sklar.training.tasks import Task


def outputs(networks, trees, n=400):
    """Predictions of values 0 with errors of these sizes, of their own."""
    rng = np.random.default_rng(0)
    a, b = (torch.from_numpy(size * rng.standard_normal((n, 1))) for size in (networks, trees))
    return {"networks": a, "mean": (a + b) / 2, "trees": b}


@pytest.mark.parametrize(
    ("networks", "trees", "chosen"), [(1.0, 3.0, "networks"), (1.0, 1.0, "mean"), (3.0, 1.0, "trees")]
)
def test_the_better_one_is_chosen(networks, trees, chosen):
    choice = choose_predictor(outputs(networks, trees), Task(None), torch.zeros(400), None)
    assert choice.name == chosen == choice.record()["predictor"]
    assert choice.record()["loss"] == choice.losses[chosen] == pytest.approx(min(choice.losses.values()))


@pytest.mark.parametrize(("lead", "chosen"), [(0.9, "networks"), (1.1, "mean")])
def test_a_lead_of_less_than_a_standard_error_stays_with_the_networks(lead, chosen):
    """Losses that differ by +1 and -1, half the rows each, and by a lead that many standard errors: exact, no draw."""
    n = 400
    networks = torch.full((n, 1), 9.0, dtype=torch.float64)
    sign = torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).double()[:, None]
    mean = (networks**2 - sign - lead / n**0.5).sqrt()  # the loss of a value is its squared error
    found = {"networks": networks, "mean": mean, "trees": networks}
    assert choose_predictor(found, Task(None), torch.zeros(n, dtype=torch.float64), None).name == chosen


def test_rows_count_as_their_weights_say():
    y, weight = torch.zeros(400), np.where(np.arange(400) < 200, 1.0, 0.0)
    good, bad = torch.full((400, 1), 0.1), torch.full((400, 1), 5.0)
    half = torch.where(torch.arange(400)[:, None] < 200, good, bad)
    assert (
        choose_predictor({"networks": 2 * good, "mean": half, "trees": bad}, Task(None), y, weight).losses["mean"] < 0.1
    )
