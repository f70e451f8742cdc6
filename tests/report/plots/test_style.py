import builtins
import itertools

import numpy as np
import pytest

from sklar.report.plots import plot_masks
from sklar.report.plots.style import COLOURS, MARKS, short


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"sklar\[plot\]"):
        plot_masks(np.eye(2))


def luminance(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_class_has_a_mark_and_neighbours_differ_in_grey():
    assert len(COLOURS) == len(MARKS) == len(set(MARKS)) == len(set(COLOURS))
    assert all(abs(luminance(a) - luminance(b)) > 0.05 for a, b in itertools.pairwise(COLOURS))


def test_long_names_are_cut():
    assert short("abc") == "abc"
    assert short("a" * 30, 5) == "aaaa…"
