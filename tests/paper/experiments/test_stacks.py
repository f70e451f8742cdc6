"""Stacks: each problem is fitted to its own table, and answers as an estimator would."""

import numpy as np
import pytest
import torch

from sklar import CopulaSelectorClassifier
from sklar.paper.experiments.honest_stack import fit_honest_stack
from sklar.paper.experiments.joint_stack import fit_joint_stack
from sklar.paper.experiments.stacks import scaling_of

CPU = torch.device("cpu")
JOINT = {"max_epochs": 3, "batch_size": 50, "choice_hidden": 8, "predict_hidden": 8}


def problems(n=120, d=5):
    """The same rows, decided by the first and by the last feature."""
    X = np.random.default_rng(0).standard_normal((n, d))
    return [(X, (X[:, j] > 0).astype(np.int64)) for j in (0, d - 1)]


def test_one_honest_problem_is_the_estimators_fit():
    """The same seed gives the same masks as `CopulaSelectorClassifier`, where what single tables choose is given."""
    X, y = problems()[0]
    params = {"max_epochs": 5, "penalty": 0.01, "selector_sparsity": 1.0}
    params |= {"predictor_regularization": 3.0, "quantile_bins": 4}
    stack = fit_honest_stack([(X, y)], params, CPU, seed=7)
    estimator = CopulaSelectorClassifier(**params, random_state=0)
    import sklar.estimators.base as base

    seeds, base.spawn_seeds = base.spawn_seeds, lambda state, n: [7] * n
    try:
        estimator.fit(X, y)
    finally:
        base.spawn_seeds = seeds
    answers = stack.answers(0, X, y)
    np.testing.assert_array_equal(answers.selected, estimator.select(X))
    assert answers.accuracy == pytest.approx(100 * estimator.score(X, y))
    np.testing.assert_allclose(answers.gate_correlation, estimator.correlation(X), atol=1e-12)


def test_honest_problems_learn_their_own_target():
    few = {"schedule.warm_steps": 80, "schedule.trial_steps": 20, "schedule.path_steps": 20, "schedule.final_steps": 40}
    words = {"penalty": 0.01, "choice_hidden": 16, "predict_hidden": 16, "covariance": "independent", **few}
    stack = fit_honest_stack(problems(400), words, CPU, seed=0)
    for p, (X, y) in enumerate(problems(400)):
        assert stack.answers(p, X, y).accuracy > 90
        assert stack.scores(p, X).mean(0).argmax() == (0, 4)[p]


def test_joint_problems_learn_their_own_target():
    words = {**JOINT, "max_epochs": 40, "learning_rate": 2e-2, "penalty": 0.0}
    stack = fit_joint_stack(problems(400), words, CPU, seed=0)
    assert stack.model.architecture.replicas == 2
    for p, (X, y) in enumerate(problems(400)):
        assert stack.answers(p, X, y).accuracy > 85


def test_joint_chooses_a_penalty_for_every_problem():
    stack = fit_joint_stack(problems(), {**JOINT, "penalty": "auto"}, CPU, seed=0)
    assert len(stack.penalties) == 2
    assert all(penalty > 0 for penalty in stack.penalties)
    X, y = problems()[1]
    assert stack.answers(1, X, y).selected.shape == X.shape


@pytest.mark.parametrize("covariance", ["low-rank", "full", "independent"])
def test_top_k(covariance):
    stack = fit_joint_stack(problems(), {**JOINT, "covariance": covariance, "n_factors": "k"}, CPU, seed=0, k=2)
    X, y = problems()[0]
    assert set(stack.answers(0, X, y).selected.sum(1)) == {2}
    assert stack.model.architecture.n_factors == 2


@pytest.mark.parametrize(
    ("fit", "words", "says"),
    [
        (fit_honest_stack, {"speed": 3}, "honest training has no parameter 'speed'"),
        (fit_honest_stack, {"schedule.speed": 3}, "there is no setting 'schedule.speed'"),
        (fit_honest_stack, {"engine.flips": 3}, "there is no setting 'engine.flips'"),
        (fit_joint_stack, {"speed": 3}, "joint training has no parameter 'speed'"),
        (fit_joint_stack, {"scaling": "none"}, "scaling must be one of"),
    ],
)
def test_unknown_words(fit, words, says):
    with pytest.raises(ValueError, match=says):
        fit(problems(), words, CPU, seed=0)


def test_scalings():
    X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0]])
    np.testing.assert_allclose(scaling_of(X, "column").apply(X).std(0), 1)
    np.testing.assert_allclose(scaling_of(X, "global").apply(X).mean(), 0, atol=1e-12)
    np.testing.assert_array_equal(scaling_of(X, "unit").apply(X), X)
