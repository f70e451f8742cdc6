"""The paper's training: replicas, early stopping, and the penalty of each problem."""

import numpy as np
import pytest
import torch

from sklar.model.ensemble import EnsembleModel
from sklar.model.gates import Gates
from sklar.model.selection import SelectionModel
from sklar.training.data import TrainingData
from sklar.training.joint.fit import (
    FEWEST_ROWS_TO_SPLIT,
    Rows,
    choose_penalties,
    fit_replicas,
    joint_architecture,
    loop_settings,
    train_joint,
)
from sklar.training.tasks import Task
from tests.helpers import seeded

PARAMS = {
    "choice_hidden": 8,
    "predict_hidden": 8,
    "activation": "relu",
    "loadings_activation": "tanh",
    "learning_rate": None,
    "weight_decay": None,
    "covariance": "low-rank",
    "n_factors": 2,
    "mask": "relaxed",
    "temperature": 1.0,
    "batch_size": 50,
    "max_epochs": 2,
    "patience": 5,
    "validation_fraction": 0.2,
    "penalty": "auto",
    "n_models": 1,
    "verbose": False,
}


def table(n=120, d=4):
    x = torch.randn(n, d, generator=seeded())
    return TrainingData(x, (x[:, 0] > 0).long(), None, Gates(d))


def test_a_path_of_penalties_trains_as_replicas_and_one_is_kept():
    trained = train_joint(PARAMS, table(), Task(2), None, 3)
    assert trained.model.architecture.replicas == 1
    assert trained.penalty in trained.path["penalty"]
    assert len(trained.path["penalty"]) == 8
    assert trained.union == [0, 1, 2, 3]
    assert all("validation_loss" in record for record in trained.history)


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("mask", ["relaxed", "rounded"])
def test_the_predictor_is_shown_relaxed_masks_or_rounded_ones_and_answers_from_whole_features(monkeypatch, mask, k):
    shown, predict = {True: [], False: []}, SelectionModel.output  # to learn from, and without gradients

    def output(model, x, mask):
        shown[torch.is_grad_enabled()].append(mask.detach())
        return predict(model, x, mask)

    monkeypatch.setattr(SelectionModel, "output", output)
    train_joint({**PARAMS, "mask": mask}, table(), Task(2), k, 3)
    assert all(torch.equal(each, each.round()) for each in shown[False])
    share = np.mean([((each - each.round()).abs() > 1e-3).float().mean() for each in shown[True]])
    assert (share == 0) if mask == "rounded" else (share > 0.9)


def test_several_models_are_one_ensemble_with_mean_penalties():
    trained = train_joint({**PARAMS, "n_models": 2}, table(), Task(2), None, 3)
    assert isinstance(trained.model, EnsembleModel)
    assert [record["model"] for record in trained.history] == [0, 0, 1, 1]


def test_few_rows_are_all_trained_on_with_a_middling_penalty():
    trained = train_joint(PARAMS, table(FEWEST_ROWS_TO_SPLIT - 1), Task(2), None, 3)
    assert trained.path == {}
    assert trained.penalty > 0
    assert "validation_loss" not in trained.history[0]


@pytest.mark.parametrize("shared", [True, False])
def test_a_replica_is_trained_on_its_own_rows(shared):
    """Problems side by side: other rows of the second change the second alone."""
    x = torch.randn(2, 60, 4, generator=seeded())
    y = (x[..., 0] > 0).long()
    other = y.clone()
    other[1] = 1 - other[1]
    architecture = joint_architecture(PARAMS, Task(2), None, Gates(4))
    settings = loop_settings({**PARAMS, "learning_rate": 1e-2, "weight_decay": 0.0})
    rows = Rows(x[:1], y[0]) if shared else Rows(x, other)
    (plain, _), (changed, _) = (
        fit_replicas(each, Task(2), architecture, [0.1, 0.1], settings, seed=0) for each in (Rows(x, y), rows)
    )
    for a, b in zip(plain.parameters(), changed.parameters(), strict=True):
        torch.testing.assert_close(a[0], b[0], rtol=1e-5, atol=1e-6)
    assert not torch.equal(plain.predict.last.weight[1], changed.predict.last.weight[1])


def test_the_choice_is_made_problem_by_problem():
    """Replicas in the order of problems, then of penalties: the same as one problem at a time."""
    x = torch.randn(2, 60, 4, generator=seeded())
    y = (x[..., 0] > 0).long()
    grid, architecture = [1e-3, 1e-2, 1.0], joint_architecture(PARAMS, Task(2), None, Gates(4))
    settings = loop_settings({**PARAMS, "learning_rate": 1e-2, "weight_decay": 0.0})
    both = Rows(x.repeat_interleave(3, 0), y.repeat_interleave(3, 0))
    model, _ = fit_replicas(both, Task(2), architecture, grid * 2, settings, seed=0)
    choices = choose_penalties(model, both, Task(2), grid, 2)
    for p in range(2):
        with torch.no_grad():
            mask = model.decide(model.scores(both.x)).float()
            losses = Task(2).row_loss(model.output(both.x, mask), both.y)[3 * p : 3 * p + 3]
        np.testing.assert_allclose(choices[p].path["loss"], losses.mean(1), rtol=1e-5)
        np.testing.assert_allclose(choices[p].path["mean_features"], mask[3 * p : 3 * p + 3].sum(-1).mean(1))
