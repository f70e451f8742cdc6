"""Every public path on CUDA: what a CPU test cannot see. Run by `make test-gpu`, on a machine with a GPU."""

import numpy as np
import pytest
import torch

import sklar
from sklar.model.masked_predictor import MaskedPredictor
from sklar.paper.experiments.rows import read_rows
from sklar.paper.experiments.runner import reproduce
from sklar.paper.experiments.specs import NAMES
from sklar.training.honest.judge import JudgeSettings, judged, train_judge
from sklar.training.tasks import Task
from tests.helpers import COVARIANCES, four, quick, seeded, toy_rows, toy_target

pytestmark = pytest.mark.gpu


def fitted_on_gpu(cls, objective, **params):
    X, value = toy_rows(300, 6)
    y = toy_target(cls, value)
    given = {"objective": objective, "device": "cuda", "max_epochs": 30, "batch_size": 200, **params}
    return quick(cls, **given).fit(X, y), X, y


@pytest.mark.parametrize("objective", ["honest", "joint"])
@pytest.mark.parametrize("cls", list(four()), ids=lambda cls: cls.__name__)
def test_fit_ask_audit_report_save_and_load_on_a_cpu(cls, objective, tmp_path):
    model, X, y = fitted_on_gpu(cls, objective)
    masks, predictions = model.select(X), model.predict(X)
    assert model.sample_masks(X, 2, 0).shape == (2, *X.shape)
    assert np.isfinite(model.selection_proba(X)).all()
    assert np.isfinite(model.correlation(X)).all()
    assert str(model.explain(X[0]))
    audit = model.audit(X, y, n_refits=1)
    assert 0 <= audit.refit_agreement <= 100
    assert model.report(X, y, tmp_path / "r.html", audit=audit).stat().st_size > 10_000
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar").set_params(device="cpu")
    np.testing.assert_array_equal(again.select(X), masks)
    if "Classifier" in cls.__name__:
        np.testing.assert_array_equal(again.predict(X), predictions)
    else:
        np.testing.assert_allclose(again.predict(X), predictions, rtol=1e-6)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("objective", ["honest", "joint"])
def test_every_covariance(objective, covariance):
    model, X, _ = fitted_on_gpu(sklar.CopulaSelectorClassifier, objective, covariance=covariance)
    assert model.select(X).shape == X.shape


@pytest.mark.parametrize("objective", ["honest", "joint"])
@pytest.mark.parametrize("n_models", [1, 3])
def test_one_and_several_replicas(objective, n_models):
    model, X, _ = fitted_on_gpu(sklar.CopulaSelectorClassifier, objective, n_models=n_models, penalty="auto")
    assert model.n_models_ == n_models
    assert model.selection_frequency(X).shape == X.shape


@pytest.mark.parametrize("k", [None, 2])
def test_a_wide_table_is_screened(k):
    X, value = toy_rows(400, 60)
    cls = sklar.CopulaSelectorClassifier if k is None else sklar.CopulaRankerClassifier
    params = {"objective": "honest", "device": "cuda", "max_epochs": 40} | ({} if k is None else {"k": k})
    model = quick(cls, **params).fit(X, value > 0)
    assert len(model.union_) < 60


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_predictors_layers_may_change_in_place(replicas):
    """A layer that returned a view could not be changed in place by the activation behind it."""
    predictor = MaskedPredictor(5, 8, 2, replicas, torch.Generator().manual_seed(0)).cuda()
    x = torch.randn(replicas, 20, 5, generator=seeded()).cuda()
    predictor(x, torch.ones_like(x)).sum().backward()
    on_gpu = [weight.grad.cpu() for weight in predictor.parameters()]
    predictor = predictor.cpu()
    predictor.zero_grad()
    predictor(x.cpu(), torch.ones_like(x.cpu())).sum().backward()
    for gradient, weight in zip(on_gpu, predictor.parameters(), strict=True):
        torch.testing.assert_close(gradient, weight.grad, rtol=1e-3, atol=1e-4)


def test_the_judge_of_wide_tables():
    x = torch.randn(500, 12, generator=seeded()).cuda()
    y = (x[:, 0] > 0).long()
    judge = train_judge(x, y, Task(2), JudgeSettings(hidden=32, steps=600, batch_size=200, learning_rate=1e-2), seed=0)
    outputs = judged(judge, x, torch.ones_like(x))
    assert (outputs.argmax(-1) == y).float().mean() > 0.8


@pytest.mark.parametrize("name", [name for name in NAMES if name != "all"])
def test_every_table_and_figure(name, tmp_path):
    reproduce(name, out=tmp_path, quick=True, device="cuda", seeds=1, echo=lambda text: None)
    assert read_rows(tmp_path) or list(tmp_path.iterdir())
