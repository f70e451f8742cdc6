"""TabNet: sparsemax against its definition, masks that sum to one, and Syn2-like columns on top."""

import numpy as np
import torch
from scipy.optimize import minimize

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.tabnet import sparsemax
from tests.helpers import seeded


def test_sparsemax_is_the_nearest_point_of_the_simplex():
    for row in torch.randn(5, 4, generator=seeded()).double().numpy():
        start, simplex = np.full(4, 0.25), {"type": "eq", "fun": lambda p: p.sum() - 1}
        found = minimize(distance_to, start, args=(row,), bounds=[(0, 1)] * 4, constraints=simplex)
        np.testing.assert_allclose(sparsemax(torch.from_numpy(row)), found.x, atol=1e-5)


def distance_to(point, row):
    return np.sum((point - row) ** 2)


def test_sparsemax_learns():
    values = torch.randn(3, 5, generator=seeded(), dtype=torch.float64).requires_grad_(True)
    assert torch.autograd.gradcheck(sparsemax, values)


def test_attends_to_the_columns_that_matter():
    """Squares of three columns among ten, as Syn2: they have the largest mean scores, and predictions are good."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 10))
    y = (np.square(X[:, :3]).sum(axis=1) > 2.4).astype(int)
    fitted = REGISTRY["tabnet"](iterations=200, batch_size=250, random_state=0).fit(X[:2000], y[:2000])
    assert set(np.argsort(-fitted.scores(X[2000:]).mean(axis=0))[:3]) == {0, 1, 2}
    assert fitted.score(X[2000:], y[2000:]) > 0.85
    assert (fitted.scores(X) == 0).any()  # masks have zeros
