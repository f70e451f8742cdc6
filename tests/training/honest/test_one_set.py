"""Of few rows and more features: one set for all rows, those most related to the target alone."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sklar import CopulaSelectorClassifier, load
from sklar.model.gates import Gates
from sklar.training.data import TrainingData
from sklar.training.engine.run import Run
from sklar.training.honest.folds import deal
from sklar.training.honest.one_set import is_wide, most_related, screen_to_one_set, show_all, shown_whole
from sklar.training.honest.predictor_choice import choose_predictors, with_first_reading
from sklar.training.honest.rehearsal import Rehearsal, rehearse, tries_one_set
from sklar.training.honest.scoring import new_selector
from sklar.training.honest.settings import HonestSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.penalty_path import PathChoice
from sklar.training.tasks import Task
from tests.helpers import seeded

SETTINGS = HonestSettings(
    SelectorSettings(hidden=8), PredictorSettings(hidden=16, batch_size=100), Schedule().scaled(0.05), n_folds=2
)


def rows(n=120, d=200, shift=0.8, related=range(30, 40)):
    """Two classes that shift ten features, one after the other, of correlated ones."""
    generator = seeded(3)
    factors = torch.randn(n, 5, generator=generator) @ torch.randn(5, d, generator=generator)
    x = torch.randn(n, d, generator=generator) + 0.5 * factors
    y = torch.randint(2, (n,), generator=generator)
    x[:, list(related)] += shift * y.unsqueeze(1)
    return (x - x.mean(0)) / x.std(0), y


def dealt(gates=None, held=0.2, **kwargs):
    x, y = rows(**kwargs)
    return deal(x[None], y[None], 2, held, seeded(), gates=gates)


def test_the_most_related_features_in_their_order():
    found = most_related(dealt(n=600, related=(3, 60, 199), shift=2.0), Task(2), 3)
    assert found.tolist() == [[3, 60, 199]]


def test_forced_features_are_of_them_and_inputs_count_for_their_feature():
    gates = Gates.of(199, [*range(199), 60], forced=[150])  # feature 60 has two inputs
    found = most_related(dealt(n=600, gates=gates, related=(3, 199), shift=2.0), Task(2), 3)
    assert found.tolist() == [[3, 60, 150]]


def test_predictors_learn_from_the_set_and_then_no_more():
    folds = dealt(n=300, shift=1.5)
    screened = screen_to_one_set(folds, Task(2), SETTINGS, seeded(), 0, Run())
    before = screened.predictors.judge.first.weight.clone()
    screened.predictors.warm_up(3)  # learns nothing
    assert torch.equal(screened.predictors.judge.first.weight, before)
    said = shown_whole(screened.predictors)
    assert said.outputs.shape == (60, 2)
    assert said.at_best_confidence(Task(2))[1].mean() < 0.5
    assert said.evidence.mean() > 0


def test_predictors_are_as_sure_as_they_are_to_be():
    """Half as sure: logits half as large."""
    folds, task = dealt(n=300, shift=1.5), Task(2)
    sure, unsure = (
        screen_to_one_set(folds, task, replace(SETTINGS, one_set=share), seeded(), 0, Run()).predictors
        for share in (1.0, 0.5)
    )
    expected = 0.5 * shown_whole(sure).outputs
    torch.testing.assert_close(shown_whole(unsure).outputs, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("shows", [True, False])
def test_all_or_none_of_the_set_is_shown(shows):
    folds = dealt()
    screened = screen_to_one_set(folds, Task(2), SETTINGS, seeded(), 0, Run())
    selector = new_selector(folds.gates, screened, SETTINGS.selector, torch.zeros(1, 1), 0)
    x = screened.predictors.folds.held_out[0]
    masks = selector.masks(x, torch.zeros(1), show_all(selector.alive, [shows]))
    assert (masks == shows).all()


def test_rehearsals_try_it_where_features_are_more_than_rows():
    assert tries_one_set(SETTINGS, Gates(121), 120)
    assert not tries_one_set(SETTINGS, Gates(120), 120)
    assert not tries_one_set(SETTINGS, Gates.of(121, cost=[2.0] * 121), 120)
    assert not tries_one_set(SETTINGS, Gates(12), 10)  # few enough for the networks to hold
    assert not tries_one_set(replace(SETTINGS, penalty=0.01), Gates(121), 120)
    assert not tries_one_set(replace(SETTINGS, selector=SelectorSettings(k=3)), Gates(121), 120)


def test_rehearsals_take_what_loses_less():
    x, y = rows()
    found = rehearse(TrainingData(x, y, None, Gates(200)), Task(2), SETTINGS, 0, Run())
    record = found.tried[-1]
    assert record["part"] == "one set"
    assert record["chosen"] == (found.one_set is not None) == (record["loss"] < record["loss_of_selector"])
    settings = found.applied(SETTINGS)
    assert settings.one_set == found.one_set
    assert settings.price is found.price
    assert found.price.path["penalty"] == list(SETTINGS.schedule.penalties)
    assert settings.held_fraction == (SETTINGS.held_fraction if found.one_set is None else 0.0)


def test_a_fit_takes_the_price_of_its_rehearsals_in_its_own_unit(monkeypatch):
    price = PathChoice(
        1, 0.01, {"penalty": [0.1] * 4, "loss": [1.0] * 4, "error": [0.5] * 4, "mean_features": [3.0] * 4}
    )
    monkeypatch.setattr("sklar.training.honest.fit.rehearse", lambda *_: Rehearsal(1.0, True, None, price, []))
    x, y = rows(n=90, d=150, shift=1.5)
    model = CopulaSelectorClassifier(random_state=0, max_epochs=20).fit(x.numpy(), y.numpy())
    prices = [one for one in model.history_ if one["part"] == "penalty"]
    assert [one["chosen"] for one in prices] == [False, True, False, False]
    assert prices[1]["penalty"] == pytest.approx(model.penalty_)
    assert model.penalty_ != 0.01
    assert [one["loss"] for one in prices] == [1.0] * 4


def test_no_other_reading_is_tried_of_more_features_than_rows():
    x, y = rows()
    settings, tried = choose_predictors(TrainingData(x, y, None, Gates(200)), Task(2), SETTINGS, 0, Run())
    assert tried == []
    assert settings == with_first_reading(SETTINGS, Gates(200))
    assert is_wide(Gates(121), 120, SETTINGS)
    assert not is_wide(Gates(120), 120, SETTINGS)


def test_noise_of_many_features_shows_nothing():
    """One draw: a false alarm in one of a hundred fresh seeds or so."""
    x, _ = rows()
    noise = TrainingData(x, torch.randint(2, (120,), generator=seeded(7)), None, Gates(200))
    assert not rehearse(noise, Task(2), SETTINGS, 0, Run()).shows


def test_a_fit_with_one_set_gives_all_rows_the_same_and_is_a_model_as_any(tmp_path, monkeypatch):
    chosen = Rehearsal(1.0, True, 0.5, None, [{"part": "one set", "chosen": True}])
    monkeypatch.setattr("sklar.training.honest.fit.rehearse", lambda *_: chosen)
    x, y = rows(n=90, d=150, shift=1.5)
    model = CopulaSelectorClassifier(random_state=0, max_epochs=40).fit(x.numpy(), y.numpy())
    masks = np.asarray(model.select(x.numpy()))
    assert [one["chosen"] for one in model.history_ if one["part"] == "one set"] == [True]
    assert masks.sum(axis=1).tolist() == [20] * 90
    assert (masks == masks[0]).all()
    assert masks[0, 30:40].all()
    assert model.score(x.numpy(), y.numpy()) > 0.8
    model.save(tmp_path / "model.sklar")
    again = load(tmp_path / "model.sklar")
    np.testing.assert_array_equal(again.select(x.numpy()), masks)
    assert "x30" in str(model.explain(x.numpy()[0]))
