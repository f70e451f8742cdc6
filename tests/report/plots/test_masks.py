import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklar.report.plots import plot_frequency, plot_masks


def some_masks(n=30, d=4, seed=0):
    return np.random.default_rng(seed).random((n, d)) > 0.5


def names_below(ax):
    return [label.get_text() for label in ax.get_xticklabels()]


def test_masks_become_an_image_with_the_names_below():
    masks = some_masks()
    ax = plot_masks(masks, ["a", "b", "c", "d"], title="a title", sort=False)
    np.testing.assert_array_equal(ax.images[0].get_array(), masks)
    assert names_below(ax) == ["a", "b", "c", "d"]
    assert ax.get_title() == "a title"


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_frame_brings_its_names(kind):
    assert names_below(plot_masks(kind({"left": [True, False], "right": [True, True]}))) == ["left", "right"]


def test_an_array_gets_names():
    assert names_below(plot_masks(some_masks(d=3))) == ["x0", "x1", "x2"]


def test_it_draws_where_it_is_told():
    _, axes = plt.subplots(1, 2)
    assert plot_masks(np.eye(3, dtype=bool), list("abc"), axes[1]) is axes[1]
    assert not axes[0].images


def test_many_or_long_names_stand_upright():
    for names in ([f"f{i}" for i in range(20)], ["a long name", "b"]):
        ax = plot_masks(np.eye(len(names), dtype=bool), names)
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {90.0}


def test_classes_stand_together():
    masks, y = some_masks(60), np.tile(["b", "a", "c"], 20)
    ax = plot_masks(masks, y=y)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "c"]
    drawn = np.asarray(ax.images[0].get_array())
    for place, label in enumerate("abc"):
        part = drawn[20 * place : 20 * place + 20]
        np.testing.assert_array_equal(np.sort(part @ [1, 2, 4, 8]), np.sort(masks[y == label] @ [1, 2, 4, 8]))


def test_frequencies_are_shares_by_class():
    masks = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 1], [1, 0, 1]])
    ax = plot_frequency(masks, ["no", "no", "yes", "yes"], ["a", "never", "c"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "c"]  # as often as c, and before it
    by_class = {c.get_label(): c.get_offsets()[:, 0].tolist() for c in ax.collections if c.get_label() in ("no", "yes")}
    assert by_class == {"no": [100, 50], "yes": [50, 100]}


def test_frequencies_of_many_features_say_what_is_left_out():
    ax = plot_frequency(np.ones((3, 30), dtype=bool), most=5)
    assert ax.get_title("left") == "5 features (25 more are selected less often)"
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plot_masks(np.ones(3)), "rows and columns"),
        (lambda: plot_masks(np.ones((3, 2)), ["a"]), "2 columns need as many names; got 1"),
        (lambda: plot_masks(np.ones((3, 2)), y=[1, 2]), "each of 3 rows; got 2"),
        (lambda: plot_frequency(np.ones((3, 2)), [1, 2]), "each of 3 rows; got 2"),
        (lambda: plot_frequency(np.ones((20, 2)), np.arange(20)), "at most 8 classes"),
    ],
)
def test_mistakes_are_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()
