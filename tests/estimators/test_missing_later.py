"""Values that are missing only when a model is asked: never selected, hidden from the predictor, and said so."""

import numpy as np
import pandas as pd
import pytest

import sklar
from tests.estimators.messy import messy
from tests.helpers import quick

KINDS = {
    "selector": (sklar.CopulaSelectorClassifier, {"penalty": 0.01}),
    "ranker": (sklar.CopulaRankerClassifier, {"k": 3}),
    "models that vote": (sklar.CopulaSelectorClassifier, {"penalty": 0.01, "n_models": 2}),
    "rankers that vote": (sklar.CopulaRankerClassifier, {"k": 3, "n_models": 2}),
}


def with_holes(X):
    """Row 0 without its first value, row 1 with its last alone, row 2 with none."""
    X = X.copy()
    X[0, 0] = X[1, :4] = X[2] = np.nan
    return X


@pytest.mark.parametrize("objective", ["honest", "joint"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_is_missing_only_later_is_never_selected(kind, objective):
    cls, words = KINDS[kind]
    X = np.random.default_rng(0).standard_normal((120, 5))
    model = quick(cls, objective=objective, **words).fit(X, X[:, 0] + X[:, 1] > 0)
    holes = with_holes(X[:10])
    masks, absent = model.select(holes), np.isnan(holes)
    assert not masks[absent].any()
    np.testing.assert_array_equal(masks[3:], model.select(X[:10])[3:])
    assert not model.sample_masks(holes, 20, random_state=0)[:, absent].any()
    assert not model.selection_proba(holes)[absent].any()
    assert not model.selection_frequency(holes)[absent].any()
    assert np.isfinite(model.predict_proba(holes)).all()
    assert np.isfinite(model.transform(holes)).all()
    if "ranker" in kind:
        assert masks.sum(axis=1).tolist() == [3, 1, 0, *[3] * 7]
        ranks = model.rank(holes)
        assert ranks[1, 0] == 4
        assert 0 not in ranks[0]


def test_a_hidden_feature_is_one_that_the_predictor_is_not_shown():
    X = np.random.default_rng(0).standard_normal((200, 4))
    model = quick(sklar.CopulaSelectorRegressor, penalty=0.0, objective="honest", forced=[0, 1]).fit(
        X, X[:, 0] + X[:, 1]
    )
    holes, mean = X[:20].copy(), X[:20].copy()
    holes[:, 0], mean[:, 0] = np.nan, X[:, 0].mean()
    assert model.select(mean)[:, 0].all()  # forced, where there is a value
    fitted = model.fitted_
    for _, network, x in fitted.blocks(fitted.read(mean)):
        shown = network.mask(x)
        shown[..., 0] = False
        np.testing.assert_array_equal(model.select(holes), shown[0])
        expected = fitted.target.predictions(network.output(x, shown.to(x.dtype))[0].numpy())
        np.testing.assert_allclose(model.predict(holes), expected)
    explanation = model.explain(holes[3])
    assert explanation.hidden == ("x0",)
    assert "Hidden: x0 has no value here, and had one in every row of fit." in str(explanation)
    assert explanation.to_dict()["hidden"] == ["x0"]


def test_a_group_is_shown_whole_or_not_at_all():
    X = np.random.default_rng(0).standard_normal((120, 4))
    model = quick(sklar.CopulaSelectorRegressor, penalty=0.0, groups=[[0, 2]], forced=[0]).fit(X, X[:, 0])
    holes = X[:5].copy()
    holes[1, 2] = np.nan
    assert model.select(holes)[:, [0, 2]].tolist() == [[True, True], [False, False], *[[True, True]] * 3]


def test_text_that_is_missing_only_later_is_hidden_too():
    selector = quick(sklar.CopulaSelectorClassifier, penalty=0.02).fit(*messy(120))
    X, _ = messy(seed=1)
    row = X.iloc[[0]].assign(colour=None, age=np.nan)
    assert not selector.select(row)["colour"].any()
    assert selector.explain(row).hidden == ("colour",)  # the age was missing in fit too: a state of its own


def test_folds_that_miss_a_value_or_a_column():
    """A hole that only one fold has, and a column that only one fold has: no fold is lost."""
    from sklearn.model_selection import cross_val_score

    X = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 3)), columns=list("abc")).assign(rare=np.nan)
    y = X["a"] > 0
    X.loc[7, "b"], X.loc[8, "rare"] = np.nan, 1.0
    model = quick(sklar.CopulaSelectorClassifier, penalty=0.01)
    with pytest.warns(UserWarning, match="no row has a value in column 'rare': never selected"):
        scores = cross_val_score(model, X, y, cv=3, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("empty", [np.nan, None])
def test_a_column_without_any_value_is_never_selected(empty, tmp_path):
    X, y = messy(80)
    X["empty"] = pd.Series([empty] * 80, dtype=object if empty is None else float)
    model = quick(sklar.CopulaSelectorClassifier, penalty=0.0)
    with pytest.warns(UserWarning, match="no row has a value in column 'empty': never selected"):
        model.fit(X, y)
    model.save(tmp_path / "m.sklar")
    for filled in (X, X.assign(empty="text"), X.assign(empty=1.5)):
        for one in (model, sklar.load(tmp_path / "m.sklar")):
            assert not one.select(filled)["empty"].any()
    with (
        pytest.raises(ValueError, match="column 'empty' is forced, but has no value in any row"),
        pytest.warns(UserWarning, match="never selected"),
    ):
        quick(sklar.CopulaSelectorClassifier, penalty=0.0, forced=["empty"]).fit(X, y)
