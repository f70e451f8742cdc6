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


def test_what_is_not_sure_stays_with_the_networks():
    same = outputs(1.0, 1.0)["networks"]
    found = {"networks": same, "mean": same - 1e-3 * same.sign() * torch.randn(400, 1), "trees": same}
    assert choose_predictor(found, Task(None), torch.zeros(400), None).name == "networks"


def test_rows_count_as_their_weights_say():
    y, weight = torch.zeros(400), np.where(np.arange(400) < 200, 1.0, 0.0)
    good, bad = torch.full((400, 1), 0.1), torch.full((400, 1), 5.0)
    half = torch.where(torch.arange(400)[:, None] < 200, good, bad)
    assert (
        choose_predictor({"networks": 2 * good, "mean": half, "trees": bad}, Task(None), y, weight).losses["mean"] < 0.1
    )
