"""The settings of predictor="trees"."""

import pytest

from sklar.predictor.boosting import boosted_trees


@pytest.mark.parametrize(
    ("kind", "loss"), [("classes", "log_loss"), ("values", "squared_error"), ("counts", "poisson")]
)
def test_the_loss_is_that_of_the_target(kind, loss):
    trees = boosted_trees(kind, 1000)
    assert trees.loss == loss
    assert trees.early_stopping is False  # it would hold out copies of rows that it learns from
