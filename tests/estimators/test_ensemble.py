"""Several models as one estimator: `n_models`."""

import numpy as np
import pandas as pd
import pytest

import sklar
from tests.helpers import four, quick, toy_rows, toy_target


@pytest.fixture(scope="module", params=["honest", "joint"])
def objective(request):
    return request.param


@pytest.fixture(scope="module", params=list(four()), ids=lambda cls: cls.__name__)
def fitted(request, objective):
    X, value = toy_rows(100, 18)  # wide enough for honest training to screen
    X = pd.DataFrame(X, columns=[f"f{i}" for i in range(18)])
    model = quick(request.param, n_models=3, objective=objective, max_epochs=8)
    return model.fit(X, toy_target(request.param, value)), X


def test_shares_are_thirds_and_most_decide(fitted):
    model, X = fitted
    assert model.n_models_ == 3
    shares = model.selection_frequency(X)
    assert shares.columns.tolist() == X.columns.tolist()
    thirds = np.round(shares.to_numpy() * 3)
    np.testing.assert_allclose(shares.to_numpy() * 3, thirds, atol=1e-12)
    if callable(model.rank):  # a selector has the word alone
        np.testing.assert_allclose(shares.sum(axis=1), 2)  # every model selects k
    else:
        np.testing.assert_array_equal(model.select(X), shares > 0.5)


def test_every_answer_has_its_shape(fitted):
    model, X = fitted
    assert model.predict(X).shape == (100,)
    assert model.sample_masks(X, 2, random_state=0).shape == (2, 100, 18)
    R = model.correlation(X).to_numpy()
    np.testing.assert_allclose(np.diag(R), 1)
    np.testing.assert_allclose(R, R.T, atol=1e-12)
    assert model.selection_proba(X).to_numpy().max() <= 1
    alone = model.selection_frequency(X.iloc[[5]]).to_numpy()
    np.testing.assert_array_equal(alone, model.selection_frequency(X).iloc[[5]].to_numpy())


def test_the_file_gives_the_same_answers(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "model.sklar")
    again = sklar.load(tmp_path / "model.sklar")
    assert again.n_models_ == 3
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.selection_frequency(X), model.selection_frequency(X))


def test_explanations_count_the_models(fitted):
    model, X = fitted
    explanation = model.explain(X.iloc[0])
    assert explanation.n_models == 3
    shares = model.selection_frequency(X).iloc[0]
    assert all(f.frequency == shares[f.name] for f in (*explanation.selected, *explanation.nearly))
    assert "of 3 models" in str(explanation) or not explanation.selected


def test_the_page_counts_the_models(fitted, tmp_path):
    model, X = fitted
    y = model.predict(X)
    assert "3 models" in model.report(X, y, tmp_path / "r.html", audit=False).read_text(encoding="utf-8")


def test_the_same_seed_gives_the_same_models_and_members_differ():
    X, value = toy_rows(80)
    fits = [quick(sklar.CopulaSelectorRegressor, n_models=2).fit(X, value) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    first, second = (member.state_dict()["choice.scores.weight"] for member in fits[0].model_.members)
    assert (first != second).any()


def test_one_model_votes_with_itself():
    X, value = toy_rows(80)
    model = quick(sklar.CopulaSelectorRegressor).fit(X, value)
    np.testing.assert_array_equal(model.selection_frequency(X), model.select(X))
    assert model.n_models_ == 1


def test_intervals_of_places():
    X, value = toy_rows(80)
    for n_models in (1, 4):
        model = quick(sklar.CopulaRankerRegressor, n_models=n_models).fit(X, value)
        intervals = model.rank_interval(X, level=1)
        assert intervals.shape == (80, 2, 2)
        assert (intervals[..., 0] <= intervals[..., 1]).all()
        assert intervals.min() >= 1
        if n_models == 1:
            np.testing.assert_array_equal(intervals[..., 0], np.tile([1, 2], (80, 1)))
            np.testing.assert_array_equal(intervals[..., 0], intervals[..., 1])
    narrower = model.rank_interval(X, level=0.5)
    assert (narrower[..., 0] >= intervals[..., 0]).all()
    assert (narrower[..., 1] <= intervals[..., 1]).all()
    assert (intervals[..., 1] > intervals[..., 0]).any()
    with pytest.raises(ValueError, match="level must be in"):
        model.rank_interval(X, level=0)


def test_a_word_out_of_range_is_refused():
    X, value = toy_rows(80)
    with pytest.raises(ValueError, match="n_models"):
        quick(sklar.CopulaSelectorRegressor, n_models=0).fit(X, value)
