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
    if hasattr(model, "rank"):
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
    first, second = (member.state_dict()["choice.scores.weight"] for member in fits[0].fitted_.network.members)
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


@pytest.mark.parametrize("objective", ["honest", "joint"])
def test_members_read_columns_as_they_are(cls, objective, tmp_path):
    """A categorical column, holes, a group, a forced column and weights; wide enough for honest training to screen."""
    X, value = toy_rows(100, 20)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(20)])
    frame["kind"] = np.where(value > 0, "u", np.where(X[:, 3] > 0, "v", None))
    frame["f5"] = frame["f5"].mask(X[:, 5] > 1)
    words = {"n_models": 3, "objective": objective, "groups": [["f1", "f17"]], "forced": ["f9"], "max_epochs": 4}
    model = quick(cls, **words).fit(frame, toy_target(cls, value), np.linspace(0.5, 1.5, 100))
    assert model.n_models_ == 3
    masks = model.select(frame)
    assert masks["f9"].all()
    np.testing.assert_array_equal(masks["f1"], masks["f17"])
    assert model.selection_frequency(frame)["f9"].eq(1).all()
    assert model.sample_masks(frame, 2, random_state=0)[..., 9].all()
    assert model.correlation(frame).shape == (21, 21)
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again.select(frame), masks)
    assert again.fitted_.network.architecture == model.fitted_.network.architecture


@pytest.mark.parametrize("objective", ["honest", "joint"])
def test_weights_reach_all_members(objective):
    """Rows that hardly count are of another law; no member follows them."""
    X, _ = toy_rows(300)
    counts = np.arange(300) % 2 == 0
    y = np.where(counts, X[:, 0], X[:, 1])
    words = {"objective": objective, "n_models": 2, "penalty": 0.05, "max_epochs": 100, "batch_size": 300}
    model = quick(sklar.CopulaSelectorRegressor, learning_rate=0.02, **words).fit(X, y, np.where(counts, 1.5, 1e-3))
    shares = model.selection_frequency(X).mean(axis=0)
    assert shares[0] > 0.9
    assert shares[1] < 0.5


def test_members_of_several_targets_average_what_they_predict():
    X, value = toy_rows(80)
    counts = np.random.default_rng(0).poisson(np.exp(value / 3))
    model = quick(sklar.CopulaSelectorRegressor, n_models=2, loss="poisson").fit(X, counts)
    assert (model.predict(X) > 0).all()
    several = quick(sklar.CopulaSelectorRegressor, n_models=2).fit(X, np.column_stack([value, -value]))
    assert several.predict(X).shape == (80, 2)
    labels = quick(sklar.CopulaSelectorClassifier, n_models=2).fit(X, np.column_stack([value > 0, X[:, 3] > 0]))
    assert ((labels.predict_proba(X) > 0) & (labels.predict_proba(X) < 1)).all()
    assert labels.explain(X[0]).prediction == labels.predict(X)[0].tolist()
