"""STRIPE-X ranks selections that do not encode above those that do; EVAL-X alone need not."""

import numpy as np
import pytest

from sklar.paper.judges import stripex


@pytest.fixture(scope="module")
def rows():
    """y follows x0 but for one row in five; the other columns are noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    y = np.where(rng.random(3000) < 0.8, X[:, 0] > 0, X[:, 0] <= 0).astype(int)
    return X, y


def one_column(n, column):
    return np.arange(4) == np.full((n, 1), column)


def test_what_every_row_shows_encodes_nothing(rows):
    X, y = rows
    found = stripex(X, y, one_column(len(X), 0))
    assert found.encode_meter < 0.01
    assert found.score == pytest.approx(found.evalx - 20 * found.encode_meter)
    assert found.evalx > stripex(X, y, one_column(len(X), 1)).evalx + 0.1


def test_a_place_that_names_the_class_is_seen(rows):
    """Source: the paper's position-based encoding, whose selection says the class and shows noise."""
    X, y = rows
    code = np.where(y[:, None] == 1, one_column(len(X), 1), one_column(len(X), 2))
    found = stripex(X, y, code)
    assert found.encode_meter > 0.1
    assert found.score < stripex(X, y, one_column(len(X), 1)).score  # below even an honest column of noise


def test_a_selection_by_what_it_shows_encodes_nothing(rows):
    """Which column is shown depends on the row by x0, and x0 is shown: the values say it all."""
    X, y = rows
    masks = one_column(len(X), 0) | np.where(X[:, :1] > 0, one_column(len(X), 1), one_column(len(X), 2))
    assert stripex(X, y, masks).encode_meter < 0.01


def test_a_seed_fixes_the_result(rows):
    X, y = rows
    masks = one_column(len(X), 0)
    assert stripex(X, y, masks, random_state=1) == stripex(X, y, masks, random_state=1)
