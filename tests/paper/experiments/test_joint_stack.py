"""Joint fits side by side: a row gives the same alone as among others, and one seed gives one result."""

import numpy as np
import pytest
import torch

from sklar.paper.experiments.joint_stack import fit_joint_stack

CPU = torch.device("cpu")
SMALL = {"max_epochs": 2, "batch_size": 20, "choice_hidden": 8, "predict_hidden": 8, "penalty": 0.01}


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    tables = [rng.standard_normal((60, 4)) for _ in range(2)]
    return [(X, (X[:, 0] > 0).astype(np.int64)) for X in tables]


def test_a_row_does_not_depend_on_the_others(tables):
    stack, X = fit_joint_stack(tables, SMALL, CPU, 0), tables[1][0]
    whole = stack.map_rows(1, X, lambda model, x: model.scores(x))
    in_blocks = np.concatenate(
        [stack.map_rows(1, X[i : i + 7], lambda model, x: model.scores(x)) for i in range(0, 60, 7)]
    )
    assert whole.shape == (60, 4)
    np.testing.assert_allclose(in_blocks, whole, rtol=1e-5, atol=1e-6)


def test_a_seed_fixes_the_result(tables):
    first, again, other = (fit_joint_stack(tables, SMALL, CPU, seed) for seed in (0, 0, 1))
    scores = [stack.map_rows(0, tables[0][0], lambda model, x: model.scores(x)) for stack in (first, again, other)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert first.penalties == [0.01, 0.01]
