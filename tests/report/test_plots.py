import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklar.report.plots import plot_masks


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_masks_become_an_image_with_the_names_below():
    masks = np.random.default_rng(0).random((30, 4)) > 0.5
    ax = plot_masks(masks, ["a", "b", "c", "d"], title="a title")
    np.testing.assert_array_equal(ax.images[0].get_array(), masks)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c", "d"]
    assert ax.get_title() == "a title"


def test_it_draws_where_it_is_told():
    _, axes = plt.subplots(1, 2)
    assert plot_masks(np.eye(3, dtype=bool), list("abc"), axes[1]) is axes[1]
    assert not axes[0].images


def test_many_names_stand_upright():
    ax = plot_masks(np.eye(20, dtype=bool), [f"feature {i}" for i in range(20)])
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90.0}
