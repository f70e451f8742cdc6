"""Rankers: exactly k features per row, best first."""

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import sklar
from sklar.datasets import make_redundant_values
from tests.helpers import quick, toy_rows, toy_target

RANKERS = [sklar.CopulaRankerClassifier, sklar.CopulaRankerRegressor]


@pytest.mark.parametrize("ranker", RANKERS)
def test_rank_lists_what_select_marks(ranker):
    X, value = toy_rows()
    model = quick(ranker, n_factors=4).fit(X, toy_target(ranker, value))
    ranks = model.rank(X)
    assert ranks.shape == (120, 2)
    assert np.issubdtype(ranks.dtype, np.integer)
    chosen = np.zeros((120, 5), dtype=bool)
    np.put_along_axis(chosen, ranks, True, axis=1)
    np.testing.assert_array_equal(chosen, model.select(X))


@pytest.mark.parametrize("ranker", RANKERS)
def test_grid_search_over_a_rankers_n_factors_and_k(ranker):
    X, value = toy_rows()
    grid = {"n_factors": [1, 2], "k": [1, 3]}
    search = GridSearchCV(quick(ranker, max_epochs=1), grid, cv=2, error_score="raise").fit(
        X, toy_target(ranker, value)
    )
    assert set(search.best_params_) == {"n_factors", "k"}
    assert search.best_estimator_.rank(X).shape[1] == search.best_params_["k"]


@pytest.mark.parametrize("ranker", RANKERS)
def test_ranks_are_best_first_and_begin_the_ranks_of_a_larger_k(ranker):
    X, value = toy_rows()
    model = quick(ranker, k=5).fit(X, toy_target(ranker, value))
    assert (np.sort(model.rank(X), axis=1) == np.arange(5)).all()


@pytest.mark.parametrize("ranker", RANKERS)
def test_the_covariance_of_a_ranker_is_no_idle_word(ranker):
    X, value = toy_rows()
    y = toy_target(ranker, value)
    correlated, alone = (
        quick(ranker, objective="honest", covariance=c).fit(X, y).correlation(X) for c in ("low-rank", "independent")
    )
    np.testing.assert_array_equal(alone, np.eye(X.shape[1]))
    assert np.abs(correlated - np.eye(X.shape[1])).max() > 0.01
    np.testing.assert_allclose(np.diag(correlated), 1)


def test_a_copy_takes_no_place_from_a_feature_that_adds_something():
    """Three causes, of which the first has a copy, and three places: the mean over all swaps gave some to the copy."""
    X, y, _, groups = make_redundant_values(1500, 6, (3.0, 1.5, 0.8), (1, 0, 0), random_state=0)
    ranked = sklar.CopulaRankerRegressor(k=3, max_epochs=120, selector_sparsity=1.0, random_state=0).fit(X, y).rank(X)
    found = [np.isin(ranked, group).any(axis=1).mean() for group in groups]
    assert min(found) > 0.97


def test_the_first_feature_outweighs_the_last():
    """Scores of all that are surely among the k meet at a bound; the order is that of rankers told 1, 2 and 3."""
    X, y, worth, _ = make_redundant_values(1500, 6, (3.0, 1.5, 0.8), (1, 0, 0), random_state=0)
    model = sklar.CopulaRankerRegressor(k=3, max_epochs=120, selector_sparsity=1.0, random_state=0).fit(X, y)
    first, last = worth[model.rank(X)[:, [0, -1]]].T
    assert (first > last).mean() > 0.95
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.rank(X), model.rank(X))
    np.testing.assert_array_equal(model.rank_interval(X)[..., 0], np.tile([1, 2, 3], (len(X), 1)))
    scores = np.take_along_axis(model.fitted_.scores(model.fitted_.read(X)), model.rank(X), axis=1)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_k_is_ten_or_all_features_by_default():
    X, value = toy_rows(60, 12)
    assert quick(sklar.CopulaRankerRegressor, k=None).fit(X, value).rank(X).shape == (60, 10)
    X, value = toy_rows(60, 3)
    assert quick(sklar.CopulaRankerRegressor, k=None).fit(X, value).rank(X).shape == (60, 3)


@pytest.mark.parametrize("ranker", RANKERS)
def test_k_must_fit_the_table(ranker):
    X, value = toy_rows(60, 3)
    with pytest.raises(ValueError, match="k must be at most the number of features; got k=4 for 3"):
        quick(ranker, k=4).fit(X, toy_target(ranker, value))
    with pytest.raises(ValueError, match="k must be at least the number of forced features; got k=1 for 2"):
        quick(ranker, k=1, forced=[0, 1]).fit(X, toy_target(ranker, value))


@pytest.mark.parametrize("words", [{"objective": "joint"}, {"n_models": 2}])
def test_asking_feature_after_feature_is_honest_and_one_model(words):
    X, y = np.eye(8), np.arange(8) % 2
    ranker = sklar.CopulaRankerClassifier(k=2, chooses_from="shown", max_epochs=1, **words)
    with pytest.raises(ValueError, match="chooses_from='shown' needs objective='honest' and n_models=1"):
        ranker.fit(X, y)


def test_rankers_learn_from_k_whole_features_and_selectors_from_relaxed_masks_unless_told():
    assert {ranker().mask for ranker in RANKERS} == {"rounded"}
    assert {sklar.CopulaSelectorClassifier().mask, sklar.CopulaSelectorRegressor().mask} == {"relaxed"}
