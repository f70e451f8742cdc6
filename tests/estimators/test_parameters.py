"""Early stopping, history, seeds: what `fit` promises."""

import numpy as np
import pytest
import torch

import sklar
from sklar.training.engine.loop import BestWeights
from tests.helpers import COVARIANCES, quick, toy_rows, toy_target


def test_history_has_one_record_an_epoch(fitted):
    assert [record["epoch"] for record in fitted.history_] == [0, 1, 2]
    for record in fitted.history_:
        assert np.isfinite([record["loss"], record["validation_loss"]]).all()


def test_early_stopping_waits_for_patience_and_restores_the_best_weights(monkeypatch):
    weights, see = [], BestWeights.see

    def watch(self, loss):
        weights.append({key: value.clone() for key, value in self.model.state_dict().items()})
        see(self, loss)

    monkeypatch.setattr(BestWeights, "see", watch)
    X, value = toy_rows(200)
    words = {"max_epochs": 200, "patience": 3, "learning_rate": 0.05}
    model = quick(sklar.CopulaSelectorRegressor, **words).fit(X, value)
    losses = [record["validation_loss"] for record in model.history_]
    best = int(np.argmin(losses))
    assert len(weights) == len(losses) == best + 1 + 3 < 200
    for key, kept in model.fitted_.network.state_dict().items():
        assert torch.equal(kept, weights[best][key].to(kept.dtype)), key
    assert not torch.equal(model.fitted_.network.choice.first.weight.float(), weights[-1]["choice.first.weight"])


def test_without_rows_aside_there_is_no_early_stopping(cls):
    X, value = toy_rows()
    model = quick(cls, validation_fraction=0, patience=1, max_epochs=6).fit(X, toy_target(cls, value))
    assert len(model.history_) == 6
    assert "validation_loss" not in model.history_[0]


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_an_int_random_state_fixes_the_result_bit_for_bit(cls, covariance):
    X, value = toy_rows()
    first, second = (quick(cls, covariance=covariance, random_state=3).fit(X, toy_target(cls, value)) for _ in range(2))
    assert first.history_ == second.history_
    for a, b in zip(
        first.fitted_.network.state_dict().values(), second.fitted_.network.state_dict().values(), strict=True
    ):
        assert torch.equal(a, b)


def test_refitting_forgets_the_first_fit(cls):
    X, value = toy_rows()
    y = toy_target(cls, value)
    once, twice = quick(cls).fit(X, y), quick(cls).fit(X[:70, :3], y[:70]).fit(X, y)
    np.testing.assert_array_equal(once.select(X), twice.select(X))
    np.testing.assert_array_equal(once.predict(X), twice.predict(X))


def test_other_seeds_give_other_weights_and_none_gives_new_ones_each_time(cls):
    X, value = toy_rows()
    y = toy_target(cls, value)
    weights = [
        quick(cls, random_state=seed, max_epochs=1).fit(X, y).fitted_.network.choice.first.weight
        for seed in (0, 1, None, None)
    ]
    for i in range(4):
        for j in range(i):
            assert not torch.equal(weights[i], weights[j])


def test_a_random_state_object_is_drawn_from():
    X, value = toy_rows(60)
    state = np.random.RandomState(0)
    weights = [
        quick(sklar.CopulaSelectorRegressor, random_state=state).fit(X, value).fitted_.network.choice.first.weight
        for _ in range(2)
    ]
    assert not torch.equal(*weights)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_no_global_seed_is_touched(cls, covariance, global_seeds_untouched, tmp_path):
    X, value = toy_rows(60)
    words = {"penalty": "auto"} if "Selector" in cls.__name__ else {}
    model = quick(cls, covariance=covariance, max_epochs=1, **words).fit(X, toy_target(cls, value))
    model.select(X), model.selection_proba(X), model.predict(X), model.correlation(X)
    model.sample_masks(X, 2, random_state=1)
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").select(X), model.select(X))


def test_a_chosen_penalty_comes_from_its_path():
    X, value = toy_rows(200)
    model = quick(sklar.CopulaSelectorClassifier, penalty="auto").fit(X, value > 0)
    assert set(model.path_) == {"penalty", "loss", "error", "mean_features"}
    assert len({len(column) for column in model.path_.values()}) == 1
    assert model.penalty_ in model.path_["penalty"]
    assert model.path_["penalty"] == sorted(model.path_["penalty"])


def test_a_given_penalty_is_used_as_it_is():
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor, penalty=0.25).fit(X, value)
    assert (model.penalty_, model.path_) == (0.25, {})


def test_a_high_price_buys_fewer_features():
    X, value = toy_rows(300)
    words = {"max_epochs": 60, "learning_rate": 0.02}
    counts = [
        quick(sklar.CopulaSelectorRegressor, penalty=penalty, **words).fit(X, value).select(X).sum(axis=1).mean()
        for penalty in (0.0, 0.02, 10.0)
    ]
    assert counts[0] >= counts[1] > counts[2] == 0


def test_verbose_shows_a_bar_on_standard_error_and_silence_is_silent(capsys):
    X, value = toy_rows(60)
    quick(sklar.CopulaSelectorRegressor).fit(X, value)
    assert capsys.readouterr() == ("", "")
    quick(sklar.CopulaSelectorRegressor, verbose=True).fit(X, value)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "training" in captured.err


def test_auto_is_a_device_that_is_there(cls):
    X, value = toy_rows(60)
    assert quick(cls, device="auto", max_epochs=1).fit(X, toy_target(cls, value)).predict(X).shape == (60,)


@pytest.mark.gpu
def test_cuda_answers_as_the_cpu_does(cls):
    X, value = toy_rows()
    model = quick(cls, device="cuda").fit(X, toy_target(cls, value))
    on_gpu = model.select(X), model.predict(X)
    on_cpu = model.set_params(device="cpu").select(X), model.predict(X)
    assert (on_gpu[0] == on_cpu[0]).mean() > 0.999
    if "Regressor" in cls.__name__:
        np.testing.assert_allclose(on_gpu[1], on_cpu[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "words", [{"activation": "selu"}, {"loadings_activation": "relu"}, {"temperature": 0.1}, {"mask": "rounded"}]
)
def test_other_words_train(cls, words):
    X, value = toy_rows(60)
    model = quick(cls, **words).fit(X, toy_target(cls, value))
    assert np.isfinite([record["loss"] for record in model.history_]).all()


@pytest.mark.parametrize("words", [{"step_exponent": 0.5}, {"correlation_strength": 0.0}])
def test_a_rankers_own_words_train(words):
    X, value = toy_rows(60)
    model = quick(sklar.CopulaRankerRegressor, **words).fit(X, value)
    assert np.isfinite([record["loss"] for record in model.history_]).all()
    if "correlation_strength" in words:
        np.testing.assert_allclose(model.correlation(X), np.eye(5), atol=1e-12)
