"""INVASE: its reward, its gradient, and 100/0 on Syn1 (Table 1 of Yoon et al., ICLR 2019)."""

import itertools

import numpy as np
import pytest
import torch

from sklar.datasets import make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY


def test_networks_have_the_published_shapes():
    baseline = REGISTRY["invase"](iterations=1, batch_size=50, random_state=0)
    X, y, _ = make_synthetic("syn1", n_samples=100, random_state=0)
    shapes = {name: tuple(p.shape[1:]) for name, p in baseline.fit(X, y).model_.named_parameters()}
    assert shapes["actor.first.weight"] == (11, 100)
    assert shapes["actor.second.weight"] == (100, 100)
    assert shapes["actor.scores.weight"] == (100, 11)
    assert shapes["critic.first.weight"] == shapes["baseline.first.weight"] == (11, 200)
    assert shapes["critic.second_norm.weight"] == (1, 200)
    defaults = REGISTRY["invase"]().get_params()
    expected = {
        "iterations": 10_000,
        "batch_size": 1000,
        "learning_rate": 1e-4,
        "weight_decay": 1e-3,
        "penalty": 0.1,
    }
    assert {word: defaults[word] for word in expected} == expected


def test_invase_minus_has_no_baseline():
    X, y, _ = make_synthetic("syn1", n_samples=100, random_state=0)
    assert REGISTRY["invase-minus"](iterations=1, random_state=0).fit(X, y).model_.baseline is None


def test_policy_gradient_is_that_of_the_expected_reward():
    """Summed over all masks with their chances, reward * grad log p equals the gradient of the expectation."""
    logits = torch.tensor([0.3, -1.0, 0.7], dtype=torch.float64, requires_grad=True)
    rewards = {z: float(i**2) for i, z in enumerate(itertools.product((0.0, 1.0), repeat=3))}
    expectation, surrogate = torch.zeros(()), torch.zeros(())
    for z, reward in rewards.items():
        mask = torch.tensor(z, dtype=torch.float64)
        log_chance = -torch.nn.functional.binary_cross_entropy_with_logits(logits, mask, reduction="sum")
        expectation = expectation + reward * log_chance.exp()
        surrogate = surrogate + log_chance.exp().detach() * reward * log_chance
    exact, by_policy = (torch.autograd.grad(v, logits, retain_graph=True)[0] for v in (expectation, surrogate))
    torch.testing.assert_close(exact, by_policy)


def test_quick_syn1():
    """Source: Table 1 of the INVASE paper, Syn1: 100/0; here with 400 iterations, a faster rate, 4,000 rows."""
    X, y, _ = make_synthetic("syn1", n_samples=4000, random_state=0)
    unseen, _, relevant = make_synthetic("syn1", n_samples=2000, random_state=1)
    params = {"iterations": 400, "learning_rate": 1e-3, "actor_hidden": 50, "critic_hidden": 100, "batch_size": 500}
    masks = REGISTRY["invase"](random_state=0, **params).fit(X, y).select(unseen)
    assert true_positive_rate(relevant, masks) > 95
    assert false_discovery_rate(relevant, masks) < 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["syn1", "syn2"])
def test_published_settings(name):
    """Source: Table 1 of the INVASE paper: 100/0 on Syn1 and Syn2, with the published settings, on unseen rows."""
    X, y, _ = make_synthetic(name, random_state=0)
    unseen, _, relevant = make_synthetic(name, random_state=1)
    masks = REGISTRY["invase"](random_state=0).fit(X, y).select(unseen)
    assert true_positive_rate(relevant, masks) == pytest.approx(100, abs=0.5)
    assert false_discovery_rate(relevant, masks) == pytest.approx(0, abs=0.5)
    assert np.isfinite(masks).all()
