"""Weights that make dealt rows show the values that chosen ones show."""

import numpy as np
import pytest

from sklar.control import MOST_ODDS, odds_of_choice

N = 4000


def switched(seed=0):
    """x1 is shown where x0 > 0, else x2; x0 always. Dealt: either with even odds."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N, 3))
    first = x[:, 0] > 0
    dealt = rng.permutation(first)
    return x, *(np.where(np.column_stack([np.ones(N, bool), f, ~f]), x, np.nan) for f in (first, dealt))


def test_a_switch_that_is_shown_is_found():
    """Dealt rows that the choice would not have made weigh nothing, and the others all alike."""
    x, chosen, dealt = switched()
    weight = odds_of_choice(chosen, dealt, np.arange(N), np.arange(N))
    possible = ~np.isnan(dealt[:, 1]) == (x[:, 0] > 0)
    assert weight.mean() == pytest.approx(1)
    assert weight[~possible].mean() < 0.1
    assert np.average(dealt[:, 0] > 0, weights=weight) == pytest.approx(np.mean(x[:, 0] > 0), abs=0.05)


def test_a_switch_that_is_hidden_cannot_be():
    """Nothing shown tells chosen from dealt. The weights are noise of trees: their spread is bounded, not tested."""
    _, chosen, dealt = switched()
    weight = odds_of_choice(chosen[:, 1:], dealt[:, 1:], np.arange(N), np.arange(N))
    assert weight.std() < 0.3


def test_columns_that_are_never_shown_and_too_few_rows():
    nothing = np.full((6, 2), np.nan)
    assert odds_of_choice(nothing, nothing, np.arange(6), np.arange(6)).tolist() == [1.0] * 6
    one = np.ones((1, 2))
    assert odds_of_choice(one, one, np.zeros(1), np.zeros(1)).tolist() == [1.0]
    rare = np.where(np.arange(40)[:, None] == 3, 1.0, np.array([[np.nan, 0.0]] * 40)[:, :1])
    values = np.column_stack([rare, np.arange(40.0)])
    assert np.isfinite(odds_of_choice(values, values, np.arange(40), np.arange(40))).all()


def test_copies_of_few_rows_are_few_rows():
    """50 rows, 100 times each: trees that took them for 5,000 would find each of them."""
    rng = np.random.default_rng(0)
    chosen, control = rng.standard_normal((400, 1)), rng.standard_normal((50, 1))
    weight = odds_of_choice(chosen, control.repeat(100, axis=0), np.arange(400), 400 + np.arange(50).repeat(100))
    assert weight.std() < 0.5


def test_no_row_weighs_more_than_the_bound():
    """One row of a thousand in the control, and half of the choice."""
    x = np.where(np.arange(3000) % 1000 == 0, 1.0, 0.0)[:, None]
    weight = odds_of_choice(
        x[::500], np.repeat(x, 100, axis=0), np.arange(0, 3000, 500), np.repeat(np.arange(3000), 100)
    )
    assert weight.max() <= MOST_ODDS / np.mean(weight == weight.min())
