"""Joint fits side by side: a row gives the same alone as among others, and one seed gives one result."""

import numpy as np
import pytest
import torch

from sklar.paper.experiments.joint_stack import JOINT_DEFAULTS, _parts, fit_joint_stack, fold_losses, stacked

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


def test_every_row_is_held_out_once_by_models_that_did_not_see_it(tables):
    _, rows, _ = stacked(tables, JOINT_DEFAULTS, CPU)
    kept, held = (_parts(rows, is_held, 3) for is_held in (False, True))
    assert kept.x.shape == (2 * 3 * 5, 48, 4)
    assert held.x.shape == (2 * 3 * 5, 12, 4)
    for p, g in [(0, 0), (1, 2)]:
        of_problem = [(p * 3 + g) * 5 + f for f in range(5)]
        together = torch.cat([held.x[r] for r in of_problem])
        assert {tuple(row) for row in together.tolist()} == {tuple(row) for row in rows.x[p].tolist()}
        for r in of_problem:
            assert not {tuple(row) for row in kept.x[r].tolist()} & {tuple(row) for row in held.x[r].tolist()}


def test_cross_validation_chooses_for_each_problem(tables):
    """A penalty so high that nothing is selected has a higher held-out loss than none, where the target is plain."""
    params = {**JOINT_DEFAULTS, **SMALL, "max_epochs": 60, "learning_rate": 1e-2}
    _, rows, task = stacked(tables, params, CPU)
    losses = fold_losses(rows, task, params, [0.0, 5.0], seed=0)
    assert losses.shape == (2, 2)
    assert (losses[:, 0] < losses[:, 1]).all()
    stack = fit_joint_stack(tables, {**SMALL, "penalty": "auto"}, CPU, 0)
    assert len(stack.penalties) == 2


@pytest.mark.parametrize("choice", [{"mask": "rounded"}, {"n_layers": 1}, {"activation": "selu"}])
def test_every_reading_of_the_paper_trains(tables, choice):
    plain, other = (fit_joint_stack(tables, {**SMALL, **params}, CPU, 0) for params in ({}, choice))
    scores = [stack.map_rows(0, tables[0][0], lambda model, x: model.scores(x)) for stack in (plain, other)]
    assert np.isfinite(scores[1]).all()
    assert not np.array_equal(*scores)
