"""What a fit says about itself."""

import numpy as np
import pytest

from sklar import CopulaSelectorRegressor
from sklar.summary import fit_summary, summary_lines
from tests.helpers import quick


def said(n=60, d=3, **words):
    X = np.random.default_rng(0).standard_normal((n, d))
    fitted = quick(CopulaSelectorRegressor, objective="honest", **words).fit(X, X[:, 0]).fitted_
    return fitted, summary_lines(fitted, fit_summary(fitted, X, n))


def test_a_chosen_penalty_comes_with_the_range_that_can_be_asked_for():
    """It used to say "chosen from 8", of which half were never to be chosen."""
    fitted, lines = said(penalty="auto")
    low, high = min(fitted.path["penalty"]), max(fitted.path["penalty"])
    assert (
        f"penalty {fitted.penalty:.3g}, chosen on held-out rows; others, from {low:.2g} to {high:.2g}, can" in lines[1]
    )


def test_a_given_penalty_is_not_called_chosen():
    assert not any("penalty" in line for line in said(penalty=0.01)[1])


def test_few_rows_are_warned_about():
    assert said(n=10, penalty=0.01)[1][1].startswith("10 rows are too few to trust any selection")


@pytest.mark.parametrize(("d", "more"), [(3, ""), (10, " and 2 more")])
def test_names_that_are_left_out_are_counted(d, more):
    last = said(d=d, penalty=0.0, forced=list(range(d)))[1][-1]
    assert last.startswith(f"{d}.0 features per row; most often x")
    assert last.endswith(f"100%{more}")
