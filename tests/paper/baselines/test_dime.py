"""DIME: values are what a feature takes off the loss, and three rules say when a row has enough."""

import numpy as np
import pytest
import torch

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.dime import entropy
from tests.helpers import seeded

QUICK = {
    "warmup": 0,
    "iterations": 1500,
    "n_levels": 2,
    "patience": 20,
    "hidden": 32,
    "dropout": 0.0,
    "random_state": 0,
}


def two_coins(n=2000, seed=0):
    """y is the first coin, but for one row in ten; the second says whether to trust it; the rest is noise."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, 4))
    y = np.where(rng.random(n) < 0.9, X[:, 0] > 0, X[:, 0] < 0)
    return X, y.astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = two_coins()
    return REGISTRY["dime"](k=2, batch_size=250, learning_rate=3e-3, **QUICK).fit(X, y)


def test_entropy_is_that_of_the_classes():
    logits = torch.tensor([[0.0, 0.0], [50.0, -50.0]])
    torch.testing.assert_close(entropy(logits), torch.tensor([2.0, 1.0]).log())


def test_a_value_is_the_information_of_its_feature(fitted):
    """I(y; x0) = log 2 - H(.9) = .368 nats, learned within .1; of a noise column 0, and less than half of that is said.

    Columns that are hardly ever asked for are hardly ever corrected: exploration begins at 5%.
    """
    values = fitted.model_.both(torch.zeros(1, 1, 4).double(), torch.zeros(1, 1, 4).double())[1][0, 0]
    exact = np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    assert abs(float(values[0]) - exact) < 0.1
    assert float(values[1:].max()) < exact / 2


def test_a_value_is_at_most_the_entropy(fitted):
    x = torch.randn(1, 50, 4, generator=seeded()).double()
    output, values = fitted.model_.both(x, (x > 0).double())
    assert (values <= entropy(output).unsqueeze(-1)).all()


def test_a_row_stops_when_nothing_is_worth_its_price(fitted):
    X, _ = two_coins(200, seed=1)
    assert fitted.set_params(penalty=0.2).select(X)[:, 0].all()
    assert fitted.select(X).sum(axis=1).mean() < 1.5
    assert fitted.set_params(penalty=0.6).select(X).sum() == 0
    fitted.set_params(penalty=None)


def test_a_row_stops_when_the_predictor_is_sure(fitted):
    X, _ = two_coins(200, seed=1)
    sizes = [fitted.set_params(confidence=c).select(X).sum(axis=1).mean() for c in (0.4, 0.75, 1.0)]
    assert sizes[0] == 0
    assert 1 <= sizes[1] < 2
    assert sizes[2] == 4
    fitted.set_params(confidence=None)


def test_a_budget_is_kept_and_costs_decide():
    """Two equal signals, one at ten times the price: the cheap one is bought."""
    X, y = two_coins()
    X[:, 1] = X[:, 0]
    dime = REGISTRY["dime"](k=1, costs=[10.0, 1.0, 1.0, 1.0], batch_size=250, learning_rate=3e-3, **QUICK).fit(X, y)
    chosen = dime.select(X[:100])
    assert chosen[:, 1].all()
    assert not chosen[:, 0].any()
    assert (dime.set_params(budget=2.5).select(X[:100]).sum(axis=1) == 2).all()


@pytest.mark.parametrize("costs", [[1.0, 2.0], [1.0, 1.0, 0.0, 1.0]])
def test_costs_are_one_positive_number_a_column(costs):
    X, y = two_coins(60)
    with pytest.raises(ValueError, match="costs must be 4 positive numbers"):
        REGISTRY["dime"](costs=costs).fit(X, y)


def test_one_rule_for_stopping():
    X, y = two_coins(60)
    with pytest.raises(ValueError, match="budget and confidence"):
        REGISTRY["dime"](budget=2.0, confidence=0.9).fit(X, y)


def test_confidence_is_for_classes():
    X, _ = two_coins(60)
    dime = REGISTRY["dime"](k=1, iterations=5, warmup=5, hidden=4, confidence=0.9).fit(X, X[:, 0] + 0.1)
    with pytest.raises(ValueError, match="rule for classes"):
        dime.select(X)
