"""Rows choose how predictors read numbers and how strongly they are regularised."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import sklar
from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.engine.run import Run
from sklar.training.honest import predictor_choice
from sklar.training.honest.beginning import Problems, begin
from sklar.training.honest.predictor_choice import _folds, choose_predictors
from sklar.training.honest.settings import HonestSettings, PredictorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = HonestSettings(predictor=PredictorSettings(batch_size=500))


def chosen(x, y, task, settings=SETTINGS, gates=None, weight=None):
    data = TrainingData(x, y, weight, gates or Gates(x.shape[1]))
    return choose_predictors(data, task, settings, 0, Run())


def test_steps_ask_for_pieces_and_lines_do_not():
    x = torch.rand(2000, 3, generator=seeded(0)) * 4 - 2
    stairs, noise = (x[:, 0] * 3).floor() % 2, 0.1 * torch.randn(2000, generator=seeded(1))
    of_stairs, tried = chosen(x, stairs + noise, Task(None))
    assert of_stairs.predictor.n_bins == 8
    assert [record["chosen"] for record in tried].count(True) == 1
    of_line, _ = chosen(x, x[:, 0] + 3 * noise, Task(None))
    assert of_line.predictor.n_bins == 0


def test_many_weak_categories_ask_for_a_stronger_hand():
    """300 rows and 60 indicators of 6 columns, of which one says a little."""
    codes = torch.randint(10, (300, 6), generator=seeded(2))
    x = torch.nn.functional.one_hot(codes, 10).float().flatten(1) / 0.95
    y = (torch.rand(300, generator=seeded(3)) < 0.35 + 0.3 * (codes[:, 0] > 4)).long()
    gates = Gates.of(6, torch.arange(6).repeat_interleave(10).tolist())
    settings, tried = chosen(x, y, Task(2), gates=gates)
    best = min(tried, key=lambda record: record["loss"])
    assert best["regularisation"] == 3.0
    assert settings.predictor.weight_decay == 3 * SETTINGS.predictor.weight_decay
    assert settings.predictor.sparsity == 3 * SETTINGS.predictor.sparsity


def test_wide_tables_try_a_weaker_hand_too_and_take_it_where_rows_lose_less(monkeypatch):
    def as_if(folds, task, settings, reading, *_):
        return predictor_choice.Tried(
            reading, torch.full(folds.y[:, :, : folds.n_train].shape[1:], reading[1]).flatten()
        )

    monkeypatch.setattr(predictor_choice, "_tried", as_if)
    x, y = torch.randn(300, 150, generator=seeded(6)), torch.randint(2, (300,), generator=seeded(7))
    settings, tried = chosen(x, y, Task(2))
    assert [record["regularisation"] for record in tried] == [1.0, 3.0, 0.3]
    assert settings.predictor.sparsity == pytest.approx(0.3 * SETTINGS.predictor.sparsity)
    settings, tried = chosen(x[:, :128], y, Task(2))
    assert {record["regularisation"] for record in tried} == {1.0, 3.0}
    assert settings.predictor.sparsity == SETTINGS.predictor.sparsity


def test_rows_that_the_fit_holds_out_do_not_choose():
    x, y = torch.randn(200, 4, generator=seeded(4)), torch.randint(2, (200,), generator=seeded(5))
    settings = replace(SETTINGS, schedule=SETTINGS.schedule.scaled(0.002))
    of_choice = _folds(TrainingData(x, y, None, Gates(4)), settings, 3)
    of_fit = begin(Problems(x[None], y[None], Task(2), None, None), settings, 3, Run()).screened.predictors.folds
    assert of_choice.n_train == of_fit.n_train < of_fit.x.shape[2]
    assert torch.equal(of_choice.row, of_fit.row)


def test_ties_stay_with_the_first():
    x, y = torch.randn(300, 4, generator=seeded(4)), torch.randint(2, (300,), generator=seeded(5))
    same = replace(SETTINGS, regularisations=(1.0, 1.0), bins=(0,))
    settings, tried = chosen(x, y, Task(2), same)
    assert tried[0]["loss"] == tried[1]["loss"]
    assert settings.predictor == SETTINGS.predictor


def test_what_is_given_is_taken_and_wide_tables_are_not_cut():
    x, y = torch.randn(100, 4, generator=seeded(4)), torch.randint(2, (100,), generator=seeded(5))
    settings, tried = chosen(x, y, Task(2), replace(SETTINGS, regularisations=(2.0,), bins=(5,)))
    assert (settings.predictor.n_bins, settings.predictor.weight_decay, tried) == (5, 2.0, [])
    assert SETTINGS.bins_for(Gates(129)) == (0,)


@pytest.mark.parametrize("text", [False, True])
def test_a_model_of_pieces_answers_alike_by_numpy_file_and_torch(text, tmp_path):
    generator = np.random.default_rng(0)
    X = {"a": generator.random(300), "b": generator.random(300)}
    if text:
        X |= {"c": generator.choice(["u", "v"], 300), "d": np.where(generator.random(300) < 0.1, np.nan, X["a"])}
    y = (np.floor(X["a"] * 6) % 2).astype(int)
    X = pd.DataFrame(X)
    model = sklar.CopulaSelectorClassifier(penalty=1e-3, quantile_bins=4, max_epochs=30, random_state=0).fit(X, y)
    assert model.fitted_.network.architecture.n_bins == 4
    several = model.predict_proba(X)  # more rows than numpy answers
    np.testing.assert_allclose(model.predict_proba(X.iloc[:5]), several[:5], atol=1e-12)
    path = tmp_path / "model.sklar"
    model.save(path)
    np.testing.assert_array_equal(sklar.load(path).predict_proba(X), several)
    assert model.score(X, y) > 0.8
