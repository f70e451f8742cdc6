"""What makes a fit this fit: each thing that changes the result changes it, and nothing else does."""

import numpy as np
import pytest
import torch

from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.identity import identity
from sklar.training.targets import CountsTask, ValuesTask
from sklar.training.tasks import SpreadTask, Task

X, Y = torch.arange(6.0).view(3, 2), torch.tensor([0, 1, 1])
DATA = TrainingData(X, Y, None, Gates(2))
PARAMS = {"max_epochs": 5, "penalty": "auto", "random_state": 0, "verbose": False, "device": "auto"}
WEIGHT = "sample_weight or class_weight"
GATES = "groups, forced, forbidden or costs"


def of(params=PARAMS, data=DATA, task=Task(2), seed=1, name="A"):  # noqa: B008
    return identity(name, params, data, task, seed)


def differing(**changed):
    before, after = of(), of(**changed)
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"data": DATA._replace(x=X + 1e-6)}, {"X"}),
        ({"data": DATA._replace(x=X.view(2, 3))}, {"X"}),
        ({"data": DATA._replace(y=1 - Y)}, {"y"}),
        ({"data": DATA._replace(weight=torch.ones(3))}, {WEIGHT}),
        ({"data": DATA._replace(gates=Gates.of(2, forced=[1]))}, {GATES}),
        ({"data": DATA._replace(gates=Gates.of(2, cost=[1.0, 2.0]))}, {GATES}),
        ({"task": Task(3)}, {"y"}),
        ({"task": ValuesTask(X)}, {"y"}),
        ({"params": {**PARAMS, "max_epochs": 6}}, {"max_epochs"}),
        ({"params": {**PARAMS, "penalty": 0.1}}, {"penalty"}),
        ({"params": {**PARAMS, "random_state": 1}}, {"random_state"}),
        ({"params": {**PARAMS, "k": 2}}, {"k"}),
        ({"name": "B"}, {"estimator"}),
        ({}, set()),
        ({"params": {**PARAMS, "verbose": True, "device": "cpu"}}, set()),
        ({"data": DATA._replace(x=X.t().contiguous().t())}, set()),  # in another order in memory
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_changes_it(changed, names):
    assert differing(**changed) == names


def test_a_task_is_its_targets_and_its_kind():
    kinds = [Task(None), SpreadTask(None), ValuesTask(X), ValuesTask(X + 1), CountsTask(X)]
    assert len({of(task=task)["y"] for task in kinds}) == len(kinds)


def test_no_seed_is_any_and_a_generator_is_what_it_gives():
    def said(random_state, seed):
        return of({**PARAMS, "random_state": random_state}, seed=seed)["random_state"]

    assert said(None, 1) == said(None, 2)
    generator = np.random.RandomState(0)
    assert said(generator, 1) != said(generator, 2)


def test_another_version_is_another_fit(monkeypatch):
    before = of()
    monkeypatch.setattr("sklar.__version__", "9.9")
    monkeypatch.setattr(torch, "__version__", "9.8")
    after = of()
    assert {key for key in before if before[key] != after[key]} == {"sklar", "torch"}
