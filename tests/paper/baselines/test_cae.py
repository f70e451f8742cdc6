"""The concrete autoencoder on scikit-learn's digits: better than random pixels and than those of highest variance.

Source: the experiments of Abid, Balin, Zou (ICML 2019), where it rebuilds images better than other choices do.
"""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from sklar.paper.baselines import REGISTRY

K = 8


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 1]  # the margins of the images are all but constant
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return train_test_split(X, y, test_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def fitted(digits):
    params = {"iterations": 500, "batch_size": 128, "decoder_hidden": 64, "predictor_hidden": 64, "tries": 1}
    rates = {"learning_rate": 3e-3, "selector_learning_rate": 0.3}
    return REGISTRY["cae"](k=K, random_state=0, **params, **rates).fit(digits[0], digits[2])


def rebuilding_error(train, test, chosen):
    """Unseen rows rebuilt from `chosen` by least squares: the same judge for every choice."""
    model = LinearRegression().fit(train[:, chosen], train)
    return np.mean((model.predict(test[:, chosen]) - test) ** 2)


def test_units_settle(fitted):
    assert float(fitted.model_.units.decided()) > 0.99
    assert fitted.select(np.zeros((1, fitted.n_features_in_))).sum() == K


def test_rebuilds_better_than_random_and_than_highest_variance(digits, fitted):
    train, test, _, _ = digits
    raw = load_digits().data
    highest = np.argsort(-raw.std(axis=0)[raw.std(axis=0) > 1])[:K]
    ours = rebuilding_error(train, test, np.flatnonzero(fitted.select(test)[0]))
    rng = np.random.default_rng(0)
    blind = [rebuilding_error(train, test, rng.permutation(train.shape[1])[:K]) for _ in range(20)]
    assert ours < rebuilding_error(train, test, highest)
    assert ours < np.mean(blind) - np.std(blind)


def test_decoder_rebuilds_and_predictor_predicts(digits, fitted):
    _, test, _, labels = digits
    assert np.mean((fitted.reconstruct(test) - test) ** 2) < 0.8 * np.mean(test**2)
    assert fitted.score(test, labels) > 0.7
