"""Training until the held-out loss is flat: against torch's own scheduler and Adam, each replica for itself."""

import pytest
import torch
from torch import nn

from sklar.model.networks import StackedLinear
from sklar.paper.baselines.plateau import BestReplicas, Pace, Plateaus, ReplicaAdam, train_until_flat
from tests.helpers import seeded

PACE = Pace(learning_rate=1.0, iterations=100, batch_size=5, patience=2)


def rates_by_torch(losses):
    """What torch's scheduler makes of a run of losses, and when the authors of GDFS would have stopped."""
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.2, patience=2, min_lr=1e-5)
    rates, bad = [], 0
    for loss in losses:
        scheduler.step(loss)
        bad = 0 if loss == scheduler.best else bad + 1
        rates.append(0.0 if bad > 3 else optimiser.param_groups[0]["lr"])
        if bad > 3:
            break
    return rates


@pytest.mark.parametrize("seed", range(5))
def test_rates_are_those_of_torchs_scheduler(seed):
    losses = (torch.rand(40, generator=seeded(seed)) / torch.arange(1, 41).sqrt()).tolist()
    expected, plateaus = rates_by_torch(losses), Plateaus(2, PACE)
    found = []
    for loss in losses[: len(expected)]:
        plateaus.see(torch.tensor([loss, loss], dtype=torch.float64))
        found.append(plateaus.rates.tolist())
    assert found == [pytest.approx([rate, rate]) for rate in expected]
    assert plateaus.all_stopped == (expected[-1] == 0)


def test_adam_steps_as_torchs_with_a_rate_for_each_replica():
    stack = StackedLinear(2, 3, 2, seeded())
    alone = [StackedLinear(1, 3, 2, seeded()) for _ in range(2)]
    for r, one in enumerate(alone):
        one.load_state_dict({name: value[r : r + 1] for name, value in stack.state_dict().items()})
    optimiser = ReplicaAdam(stack, 1.0)
    optimiser.set_rates(torch.tensor([0.1, 0.01]))
    others = [torch.optim.Adam(one.parameters(), lr=rate) for one, rate in zip(alone, (0.1, 0.01), strict=True)]
    x = torch.randn(2, 4, 3, generator=seeded(1))
    for _ in range(3):
        for module, steps, rows in [(stack, optimiser, x), *zip(alone, others, x.split(1), strict=True)]:
            steps.zero_grad()
            module(rows).square().sum().backward()
            steps.step()
    for name, value in stack.state_dict().items():
        torch.testing.assert_close(value, torch.cat([one.state_dict()[name] for one in alone]))


def test_the_best_weights_of_each_replica_come_back():
    stack = StackedLinear(2, 1, 1, seeded())
    keeper = BestReplicas(stack)
    for value, losses in ((1.0, [3.0, 3.0]), (2.0, [1.0, 4.0]), (3.0, [2.0, 2.0])):
        stack.weight.data.fill_(value)
        keeper.see(torch.tensor(losses, dtype=torch.float64))
    keeper.restore()
    assert stack.weight.flatten().tolist() == [2.0, 3.0]


def test_training_stops_when_no_replica_gets_better():
    """A loss that cannot fall: the first epoch is the best, and patience + 2 more follow."""
    stack, epochs = StackedLinear(2, 1, 1, seeded()), []

    def held():
        epochs.append(1)
        return torch.ones(2)

    steps = train_until_flat(stack, lambda rows: stack.weight.sum(), held, torch.arange(10), PACE, seeded())
    assert len(epochs) == 1 + PACE.patience + 2
    assert steps == 2 * len(epochs)
