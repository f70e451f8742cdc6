import numpy as np
import pandas as pd

from sklar.report.plots import plot_effects


def test_a_strip_a_feature_the_largest_first_and_a_dot_a_row_that_selects_it():
    effects = pd.DataFrame({"a": [0.1, 0.0, -0.1], "b": [0.0, 0.9, 0.0], "never": [0.0, 0.0, 0.0]})
    ax = plot_effects(effects)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a"]
    first, second = (np.asarray(strip.get_offsets()) for strip in ax.collections)
    assert first[:, 0].tolist() == [0.9]
    assert second[:, 0].tolist() == [0.1, -0.1]


def test_numbers_colour_the_dots_and_text_does_not():
    effects = np.array([[0.1, 0.2], [0.3, 0.1], [0.2, 0.1]])
    X = pd.DataFrame({"a": [5.0, 1.0, 3.0], "b": ["x", "y", "z"]})
    ax = plot_effects(effects, X, names=["a", "b"])
    colours = {strip.get_array() is None: strip for strip in ax.collections}
    assert colours[False].get_array().tolist() == [1.0, 0.0, 0.5]
    assert True in colours


def test_at_most_so_many_features():
    assert len(plot_effects(np.ones((4, 9)), most=3).collections) == 3
