import numpy as np
import pytest

from sklar.model.blocks import correlated_blocks


def grouped_rows():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 500, 1))
    noise = rng.standard_normal((500, 6))
    return np.hstack([a, b, a, b, np.zeros((500, 1)), noise[:, :1]]) + 0.1 * noise * [1, 1, 1, 1, 0, 1]


def test_correlated_features_share_a_block_and_constant_ones_stand_alone():
    assert correlated_blocks(grouped_rows()) == ((0, 2), (1, 3), (4,), (5,))


def test_the_sign_of_a_correlation_does_not_matter():
    X = grouped_rows() * [1, 1, -1, 1, 1, 1]
    assert correlated_blocks(X)[0] == (0, 2)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_every_feature_is_in_exactly_one_block(d):
    X = np.random.default_rng(1).standard_normal((40, d))
    for threshold in (0.05, 0.3, 0.9):
        blocks = correlated_blocks(X, threshold)
        assert sorted(i for block in blocks for i in block) == list(range(d))


def test_duplicates_share_a_block_and_a_wholly_constant_table_has_none_to_share():
    X = np.random.default_rng(2).standard_normal((30, 2))
    assert correlated_blocks(np.hstack([X, X])) == ((0, 2), (1, 3))
    assert correlated_blocks(np.ones((5, 3))) == ((0,), (1,), (2,))
