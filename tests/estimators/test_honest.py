"""The default objective behind the scikit-learn contract."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

import sklar
from tests.estimators.test_sklearn_checks import name_of
from tests.helpers import four, toy_rows, toy_target

SHORT = {"max_epochs": 20, "random_state": 0, "device": "cpu"}


def short(cls, **words):
    defaults = {"k": 2} if "Ranker" in cls.__name__ else {}
    return cls(**{**SHORT, **defaults, **words})


def checks():
    for cls in four():
        # enough steps for the checks that ask for a passable score; those at the defaults are the slow test's
        estimator = cls(random_state=0, max_epochs=120, device="cpu")
        for instance, check in estimator_checks_generator(estimator):
            if name_of(check) != "check_array_api_input":
                yield pytest.param(instance, check, id=f"{cls.__name__}-{name_of(check)}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("cls", list(four()), ids=lambda cls: cls.__name__)
def test_every_check_at_the_defaults(cls):
    for estimator, check in estimator_checks_generator(cls()):
        if name_of(check) != "check_array_api_input":
            check(estimator)


def test_honest_is_the_default(cls):
    assert cls().objective == "honest"


@pytest.mark.usefixtures("global_seeds_untouched")
def test_the_seed_fixes_the_answer(cls):
    X, value = toy_rows(80)
    first, second = (short(cls).fit(X, toy_target(cls, value)) for _ in range(2))
    np.testing.assert_array_equal(first.selection_proba(X), second.selection_proba(X))
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


@pytest.mark.parametrize("covariance", ["low-rank", "full", "block", "independent"])
def test_a_file_holds_the_whole_model(cls, covariance, tmp_path):
    X, value = toy_rows(80)
    model = short(cls, covariance=covariance).fit(X, toy_target(cls, value))
    model.save(tmp_path / "model.sklar")
    again = sklar.load(tmp_path / "model.sklar")
    np.testing.assert_array_equal(again.select(X), model.select(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.correlation(X), model.correlation(X))
    assert again.path_ == model.path_
    assert again.history_ == model.history_


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((400, 40)), columns=[f"c{j}" for j in range(40)])
    y = (X["c7"] > 0).to_numpy()
    return X, y, short(sklar.CopulaSelectorClassifier, max_epochs=200).fit(X, y)


class TestAWideTable:
    """40 columns, of which training keeps 16 or a few more."""

    def test_the_union_holds_what_matters(self, wide):
        _, _, model = wide
        assert 7 in model.union_
        assert 16 <= len(model.union_) < 40

    def test_answers_are_at_full_width_and_shut_outside_the_union(self, wide):
        X, _, model = wide
        outside = np.setdiff1d(np.arange(40), model.union_)
        assert model.select(X).shape == (400, 40)
        assert not model.select(X).to_numpy()[:, outside].any()
        assert (model.selection_proba(X).to_numpy()[:, outside] == 0).all()
        assert not model.sample_masks(X, 3, random_state=0)[:, :, outside].any()
        assert (model.correlation(X).to_numpy()[np.ix_(outside, outside)] == np.eye(len(outside))).all()

    def test_columns_nobody_reads_may_hold_anything(self, wide):
        X, _, model = wide
        outside = np.setdiff1d(np.arange(40), model.union_)
        spoiled = X.copy()
        spoiled.iloc[:, outside] = np.nan
        pd.testing.assert_frame_equal(model.select(spoiled), model.select(X))
        spoiled.iloc[0, 7] = np.nan  # what is read is hidden where it is missing
        assert not model.select(spoiled).loc[X.index[0], "c7"]

    def test_the_feature_is_found(self, wide):
        X, y, model = wide
        assert model.select(X)["c7"].mean() > 0.9
        assert model.score(X, y) > 0.9

    def test_ranks_are_columns_of_the_table(self, wide):
        X, y, _ = wide
        ranker = short(sklar.CopulaRankerClassifier, max_epochs=200).fit(X, y)
        assert np.isin(ranker.rank(X), ranker.union_).all()
        assert (ranker.rank(X) == 7).any(axis=1).mean() > 0.9


def test_the_path_is_a_table_and_the_penalty_comes_from_it():
    X, value = toy_rows(200)
    model = short(sklar.CopulaSelectorRegressor, max_epochs=100).fit(X, value)
    assert list(model.path_) == ["penalty", "mean_features", "loss", "error", "score", "score_error"]
    assert len({len(column) for column in model.path_.values()}) == 1
    assert any(np.isclose(model.penalty_, penalty, rtol=1e-5) for penalty in model.path_["penalty"])
    given = short(sklar.CopulaSelectorRegressor, penalty=0.02).fit(X, value)
    assert given.penalty_ == pytest.approx(0.02)
    assert given.path_ == {}


@pytest.fixture(scope="module")
def copies():
    """x1 three times, scaled and recoded, decides with noise; a code and its names say nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    code = rng.integers(0, 4, 300)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": -X[:, 0], "d": np.exp(X[:, 0]), "e": code})
    frame["f"] = np.array(["north", "east", "south", "west"])[code]
    y = np.where(rng.random(300) < 0.05, X[:, 0] <= 0, X[:, 0] > 0)
    return frame, y, short(sklar.CopulaSelectorClassifier, max_epochs=150).fit(frame, y)


def test_of_exact_copies_one_is_kept_for_every_row_and_the_others_are_named(copies):
    frame, _, model = copies
    kept = model.select(frame)
    assert kept["a"].all()
    assert not kept[["c", "d", "f"]].to_numpy().any()
    groups = model.interchangeable()
    assert groups == [["a", "c", "d"], ["e", "f"]]
    assert [(one.feature, one.by, one.cost) for one in groups[0].replacements] == [("a", "c", 0.0), ("a", "d", 0.0)]
    assert "c could stand for a (says exactly the same)." in str(model.explain(frame.iloc[0]))


def test_what_was_checked_travels_with_the_file(copies, tmp_path):
    _, _, model = copies
    model.save(tmp_path / "model.sklar")
    again = sklar.load(tmp_path / "model.sklar").interchangeable()
    assert again == model.interchangeable()
    assert again[0].replacements == model.interchangeable()[0].replacements


def test_a_copy_is_read_where_its_original_is_missing(copies, tmp_path):
    frame, _, model = copies
    new = frame.iloc[:5]
    holes = new.assign(a=np.nan, f=None, e=np.nan)
    holes["f"] = new["f"]  # the names of the code alone
    model.save(tmp_path / "model.sklar")
    for one in (model, sklar.load(tmp_path / "model.sklar")):
        np.testing.assert_allclose(one.predict_proba(holes), one.predict_proba(new))
        np.testing.assert_array_equal(one.select(holes), one.select(new))
    said = model.explain(holes.iloc[0])
    assert said.hidden == ()
    assert {feature.name: feature.value for feature in said.selected}["a"] == pytest.approx(new["a"].iloc[0])
    assert model.explain(holes.assign(c=np.nan).iloc[0]).hidden == ("a",)  # exp(a) is no line


def test_no_copy_that_differs_in_a_row_is_said_to_say_the_same(copies):
    frame, _, model = copies
    said = str(model.explain(frame.assign(c=7.0).iloc[0]))
    assert "c could stand" not in said
    assert "d could stand for a (says exactly the same)." in said
    assert "d could stand" not in str(model.explain(frame.assign(d=np.nan).iloc[0]))


def test_a_copy_that_is_forced_or_cheaper_is_the_one_that_is_read(copies):
    frame, y, _ = copies
    forced = short(sklar.CopulaSelectorClassifier, max_epochs=2, forced=["d"]).fit(frame, y)
    assert set(forced.union_) == {1, 3, 4}
    cheap = short(sklar.CopulaSelectorClassifier, max_epochs=2, costs={"c": 0.5}).fit(frame, y)
    assert set(cheap.union_) == {1, 2, 4}


def test_copies_stay_where_a_row_is_to_get_as_many_features(copies):
    frame, y, _ = copies
    ranker = short(sklar.CopulaRankerClassifier, k=4, max_epochs=2).fit(frame, y)
    assert len(ranker.union_) == 6
    assert len(short(sklar.CopulaRankerClassifier, k=3, max_epochs=2).fit(frame, y).union_) == 3


def test_two_correlated_features_that_are_both_needed_are_not_interchangeable():
    """As rooms and poverty of houses: correlated at -.6, the price bends with one and falls with the other."""
    rng = np.random.default_rng(0)
    wealth, *own = rng.standard_normal((4, 400))
    rooms, poverty = 0.77 * wealth + 0.64 * own[0], -0.77 * wealth + 0.64 * own[1]
    X = pd.DataFrame({"rooms": rooms, "poverty": poverty, "noise": own[2]})
    y = np.exp(0.6 * rooms) - poverty + 0.1 * rng.standard_normal(400)
    model = short(sklar.CopulaSelectorRegressor, max_epochs=150).fit(X, y)
    both = model.select(X)[["rooms", "poverty"]].all(axis=1)
    assert both.mean() > 0.9
    assert model.interchangeable() == []
    assert "could stand" not in str(model.explain(X.iloc[0]))


def test_interchangeable_says_what_it_needs(copies):
    frame, y, model = copies
    with pytest.raises(ValueError, match="threshold"):
        model.interchangeable(0)
    with pytest.raises(ValueError, match="pass X and y"):
        model.interchangeable(X=frame)
    assert model.interchangeable(X=frame, y=y) == model.interchangeable()


def test_joint_models_need_rows_to_say_what_is_interchangeable():
    X, value = toy_rows(60)
    model = sklar.CopulaSelectorRegressor(objective="joint", penalty=0.01, max_epochs=2, random_state=0).fit(X, value)
    with pytest.raises(ValueError, match="pass X and y"):
        model.interchangeable()
    assert isinstance(model.interchangeable(0.5, X, value), list)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_handful_of_rows_can_be_fitted(n):
    """No row can be held out there, so that nothing but the defaults can be chosen."""
    X = np.random.default_rng(0).standard_normal((n, 3))
    selector = sklar.CopulaSelectorClassifier(max_epochs=1, random_state=0).fit(X, np.arange(n) % 2)
    assert selector.select(X).shape == (n, 3)
