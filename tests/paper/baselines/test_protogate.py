"""ProtoGate: neighbours that sort themselves, prototypes, and features by which classes are near."""

import numpy as np
import torch

from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.protogate import soft_neighbours
from tests.helpers import seeded


def test_soft_neighbours_become_the_nearest():
    """NeuralSort's limit (Grover et al. 2019, theorem 4): as the temperature falls, the k nearest weigh 1 each."""
    distances = torch.rand(50, 12, generator=seeded())
    weights = soft_neighbours(distances, 3, temperature=1e-5)
    nearest = torch.zeros_like(distances).scatter(-1, distances.topk(3, largest=False).indices, 1.0)
    torch.testing.assert_close(weights, nearest, atol=1e-3, rtol=0)
    torch.testing.assert_close(soft_neighbours(distances, 3, 0.5).sum(-1), torch.full((50,), 3.0))


def test_keeps_the_columns_that_bring_classes_together():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 6))
    y = (X[:, 1] > 0).astype(int) + (X[:, 4] > 0)
    params = {"iterations": 250, "batch_size": 60, "learning_rate": 2e-2, "hidden": 20, "penalty": 0.1}
    fitted = REGISTRY["protogate"](random_state=0, **params).fit(X[:600], y[:600])
    assert set(np.argsort(-fitted.scores(X[600:]).mean(axis=0))[:2]) == {1, 4}
    assert fitted.score(X[600:], y[600:]) > 0.8
    assert fitted.model_.prototypes.shape == (1, 600, 6)


def test_as_many_prototypes_as_asked():
    X = np.random.default_rng(0).standard_normal((80, 3))
    fitted = REGISTRY["protogate"](iterations=2, batch_size=20, n_prototypes=17).fit(X, X[:, 0] > 0)
    assert fitted.model_.prototypes.shape == (1, 17, 3)
    assert fitted.model_.labels.sum(-1).eq(1).all()
