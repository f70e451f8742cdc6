from types import SimpleNamespace

import pytest

from sklar.report.plots import plot_path

PATH = {"penalty": [0.01, 0.1, 1.0], "loss": [0.5, 0.4, 0.6], "error": [0.1, 0, 0.02], "mean_features": [4.0, 2.25, 1]}


def test_the_chosen_penalty_is_ringed():
    ax = plot_path(SimpleNamespace(path_=PATH, penalty_=0.1 * (1 + 1e-7)))
    ring = ax.lines[-1]
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (0.1, 0.4)
    assert [text.get_text() for text in ax.texts] == ["4.0", "2.2", "1.0"]
    assert "chosen: 0.1" in ax.get_title("left")


def test_no_path_is_said():
    with pytest.raises(ValueError, match="the penalty was given"):
        plot_path(SimpleNamespace(path_={}, penalty_=0.1))
