"""Expected gradients against what is known: completeness, and the exact values of a linear model."""

import numpy as np
import torch

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.gradient_shap import expected_gradients
from tests.helpers import seeded


def linear(weights):
    return lambda x: x @ weights


def test_a_linear_model_has_exact_values():
    """For f(x) = x W the Shapley value of feature i is (x_i - mean b_i) W_i."""
    weights = torch.randn(4, 3, generator=seeded(1))
    x, background = torch.randn(5, 4, generator=seeded(2)), torch.randn(7, 4, generator=seeded(3))
    between = torch.rand(7, 1, generator=seeded(4))
    values = expected_gradients(linear(weights), x, background, between)
    label = (x @ weights).argmax(-1)
    torch.testing.assert_close(values, (x - background.mean(0)) * weights.T[label])


def test_values_add_up_to_the_difference_of_outputs():
    """Completeness: the sum over features is f(x) - f(b), here for a square, with many points on the way."""
    background = torch.zeros(20_000, 2)
    between = torch.linspace(0, 1, 20_000).unsqueeze(1)
    x = torch.tensor([[1.0, -2.0]])
    values = expected_gradients(lambda rows: rows.square().sum(-1, keepdim=True), x, background, between)
    torch.testing.assert_close(values, torch.tensor([[1.0, 4.0]]), rtol=1e-3, atol=1e-3)


def test_a_row_does_not_depend_on_the_others():
    X = np.random.default_rng(0).standard_normal((100, 5))
    baseline = REGISTRY["gradient-shap"](iterations=30, n_draws=5, random_state=0).fit(X, X[:, 1] > 0)
    np.testing.assert_allclose(baseline.scores(X)[3:4], baseline.scores(X[3:4]), rtol=1e-4, atol=1e-6)
