"""The scores of an audit, of masks and predictions of any method."""

import numpy as np
import pytest

from sklar.outcomes import outcome_of
from sklar.selection_scores import selection_scores


def test_regression_scores_are_shares_of_variance():
    x = np.random.default_rng(0).standard_normal((1000, 4))
    y = 10 + 2 * x[:, 0]
    masks = np.tile([True, False, False, False], (len(x), 1))
    scores = selection_scores(x, outcome_of(y), masks, y)
    assert scores["score_name"] == "R^2"
    assert scores["own_score"] == 100.0
    assert scores["evalx_score"] > 90
    assert scores["guess_score"] == pytest.approx(0, abs=1e-9)
    assert abs(scores["excess"]) < 4 * scores["excess_error"]
