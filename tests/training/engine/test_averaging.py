"""Exponential moving averages of weights."""

import pytest
import torch
from torch import nn

from sklar.training.engine.averaging import AveragedLearner, ema_decay, ema_update


def test_a_short_training_has_a_short_memory():
    assert ema_decay(0.99, 1000) == 0.99
    assert ema_decay(0.99, 100) == pytest.approx(0.9)
    assert ema_decay(0.99, 5) == 0.0


def test_an_update_goes_a_share_of_the_way():
    average, weights = [torch.zeros(3), torch.ones(2)], [torch.ones(3), torch.zeros(2)]
    ema_update(average, weights, 0.25)
    assert [part.tolist() for part in average] == [[0.25] * 3, [0.75] * 2]


def test_the_average_follows_the_network_only_when_it_is_told_to():
    network = nn.Linear(1, 1)
    learner = AveragedLearner(network, torch.optim.SGD(network.parameters(), lr=1.0), decay=0.5)
    start = network.weight.item()
    learner.begin(1000)
    network.weight.sum().backward()
    learner.step()
    assert network.weight.item() == pytest.approx(start - 1)
    assert network.weight.grad is None
    assert learner.average.weight.item() == start
    learner.update_average()
    assert learner.average.weight.item() == pytest.approx(start - 0.5)
    assert not learner.average.weight.requires_grad
    assert learner.learning_rate == 1.0
