"""NOLA is our selector without its copula, and nothing else."""

import numpy as np

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.paper.baselines import REGISTRY


def test_is_the_selector_with_independent_gates():
    X, y, _ = make_synthetic("syn1", n_samples=200, random_state=0)
    params = {"penalty": 0.01, "objective": "joint", "max_epochs": 3, "random_state": 0}
    nola = REGISTRY["nola"](**params).fit(X, y)
    assert nola.selector_.covariance == "independent"
    ours = CopulaSelectorClassifier(covariance="independent", **params).fit(X, y)
    np.testing.assert_allclose(nola.scores(X), ours.selection_proba(X), atol=1e-4)
    np.testing.assert_array_equal(nola.select(X), nola.scores(X) > 0.5)
