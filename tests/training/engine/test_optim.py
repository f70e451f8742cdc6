"""Optimisers: which weights decay, slices, and how the learning rate goes."""

import math

import pytest
import torch
from torch import nn

from sklar.training.engine.optim import (
    LARGEST_SLICED,
    SLICE,
    RateSchedule,
    SlicedAdamW,
    adam,
    adamw,
    cosine,
    set_learning_rate,
    slices,
    step_and_clear,
)
from tests.helpers import seeded


def test_slices_are_views_of_all_entries_and_a_large_tensor_is_left_whole():
    tensor = torch.zeros(2, SLICE)
    for part in slices(tensor):
        part += 1
    assert (tensor == 1).all()
    assert [len(part) for part in slices(torch.zeros(2 * SLICE + 3))] == [SLICE, SLICE, 3]
    assert [len(part) for part in slices(torch.zeros(LARGEST_SLICED + 1))] == [LARGEST_SLICED + 1]


def test_an_optimiser_of_slices_moves_weights_as_one_of_the_whole(monkeypatch):
    """But for rounding (a CPU rounds the last few of a slice otherwise); a weight without a gradient stays."""
    monkeypatch.setattr("sklar.training.engine.optim.SLICE", 7)
    ends = []
    for kind in (torch.optim.AdamW, SlicedAdamW):
        weights = [nn.Parameter(torch.randn(*shape, generator=seeded(1))) for shape in ((3, 5, 2), (4,), (2, 7))]
        groups = [{"params": weights[:1], "weight_decay": 0.1}, {"params": weights[1:], "weight_decay": 0.0}]
        optimiser = kind(groups, lr=0.1, fused=True)
        for step in range(4):
            push = torch.randn(30, generator=seeded(step)).view(3, 5, 2)
            loss = (weights[0] * push).sum() + (weights[1] ** 2).sum()
            loss.backward()
            step_and_clear(optimiser)
            assert all(weight.grad is None for weight in weights)
        ends.append([weight.detach() for weight in weights])
    assert len(optimiser.param_groups[0]["params"]) == 5
    for whole, sliced in zip(*ends, strict=True):
        torch.testing.assert_close(whole, sliced, rtol=1e-6, atol=1e-7)
    assert torch.equal(ends[1][2], torch.randn(2, 7, generator=seeded(1)))  # it had no gradient


def test_biases_and_what_is_named_do_not_decay():
    module = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    decayed, free = adamw(module, 0.1, 0.5, no_decay="0.weight").param_groups
    assert [tuple(p.shape) for p in decayed["params"]] == [(1, 3)]
    assert [tuple(p.shape) for p in free["params"]] == [(3, 2), (3,), (1,)]
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.5, 0.0)
    assert adamw(module, 0.1, 0.5, beta2=0.9).param_groups[0]["betas"] == (0.9, 0.9)


def test_adam_takes_parameters_or_groups():
    weight = nn.Parameter(torch.ones(2))
    for params in ([weight], [{"params": [], "weight_decay": 1.0}, {"params": [weight]}]):
        optimiser = adam(params, 0.1, 0.25)
        assert [group["weight_decay"] for group in optimiser.param_groups][-1] == 0.25
        assert not optimiser.param_groups[0]["capturable"]


def test_the_rate_rises_then_falls_along_a_cosine():
    schedule = RateSchedule(2.0, warm_up=3, floor=0.2)
    found = [schedule.at(k, 100) for k in range(100)]
    for k, rate in enumerate(found):
        fall = 0.2 + 0.8 * 0.5 * (1 + math.cos(math.pi * k / 100))
        assert rate == pytest.approx(2.0 * fall * min(1, (k + 1) / 3))
    assert RateSchedule(2.0, floor=1.0).at(70, 100) == 2.0
    assert RateSchedule(1.0, warm_up=50).at(0, 10) == pytest.approx(1 / 3)  # at most about a fifth of the steps
    assert (cosine(0, 10), cosine(5, 10)) == (1.0, pytest.approx(0.5))


def test_a_rate_is_set_in_place_where_it_is_a_tensor():
    weight = nn.Parameter(torch.ones(2))
    plain = torch.optim.SGD([weight], lr=0.1)
    set_learning_rate(plain, 0.5)
    assert plain.param_groups[0]["lr"] == 0.5
    rate = torch.tensor(0.1)
    tensor = torch.optim.SGD([weight], lr=rate)
    set_learning_rate(tensor, 0.5)
    assert rate.item() == 0.5
