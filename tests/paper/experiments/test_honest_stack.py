"""Honest fits side by side: scores of columns that a model does not read, and dotted settings."""

import numpy as np
import pytest
import torch

from sklar.paper.experiments.honest_stack import fit_honest_stack

CPU = torch.device("cpu")
FEW = {"schedule.warm_steps": 20, "schedule.trial_steps": 5, "schedule.path_steps": 5, "schedule.final_steps": 10}


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).standard_normal((150, 6))
    return X, (X[:, 2] > 0).astype(np.int64)


def test_columns_outside_the_union_come_last_and_are_never_selected(table):
    X, y = table
    stack = fit_honest_stack([table], {"penalty": 0.05, "choice_hidden": 8, "predict_hidden": 8, **FEW}, CPU, 0)
    union = stack.fit.union(0)
    outside = np.setdiff1d(np.arange(6), union)
    scores, answers = stack.scores(0, X), stack.answers(0, X, y)
    assert np.isfinite(scores[:, union]).all()
    assert (scores[:, outside] == -np.inf).all()
    assert not answers.selected[:, outside].any()
    assert 0 <= answers.accuracy <= 100
    np.testing.assert_allclose(np.diag(answers.gate_correlation), 1)


def test_k_features_per_row(table):
    X, y = table
    stack = fit_honest_stack([table], {"choice_hidden": 8, "predict_hidden": 8, **FEW}, CPU, 0, 2)
    assert set(stack.answers(0, X, y).selected.sum(1)) == {2}
    assert stack.seconds > 0
