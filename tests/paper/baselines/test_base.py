"""The shared steps: ties, averages, optional packages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklar.paper.baselines.base import above_average, optional, top_k


@settings(max_examples=50, deadline=None)
@given(scores=arrays(np.float64, (3, 6), elements=st.integers(-2, 2).map(float)), k=st.integers(1, 6))
def test_top_k_keeps_k_and_drops_nothing_better(scores, k):
    mask = top_k(scores, k)
    assert (mask.sum(axis=1) == k).all()
    for row, kept in zip(scores, mask, strict=True):
        assert k == 6 or row[kept].min() >= row[~kept].max()


def test_ties_do_not_favour_the_first_columns():
    """Syn1-6 begin with their relevant features: scoring everything alike must not look good there."""
    masks = top_k(np.zeros((2, 11)), 3)
    assert (masks[0] == masks[1]).all()
    assert masks[0, :3].sum() < 3


def test_above_average_is_never_empty():
    assert above_average(np.zeros((4, 3))).any(axis=1).all()


def test_optional_passes_the_package_on():
    assert optional("math", "arithmetic").pi > 3


def test_optional_names_the_extra():
    with pytest.raises(ImportError, match=r'LIME needs the package \'no_such_package\': pip install "sklar\[base'):
        optional("no_such_package", "LIME")
