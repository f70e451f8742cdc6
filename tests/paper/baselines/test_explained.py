"""The network that is explained by its gradients: what stands for "feature absent"."""

import numpy as np

from sklar.paper.baselines import REGISTRY


def test_the_background_is_of_training_rows_and_fixed_by_the_seed():
    X = np.random.default_rng(0).standard_normal((60, 3))
    params = {"iterations": 2, "batch_size": 20, "predictor_hidden": 4}
    first, again, other = (
        REGISTRY["gradient-shap"](**params, n_background=7, random_state=seed).fit(X, X[:, 0]) for seed in (0, 0, 1)
    )
    rows = {tuple(row) for row in first.scaling_.apply(X)}
    assert len(first.background_) == 7
    assert {tuple(row) for row in first.background_} <= rows
    np.testing.assert_array_equal(first.background_, again.background_)
    assert not np.array_equal(first.background_, other.background_)
    all_rows = REGISTRY["gradient-shap"](**params, n_background=100, random_state=0).fit(X, X[:, 0])
    assert len(all_rows.background_) == 60
