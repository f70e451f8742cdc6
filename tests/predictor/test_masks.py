"""Masks to learn from."""

import numpy as np
import pytest

from sklar.predictor.masks import dealt_to_others, few_or_many, random_masks, teaching_masks


def test_half_are_dealt_and_every_feature_is_shown_somewhere():
    masks = np.tile([True, True, False, False, False, False], (7, 1))
    taught = teaching_masks(masks, 20_000, np.random.default_rng(0))
    same = (taught == masks[0]).all(axis=1).mean()
    assert 0.5 < same < 0.65  # besides the dealt ones some of those thinned or random: P(both kept), P(both drawn)
    assert taught.any(axis=0).all()
    assert (~taught).any(axis=0).all()


def test_a_mask_says_nothing_about_its_row():
    """Masks that tell y, dealt: how many rows have that of their class is a matter of chance, 5 standard errors."""
    y = np.random.default_rng(0).integers(0, 2, 20_000)
    taught = teaching_masks(np.eye(2, dtype=bool)[y], len(y), np.random.default_rng(1))
    one = taught.sum(axis=1) == 1
    told = taught[one, 1] == y[one]
    assert abs(told.mean() - 0.5) < 5 * 0.5 / np.sqrt(one.sum())


@pytest.mark.parametrize("d", [1, 3])
def test_where_nothing_is_selected_features_are_shown_at_random(d):
    taught = teaching_masks(np.zeros((4, d), dtype=bool), 1000, np.random.default_rng(0))
    assert 0.2 < taught.any(axis=1).mean() < 0.35


def test_random_masks_have_their_size():
    sizes = few_or_many(500, 8, np.random.default_rng(0))
    np.testing.assert_array_equal(random_masks(sizes, 8, np.random.default_rng(1)).sum(axis=1), sizes)


def test_no_row_is_dealt_its_own_mask():
    masks = np.eye(50, dtype=bool)
    dealt = dealt_to_others(masks, np.random.default_rng(0))
    assert not dealt.diagonal().any()
    assert sorted(dealt.argmax(axis=1)) == list(range(50))
