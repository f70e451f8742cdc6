"""States as tensors: every kind of part, back in place, and tensors that are not a state's refused."""

import pytest
import torch
from torch import nn

from sklar.training.engine.optim import adam
from sklar.training.engine.state import StateError, put_back, tensors_of
from tests.helpers import seeded


def training(seed=0, steps=0):
    """A network that learned for some steps, as a state, and its step."""
    generator = seeded(seed)
    network = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    for weight in network.parameters():
        weight.data.copy_(torch.randn(weight.shape, generator=generator))
    unused = nn.Parameter(torch.zeros(2))
    optimiser, total = adam([*network.parameters(), unused], 0.1), torch.zeros(())

    def step():
        optimiser.zero_grad()
        loss = network(torch.randn(5, 3, generator=generator)).square().sum() + network[0].weight.square().sum()
        loss.backward()
        optimiser.step()
        total.add_(loss.detach())

    for _ in range(steps):
        step()
    return {"network": network, "more": {"optimiser": optimiser, "total": total, "rng": generator, "no": None}}, step


def test_a_state_put_back_goes_on_as_the_first():
    (first, step), (second, step_of_second) = training(seed=0, steps=3), training(seed=1)
    total = second["more"]["total"]
    put_back(second, tensors_of(first))
    for _ in range(4):
        step()
        step_of_second()
    one, two = tensors_of(first), tensors_of(second)
    assert one.keys() == two.keys()
    assert all(torch.equal(one[key], two[key]) for key in one)
    assert second["more"]["total"] is total  # in place
    assert total == one["more.total"]


def test_what_was_taken_does_not_change():
    state, step = training(steps=1)
    taken = tensors_of(state)
    kept = {key: value.clone() for key, value in taken.items()}
    step()
    assert all(torch.equal(taken[key], kept[key]) for key in kept)


def test_a_state_of_before_the_first_step_forgets_later_moments():
    (before, _), (later, _) = training(), training(steps=2)
    put_back(later, tensors_of(before))
    assert not any(key.startswith("more.optimiser") for key in tensors_of(later))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.pop("network.0.weight"), "'network.0.weight' is missing"),
        (lambda t: t.pop("more.optimiser.0.exp_avg"), "'more.optimiser.0.exp_avg' is missing"),
        (lambda t: t.update(stranger=torch.ones(1)), "it has 'stranger'"),
        (lambda t: t.update({"more.optimiser.9.step": torch.ones(())}), "it has 'more.optimiser.9.step'"),
        (lambda t: t.update({"more.total": torch.ones(2)}), r"'more.total' is \(2,\) torch.float32 and should be \(\)"),
        (lambda t: t.update({"more.total": torch.ones((), dtype=torch.float64)}), "torch.float64 and should be"),
        (lambda t: t.update({"more.rng": torch.zeros(3, dtype=torch.uint8)}), "'more.rng' is"),
    ],
)
def test_other_tensors_are_refused(change, says):
    state, _ = training(steps=1)
    tensors = tensors_of(state)
    change(tensors)
    with pytest.raises(StateError, match=says):
        put_back(state, tensors)
