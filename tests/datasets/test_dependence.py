"""Data with copies and with features that act only together."""

import numpy as np
import pytest

from sklar.datasets import make_interaction, make_redundant, make_redundant_in_part, make_redundant_values


@pytest.mark.parametrize("correlation", [0.9, 0.99])
def test_copies_have_the_correlation_asked_for(correlation):
    X, _, _, group = make_redundant(20_000, 14, correlation, n_copies=2, random_state=0)
    assert group == [0, 12, 13]
    # the deviation of a correlation is (1 - r^2) / sqrt(n) < .0014: 6 of them
    for copy in group[1:]:
        assert abs(np.corrcoef(X[:, 0], X[:, copy])[0, 1] - correlation) < 0.01


def test_redundant_labels_follow_their_branch():
    X, y, relevant, _ = make_redundant(20_000, random_state=0)
    below = X[:, 5] < 0
    assert relevant[below].sum(axis=1).tolist() == [2] * below.sum()  # x1 and the switch
    assert relevant[~below].sum(axis=1).tolist() == [3] * (~below).sum()  # x3, x4 and the switch
    assert np.corrcoef(X[below, 0], y[below])[0, 1] > 0.5
    assert abs(np.corrcoef(X[~below, 0], y[~below])[0, 1]) < 0.06


def test_redundant_in_part_is_a_copy_where_the_switch_says_so():
    X, y, relevant, group = make_redundant_in_part(20_000, random_state=0)
    copies = X[:, 9] < 0
    assert abs(np.corrcoef(X[copies][:, group].T)[0, 1] - 0.97) < 0.01
    assert abs(np.corrcoef(X[~copies][:, group].T)[0, 1]) < 0.06  # 6 deviations of 1 / sqrt(10,000)
    assert relevant[copies].sum(axis=1).tolist() == [2] * copies.sum()
    assert relevant[~copies].sum(axis=1).tolist() == [3] * (~copies).sum()
    assert np.corrcoef(X[~copies, 6], y[~copies])[0, 1] > 0.4


def test_redundant_values_are_the_weighted_sum():
    words = {"weights": (2.0, 1.0, 0.5), "n_copies": (1, 0, 2), "copy_correlation": 0.9}
    X, y, worth, groups = make_redundant_values(20_000, 8, noise=0.0, random_state=0, **words)
    assert groups == [[0, 5], [1], [2, 6, 7]]
    assert worth.tolist() == [2.0, 1.0, 0.5, 0.0, 0.0, 2.0, 0.5, 0.5]
    np.testing.assert_allclose(y, 2 * X[:, 0] + X[:, 1] + 0.5 * X[:, 2])
    for first, copy in ((0, 5), (2, 6), (2, 7)):
        assert abs(np.corrcoef(X[:, first], X[:, copy])[0, 1] - 0.9) < 0.01


@pytest.mark.parametrize("order", [2, 3])
def test_features_of_an_interaction_say_nothing_alone(order):
    X, y, relevant, group = make_interaction(20_000, order=order, switch=False, random_state=0)
    assert relevant[:, group].all()
    assert relevant.sum() == order * len(X)
    assert np.corrcoef(X[:, group].prod(axis=1), y)[0, 1] > 0.3
    for feature in group:
        assert abs(np.corrcoef(X[:, feature], y)[0, 1]) < 0.045  # 6 deviations of 1 / sqrt(n)


@pytest.mark.parametrize(
    ("make", "words", "message"),
    [
        (make_redundant, {"copy_correlation": 1.0}, "copy_correlation"),
        (make_redundant, {"n_copies": 0}, "n_copies"),
        (make_redundant, {"n_features": 12, "n_copies": 2}, "n_features"),
        (make_redundant_in_part, {"copy_correlation": 0.0}, "copy_correlation"),
        (make_redundant_in_part, {"n_features": 11}, "n_features"),
        (make_redundant_values, {"n_features": 7}, "n_features"),
        (make_redundant_values, {"n_copies": (1,)}, "n_copies"),
        (make_redundant_values, {"n_copies": (1, 0, 0, -1)}, "n_copies"),
        (make_interaction, {"order": 4}, "order"),
        (make_interaction, {"n_samples": 0}, "n_samples"),
    ],
)
def test_bad_words_are_named(make, words, message):
    with pytest.raises(ValueError, match=message):
        make(**words)
