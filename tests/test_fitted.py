"""The fitted model: what the estimators forward to, asked directly."""

import numpy as np
import pandas as pd
import pytest
import torch

import sklar
from sklar.fitted import FittedModel
from tests.helpers import quick, toy_rows, toy_target


def test_it_says_what_the_estimator_says(fitted):
    X, _ = toy_rows()
    model: FittedModel = fitted.fitted_
    rows = model.read(X)
    np.testing.assert_array_equal(model.masks(rows), fitted.select(X))
    np.testing.assert_array_equal(model.predictions(rows), fitted.predict(X))
    np.testing.assert_array_equal(model.selection_proba(rows), fitted.selection_proba(X))
    np.testing.assert_array_equal(model.correlation(rows), fitted.correlation(X))
    assert (model.name, model.penalty, model.n_models) == (type(fitted).__name__, fitted.penalty_, fitted.n_models_)
    assert (model.k is None) == ("Selector" in model.name)


def test_scores_decide_the_mask_and_columns_not_read_have_none():
    X, value = toy_rows()
    model = quick(sklar.CopulaSelectorRegressor, forbidden=[1]).fit(X, value).fitted_
    rows = model.read(X)
    scores = model.scores(rows)
    assert (scores[:, 1] == -np.inf).all()
    np.testing.assert_array_equal(scores > 0, model.masks(rows))


def test_columns_of_a_group_share_their_score_and_their_correlation():
    X, value = toy_rows()
    model = quick(sklar.CopulaSelectorRegressor, groups=[[0, 3]]).fit(X, value).fitted_
    scores = model.scores(model.read(X))
    np.testing.assert_array_equal(scores[:, 0], scores[:, 3])
    assert model.correlation(model.read(X))[0, 3] == pytest.approx(1)
    assert model.schema.first_columns.tolist() == [0, 1, 2, 4]


def test_joint_training_has_no_correlation_without_rows():
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor, objective="joint").fit(X, value).fitted_
    with pytest.raises(ValueError, match="pass X"):
        model.correlation()


def test_a_device_can_be_changed_and_nothing_else(fitted):
    model = fitted.fitted_
    assert model.on(model.device) is model
    moved = model.on("cpu")
    assert moved.device == "cpu"
    assert moved.network is model.network


@pytest.fixture(scope="module", params=[1, 2], ids=["one model", "two models"])
def of_every_price(request):
    X, value = toy_rows(200)
    words = {"objective": "honest", "penalty": "auto", "max_epochs": 30, "n_models": request.param}
    return X, quick(sklar.CopulaSelectorRegressor, **words).fit(X, value)


def test_the_chosen_penalty_and_none_are_the_fit_itself(of_every_price):
    X, model = of_every_price
    fitted = model.fitted_
    assert fitted.at(penalty=model.penalty_) is fitted
    np.testing.assert_array_equal(model.select(X, penalty=model.penalty_), model.select(X))


def test_every_answer_is_of_the_same_features_at_another_penalty(of_every_price):
    X, model = of_every_price
    price = max(model.path_["penalty"])
    there = model.fitted_.at(penalty=price)
    rows = there.read(X)
    assert there.penalty == price
    np.testing.assert_array_equal(there.masks(rows), model.select(X, penalty=price))
    np.testing.assert_array_equal(there.predictions(rows), model.predict(X, penalty=price))
    np.testing.assert_array_equal(there.selection_proba(rows), model.selection_proba(X, penalty=price))
    np.testing.assert_array_equal(model.transform(X, penalty=price) != 0, there.masks(rows))
    assert len(model.explain(X[0], penalty=price).selected) == there.masks(rows)[0].sum()


def test_a_penalty_moves_the_scores_as_one_input_of_the_network(of_every_price):
    """Scores at a penalty are those of a network whose first layer is given its logarithm."""
    priced = of_every_price[1].fitted_.priced
    priced = getattr(priced, "members", [priced])[0]
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 7, priced.architecture.n_inputs)))
    with torch.no_grad():
        h = x @ priced.choice.first.weight + priced.choice.first.bias + 0.5 * 0.7 * priced.penalty_weight
        h = (h.relu() @ priced.choice.second.weight + priced.choice.second.bias).relu()
        by_hand = h @ priced.choice.scores.weight + priced.choice.scores.bias
        torch.testing.assert_close(priced.at_penalty(0.7).scores(x), by_hand)


def test_other_penalties_survive_a_file(of_every_price, tmp_path):
    X, model = of_every_price
    model.save(tmp_path / "m.sklar")
    again, price = sklar.load(tmp_path / "m.sklar"), max(model.path_["penalty"])
    np.testing.assert_allclose(again.predict(X, penalty=price), model.predict(X, penalty=price), rtol=1e-5)


def test_penalties_out_of_reach_are_refused(of_every_price):
    X, model = of_every_price
    with pytest.raises(ValueError, match="penalty must be a number from"):
        model.select(X, penalty=100.0)
    with pytest.raises(ValueError, match="a selector has no k"):
        model.select(X, k=2)
    given = quick(sklar.CopulaSelectorRegressor, penalty=0.1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="knows one penalty"):
        given.predict(X, penalty=0.2)


@pytest.mark.parametrize("objective", ["honest", "joint"])
@pytest.mark.parametrize("n_models", [1, 2])
def test_a_ranker_gives_any_k_up_to_its_own(objective, n_models):
    X, value = toy_rows(120)
    model = quick(sklar.CopulaRankerRegressor, k=3, objective=objective, n_models=n_models, forced=[1]).fit(X, value)
    for k in (1, 2, 3):
        ranks, masks = model.rank(X, k=k), model.select(X, k=k)
        assert ranks.shape == (len(X), k)
        assert (masks.sum(axis=1) == k).all()
        assert all(set(row) == set(np.flatnonzero(mask)) for row, mask in zip(ranks, masks, strict=True))
        assert masks[:, 1].all()
    np.testing.assert_array_equal(model.predict(X, k=3), model.predict(X))
    assert (model.fitted_.priced is None) == (objective == "joint")
    for wrong in (0, 4, 1.5):
        with pytest.raises(ValueError, match="k must be a whole number from 1 to 3"):
            model.rank(X, k=wrong)
    with pytest.raises(ValueError, match="a ranker has no penalty"):
        model.select(X, penalty=0.1)


class StopError(Exception):
    """Raised in the middle of a fit."""


@pytest.mark.parametrize("error", [StopError, KeyboardInterrupt])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(cls, error, monkeypatch):
    X, value = toy_rows(60)
    model = quick(cls).fit(pd.DataFrame(X, columns=list("abcde")), toy_target(cls, value))
    before = dict(vars(model))

    def stop(*args, **kwargs):
        raise error

    monkeypatch.setattr(FittedModel, "__init__", stop)
    with pytest.raises(error):
        model.fit(np.c_[X, X], toy_target(cls, 1e6 * value + 5))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_names_of_an_earlier_fit_do_not_stay(cls):
    X, value = toy_rows(60)
    model = quick(cls, max_epochs=1).fit(pd.DataFrame(X, columns=list("abcde")), toy_target(cls, value))
    assert model.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(model.fit(X, toy_target(cls, value)), "feature_names_in_")
