"""`fit(..., checkpoint=folder)`: stopped anywhere, the same call ends with the very same model."""

import threading

import numpy as np
import pytest
import torch

import sklar
from sklar.training.engine import checkpoint as checkpoints
from sklar.training.engine.checkpoint import Checkpoint, CheckpointError
from tests.helpers import threads

TINY = {"max_epochs": 2, "choice_hidden": 8, "predict_hidden": 8, "batch_size": 50, "device": "cpu", "random_state": 0}
SELECTOR, RANKER = sklar.CopulaSelectorClassifier, sklar.CopulaRankerRegressor
CASES = {
    "selector": (SELECTOR, {}),
    "selector of two strengths": (SELECTOR, {"rows": 400}),
    "wide, so that it is screened": (SELECTOR, {"columns": 24, "penalty": 0.01}),
    "more features than rows": (SELECTOR, {"columns": 130, "n_models": 2}),
    "ensemble side by side": (SELECTOR, {"n_models": 2, "penalty": 0.01}),
    "ensemble in turn": (SELECTOR, {"n_models": 2, "penalty": 0.01, "forced": [1]}),
    "ranker": (RANKER, {"k": 2}),
    "ranker that may not persuade": (sklar.CopulaRankerClassifier, {"k": 2, "max_excess": 0.01}),
    "ranker that chooses from what is shown": (RANKER, {"k": 2, "chooses_from": "shown"}),
    "times to an event": (sklar.CopulaSelectorRegressor, {"loss": "cox", "penalty": 0.01}),
    "joint selector": (SELECTOR, {"objective": "joint", "patience": 1, "max_epochs": 8, "learning_rate": 0.05}),
    "joint ranker, ensemble": (RANKER, {"objective": "joint", "k": 2, "n_models": 2, "max_epochs": 3}),
}


def table(cls, params):
    params = dict(params)
    n, d = params.pop("rows", 120), params.pop("columns", 5)
    X = np.random.default_rng(0).standard_normal((n, d))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], 0)
    y = value if "Regressor" in cls.__name__ else (value > 0).astype(int)
    if params.get("loss") == "cox":
        y = np.array([(v > -1, np.exp(v)) for v in value], dtype=[("event", bool), ("time", float)])
    return cls(**{**TINY, **params}), X, y


@pytest.fixture
def at_once(monkeypatch):
    """Every step is written."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))


@pytest.fixture
def stop(monkeypatch):
    """Ctrl-C after so many steps of a fit; returns how many there were."""
    keep = Checkpoint.keep

    def stopped(estimator, X, y, folder, most):
        seen = []

        def counting(self, state, n_steps):
            keep(self, state, n_steps)
            seen.append(n_steps)
            if len(seen) == most:
                raise KeyboardInterrupt

        monkeypatch.setattr(Checkpoint, "keep", counting)
        try:
            estimator.fit(X, y, checkpoint=folder)
        except KeyboardInterrupt:
            pass
        finally:
            monkeypatch.setattr(Checkpoint, "keep", keep)
        return len(seen)

    return stopped


def saved(estimator, folder):
    """All that a model is, as bytes."""
    path = folder / "model.sklar"
    estimator.save(path)
    return path.read_bytes()


@pytest.mark.filterwarnings("ignore:no feature can be shown to matter")
@pytest.mark.parametrize("case", CASES)
def test_a_fit_that_was_stopped_ends_with_the_same_model(tmp_path, at_once, stop, case):
    estimator, X, y = table(*CASES[case])
    whole = saved(estimator.fit(X, y), tmp_path)
    n_steps = stop(estimator, X, y, tmp_path / "all", 10**9)
    run, done = tmp_path / "run", 0
    for most in (1, n_steps // 2, max(1, n_steps // 3)):  # stopped three times, each at another step
        done += stop(estimator, X, y, run, most)
    assert n_steps > done > 1
    assert stop(estimator, X, y, run, 10**9) == n_steps - done  # no step is done twice
    assert saved(estimator, tmp_path) == whole
    assert stop(estimator, X, y, run, 10**9) == 0
    assert saved(estimator, tmp_path) == whole
    assert not list(run.glob(".*.part"))


def test_a_checkpoint_changes_nothing_and_is_no_parameter(tmp_path):
    estimator, X, y = table(SELECTOR, {})
    assert "checkpoint" not in estimator.get_params()
    whole = saved(estimator.fit(X, y), tmp_path)
    assert saved(estimator.fit(X, y, checkpoint=tmp_path / "run"), tmp_path) == whole


def test_without_a_random_state_the_first_seed_is_kept(tmp_path, at_once, stop):
    estimator, X, y = table(SELECTOR, {"random_state": None, "objective": "joint"})
    stop(estimator, X, y, tmp_path / "run", 3)
    first, second = (saved(estimator.fit(X, y, checkpoint=tmp_path / "run"), tmp_path) for _ in range(2))
    assert first == second != saved(estimator.fit(X, y), tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda fit: fit["estimator"].set_params(max_epochs=3), "max_epochs was 2 and is 3"),
        (lambda fit: fit["estimator"].set_params(random_state=1), "random_state was 0 and is 1"),
        (lambda fit: fit["estimator"].set_params(forced=[1]), "groups, forced, forbidden or costs is another"),
        (lambda fit: fit["X"].__setitem__((0, 0), 9.0), "X is another"),
        (lambda fit: fit["y"].__setitem__(0, 1 - fit["y"][0]), "y is another"),
        (lambda fit: fit.update(sample_weight=np.linspace(0.5, 1.5, 120)), "sample_weight or class_weight is another"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(tmp_path, change, says):
    estimator, X, y = table(SELECTOR, {"objective": "joint"})
    estimator.fit(X, y, checkpoint=tmp_path)
    fit = {"estimator": estimator, "X": X, "y": y}
    change(fit)
    estimator = fit.pop("estimator")
    with pytest.raises(CheckpointError, match=says):
        estimator.fit(**fit, checkpoint=tmp_path)


def test_ctrl_c_leaves_no_thread_and_the_estimator_as_it_was(tmp_path, stop):
    before = threading.active_count()
    with threads(2):
        estimator, X, y = table(SELECTOR, {"penalty": 0.01})
        stop(estimator, X, y, tmp_path / "run", 10)
    assert threading.active_count() == before
    assert not hasattr(estimator, "fitted_")


@pytest.mark.gpu
@pytest.mark.parametrize("case", ["selector", "ranker", "wide, so that it is screened", "joint ranker, ensemble"])
def test_on_a_gpu_a_stopped_fit_goes_on(tmp_path, at_once, stop, case):
    """Graphs are captured anew; sums in another order may differ in the last digits."""
    cls, params = CASES[case]
    estimator, X, y = table(cls, {**params, "device": "cuda"})
    whole = estimator.fit(X, y).fitted_.network.state_dict()
    n_steps = stop(estimator, X, y, tmp_path / "all", 10**9)
    done = stop(estimator, X, y, tmp_path / "run", n_steps // 2)
    assert stop(estimator, X, y, tmp_path / "run", 10**9) == n_steps - done
    again = estimator.fitted_.network.state_dict()
    for key in whole:
        torch.testing.assert_close(again[key], whole[key], rtol=1e-2, atol=1e-3)
