"""Honest training as a whole, on data whose truth is easy to learn."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.model.ensemble import EnsembleModel
from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.honest.fit import fit_honest, train_honest
from sklar.training.honest.settings import HonestSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = HonestSettings(
    SelectorSettings(n_factors=2), PredictorSettings(batch_size=500), schedule=Schedule().scaled(0.3)
)


def switched(n=3000, d=6, seed=0, values=False):
    """Where x5 < 0 the target is x0's affair, elsewhere x1's."""
    x = torch.randn(n, d, generator=seeded(seed))
    below = x[:, 5] < 0
    signal = 4 * torch.where(below, x[:, 0], x[:, 1])
    relevant = torch.zeros(n, d, dtype=torch.bool)
    relevant[below, 0] = relevant[~below, 1] = relevant[:, 5] = True
    noise = torch.rand(n, generator=seeded(seed + 1000))
    y = signal / signal.std() + noise - 0.5 if values else (noise < torch.sigmoid(signal)).long()
    return x, y, relevant.numpy()


def masks_of(fit, x, problem=0):
    model = fit.model(problem)
    with torch.no_grad():
        inside = model.decide(model.scores(x[None][..., fit.union(problem)]))[0].numpy()
    masks = np.zeros(x.shape, dtype=bool)
    masks[:, fit.union(problem)] = inside
    return masks


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.usefixtures("global_seeds_untouched")
def test_it_finds_what_decides_each_row(values):
    x, y, _ = switched(values=values)
    task = Task(None) if values else Task(2)
    fit = fit_honest(x[None], y[None], task, SETTINGS)
    x_test, _, relevant = switched(seed=1, values=values)
    masks = masks_of(fit, x_test)
    assert true_positive_rate(relevant, masks) > 93
    assert false_discovery_rate(relevant, masks) < 20  # the constant union scores 33.3; training is short here


def test_problems_side_by_side_are_as_good():
    data = [switched(seed=seed) for seed in (0, 2)]
    x, y = torch.stack([d[0] for d in data]), torch.stack([d[1] for d in data])
    fit = fit_honest(x, y, Task(2), SETTINGS)
    x_test, _, relevant = switched(seed=1)
    for problem in range(2):
        masks = masks_of(fit, x_test, problem)
        assert true_positive_rate(relevant, masks) > 93
        assert false_discovery_rate(relevant, masks) < 20


def test_a_copy_is_dropped_that_independent_gates_keep():
    x, y, _ = switched()
    copy = 0.98 * x[:, :1] + 0.2 * torch.randn(len(x), 1, generator=seeded(7))
    x = torch.cat([x, copy], dim=1)
    kept = {}
    for covariance in ("low-rank", "independent"):
        selector = replace(SETTINGS.selector, covariance=covariance)
        settings = replace(SETTINGS, selector=selector, schedule=Schedule().scaled(0.25), strengths=(1.0,))
        fit = fit_honest(x[None], y[None], Task(2), settings)
        masks = masks_of(fit, x)[x[:, 5].numpy() < -0.3]  # rows that need x0 or its copy
        assert masks[:, [0, 6]].any(axis=1).mean() > 0.95
        kept[covariance] = masks[:, [0, 6]].all(axis=1).mean()
        if covariance == "low-rank":
            correlation = fit.model().covariance(fit.model().gates(x[None, :1])).correlation()
            assert correlation[0, 6] < -0.3
    assert kept["low-rank"] < 0.1
    assert kept["independent"] > 0.5


def test_a_wide_table_is_screened():
    x, y, relevant = switched()
    x = torch.cat([x, torch.randn(len(x), 60, generator=seeded(8))], dim=1)
    fit = fit_honest(x[None], y[None], Task(2), SETTINGS)
    assert {0, 1, 5} <= set(fit.union())
    assert 16 <= len(fit.union()) < 40
    assert true_positive_rate(np.pad(relevant, ((0, 0), (0, 60))), masks_of(fit, x)) > 90


def test_a_given_penalty_is_used_and_a_large_one_selects_little():
    x, y, _ = switched(n=600)
    sizes = []
    for penalty in (0.0, 0.02, 1.0):
        settings = replace(SETTINGS, penalty=penalty, schedule=Schedule().scaled(0.1))
        fit = fit_honest(x[None], y[None], Task(2), settings)
        assert fit.choices == [None]
        assert fit.penalty() == pytest.approx(max(penalty, 1e-8), rel=1e-5)
        sizes.append(masks_of(fit, x).sum(1).mean())
    assert sizes[0] >= sizes[1] > sizes[2]
    assert sizes[2] < 0.5


def test_the_same_seed_gives_the_same_weights():
    x, y, _ = switched(n=300)
    settings = replace(SETTINGS, schedule=Schedule().scaled(0.005))
    first, second, other = (
        fit_honest(x[None], y[None], Task(2), settings, seed=seed).model().state_dict() for seed in (3, 3, 4)
    )
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not torch.equal(first["choice.first.weight"], other["choice.first.weight"])


def test_exactly_k_features_that_matter():
    x, y, relevant = switched()
    settings = replace(SETTINGS, selector=replace(SETTINGS.selector, k=2))
    fit = fit_honest(x[None], y[None], Task(2), settings)
    masks = masks_of(fit, x)
    assert (masks.sum(1) == 2).all()
    assert true_positive_rate(relevant, masks) > 85  # two features per row are relevant


PARAMS = {
    "choice_hidden": 8,
    "predict_hidden": None,
    "activation": "relu",
    "learning_rate": None,
    "weight_decay": None,
    "covariance": "low-rank",
    "n_factors": 2,
    "union_width": "auto",
    "selector_sparsity": "auto",
    "predictor_regularization": "auto",
    "quantile_bins": "auto",
    "batch_size": 100,
    "max_epochs": 2,
    "n_folds": 3,
    "validation_fraction": 0.2,
    "penalty": "auto",
    "n_models": 1,
    "verbose": False,
}


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("n_models", [1, 2])
def test_an_estimators_parameters_are_trained(n_models, plain):
    """Models of gates with structure train one after the other; several are one ensemble."""
    x, y, _ = switched(n=200)
    gates = Gates(6) if plain else Gates.of(5, [0, 1, 2, 3, 3, 4], forced=[1])
    data = TrainingData(x, y, None, gates)
    trained = train_honest({**PARAMS, "n_models": n_models}, data, Task(2), None, 3)
    assert isinstance(trained.model, EnsembleModel) == (n_models == 2)
    assert trained.union == list(range(gates.n))
    assert [record["part"] for record in trained.history].count("final") == n_models
    assert {record["strength"] for record in trained.history if record["part"] == "strength"} == {1.0, 0.1}
    low, high = min(trained.path["penalty"]), max(trained.path["penalty"])
    assert low * (1 - 1e-6) <= trained.penalty <= high * (1 + 1e-6)
    prices = [record for record in trained.history if record["part"] == "penalty"]
    assert len({record["penalty"] for record in prices if record.get("model", 0) == 0}) == 4
    assert np.mean([record["penalty"] for record in prices if record["chosen"]]) == pytest.approx(trained.penalty)
    again = train_honest({**PARAMS, "n_models": n_models}, data, Task(2), None, 3)
    assert trained.history == again.history
