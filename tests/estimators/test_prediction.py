"""The parameter `predictor`: an estimator of the user's predicts from what was selected."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import sklar
from sklar.datasets import make_synthetic
from tests.estimators.test_sklearn_checks import PENALTY, WORDS, name_of
from tests.helpers import quick, toy_rows, toy_target

lightgbm = pytest.importorskip("lightgbm", reason="extra [baselines]")
xgboost = pytest.importorskip("xgboost", reason="extra [baselines]")

FEW = {"n_estimators": 5, "n_jobs": 1}


def trees_for(cls, **words):
    kind = HistGradientBoostingRegressor if cls.__name__.endswith("Regressor") else HistGradientBoostingClassifier
    return kind(max_iter=10, **words)


@pytest.fixture(scope="module")
def by_trees():
    """One quick fit of each class with trees, shared."""
    models = {}

    def get(cls):
        if cls not in models:
            X, value = toy_rows(200)
            models[cls] = quick(cls, predictor=trees_for(cls)).fit(X, toy_target(cls, value))
        return models[cls]

    return get


def test_the_masks_stay_and_the_predictions_are_of_the_trees(cls, by_trees):
    X, value = toy_rows(200)
    model, plain = by_trees(cls), quick(cls).fit(X, toy_target(cls, value))
    np.testing.assert_array_equal(model.select(X), plain.select(X))
    fitted, rows = model.fitted_, model.fitted_.read(X)
    expected = fitted.predictor.outputs(fitted.schema.inputs(rows), fitted.masks(rows)[:, fitted.schema.columns])
    np.testing.assert_allclose(fitted.outputs(rows), expected)
    np.testing.assert_allclose(fitted.outputs(rows[:3]), expected[:3])
    assert not np.allclose(fitted.outputs(rows), plain.fitted_.outputs(rows))
    np.testing.assert_array_equal(model.predict(X), fitted.target.predictions(expected))


def test_all_views_are_of_the_trees(cls, by_trees, tmp_path):
    X, value = toy_rows(200)
    model, y = by_trees(cls), toy_target(cls, value)
    assert np.isfinite(model.score(X, y))
    effects, mask = model.effects(X), model.select(X)
    assert (effects[~mask] == 0).all()
    row = model.explain(X[0])
    if cls.__name__.endswith("Classifier"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert row.probability == pytest.approx(model.predict_proba(X[:1]).max())
    else:
        assert row.prediction == pytest.approx(model.predict(X[:1])[0])
    assert model.report(X, y, tmp_path / "r.html", audit=False).is_file()
    if cls is sklar.CopulaSelectorClassifier:
        assert model.audit(X, y, n_refits=0).own_score == pytest.approx(100 * model.score(X, y))


def test_it_travels_in_the_file_and_in_a_pickle(cls, by_trees, tmp_path):
    X, _ = toy_rows(200)
    model = by_trees(cls)
    model.save(tmp_path / "m.sklar")
    for again in (sklar.load(tmp_path / "m.sklar"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.effects(X), model.effects(X))
    again.save(tmp_path / "again.sklar")
    assert (tmp_path / "again.sklar").read_bytes() == (tmp_path / "m.sklar").read_bytes()


def test_another_fit_of_a_loaded_estimator_asks_for_the_predictor(by_trees, tmp_path):
    X, value = toy_rows(60)
    by_trees(sklar.CopulaSelectorRegressor).save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    with pytest.raises(ValueError, match=r"HistGradientBoostingRegressor\(max_iter=10\)"):
        again.fit(X, value)
    again.set_params(predictor="trees", max_epochs=1).fit(X, value)


@pytest.mark.parametrize("predictor", [lightgbm.LGBMClassifier(**FEW, verbosity=-1), xgboost.XGBClassifier(**FEW)])
def test_trees_of_other_libraries_travel_too(predictor, tmp_path):
    X, value = toy_rows(200)
    model = quick(sklar.CopulaSelectorClassifier, predictor=predictor).fit(X, np.digitize(value, [-1, 1]))
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict_proba(X), model.predict_proba(X))


def test_what_a_file_cannot_hold_predicts_and_is_refused_by_save(tmp_path):
    X, value = toy_rows(80)
    model = quick(sklar.CopulaSelectorClassifier, predictor=RandomForestClassifier(5)).fit(X, value > 0)
    assert set(model.predict(X)) <= {False, True}
    with pytest.raises(ValueError, match=r"RandomForestClassifier.*joblib"):
        model.save(tmp_path / "m.sklar")
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("words", "y"),
    [
        ({}, lambda value: np.column_stack([value > 0, value < 1]).astype(int)),
        ({"loss": "squared"}, lambda value: np.column_stack([value, -value])),
        ({"loss": "poisson"}, lambda value: np.round(np.exp(value / 2))),
    ],
)
def test_several_labels_several_values_and_counts(words, y, tmp_path):
    X, value = toy_rows(150)
    cls = sklar.CopulaSelectorRegressor if words else sklar.CopulaSelectorClassifier
    predictor = "trees" if words.get("loss") == "poisson" else trees_for(cls)
    model = quick(cls, predictor=predictor, **words).fit(X, y(value))
    assert model.predict(X).shape == y(value).shape
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict(X), model.predict(X))


def test_text_missing_values_groups_and_sparse_tables():
    X, value = toy_rows(150)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["c"] = np.where(value > 0, "high", "low")
    table.loc[::5, "d"] = np.nan
    words = {"groups": [["a", "b"]], "forced": ["c"], "predictor": trees_for(sklar.CopulaSelectorRegressor)}
    model = quick(sklar.CopulaSelectorRegressor, **words).fit(table, value)
    assert model.score(table, value) > 0.4  # from the text, which is forced
    assert np.isfinite(model.predict(table.assign(a=np.nan))).all()  # missing where fit saw none: hidden


@pytest.mark.parametrize("words", [{"objective": "honest", "n_folds": 2, "n_models": 2}, {"chooses_from": "shown"}])
def test_ensembles_and_rankers_that_ask(words):
    X, value = toy_rows(120)
    words = {"objective": "honest", "predictor": trees_for(sklar.CopulaRankerClassifier), "max_epochs": 2, **words}
    model = quick(sklar.CopulaRankerClassifier, **words).fit(X, value > 0)
    assert model.predict_proba(X).shape == (120, 2)
    assert model.predict(X, k=1).shape == (120,)
    if "chooses_from" in words:
        found = model.acquire(X[0])
        assert found.probability == pytest.approx(model.predict_proba(X[:1]).max())


def test_a_number_as_random_state_fixes_the_result_and_the_predictor_is_not_touched(tmp_path):
    X, value = toy_rows(150)
    predictor = trees_for(sklar.CopulaSelectorRegressor, max_features=0.5)
    before = repr(predictor)
    models = [quick(sklar.CopulaSelectorRegressor, predictor=predictor).fit(X, value) for _ in range(2)]
    kept = quick(sklar.CopulaSelectorRegressor, predictor=predictor).fit(X, value, checkpoint=tmp_path / "run")
    for other in (models[1], kept):
        np.testing.assert_array_equal(models[0].predict(X), other.predict(X))
    assert repr(predictor) == before
    assert not hasattr(predictor, "n_features_in_")
    assert clone(models[0]).get_params()["predictor__max_iter"] == 10


def test_a_predictor_that_takes_no_missing_values_is_refused_before_the_fit():
    X, value = toy_rows(60)
    with pytest.raises(ValueError, match="SimpleImputer"):
        quick(sklar.CopulaSelectorClassifier, predictor=LogisticRegression(), max_epochs=10**6).fit(X, value > 0)
    imputed = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), LogisticRegression())
    assert quick(sklar.CopulaSelectorClassifier, predictor=imputed).fit(X, value > 0).score(X, value > 0) > 0.4


def stairs():
    """Steps are easy for trees and hard for networks."""
    X = np.random.default_rng(0).standard_normal((600, 3))
    return X, (np.floor(3 * X[:, 0]) % 2).astype(int)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("auto", ["boosted trees of one fold, to see whether they predict better", "boosted trees of all folds"]),
        ("trees", ["boosted trees"]),
        (HistGradientBoostingClassifier(max_iter=2), ["the predictor (HistGradientBoostingClassifier)"]),
        ("networks", []),
    ],
)
def test_a_verbose_fit_says_what_learns_after_the_bar_has_ended(given, told, monkeypatch, capsys):
    monkeypatch.setattr("sklar.predictor.boosting.MOST_ROUNDS", 25)
    words = {"objective": "honest", "n_folds": 2, "forced": [0], "max_epochs": 2, "predictor": given}
    quick(sklar.CopulaSelectorClassifier, **words).fit(*stairs())
    assert capsys.readouterr().err == ""
    quick(sklar.CopulaSelectorClassifier, **words, verbose=True).fit(*stairs())
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "part" not in line] == [f"training: {what}" for what in told]


@pytest.mark.parametrize("words", [{}, {"n_models": 2}])
def test_auto_takes_what_predicts_other_rows_best(words, tmp_path, monkeypatch):
    monkeypatch.setattr("sklar.predictor.boosting.MOST_ROUNDS", 25)
    X, y = stairs()
    words = {"objective": "honest", "n_folds": 2, "forced": [0], "max_epochs": 2, **words}
    model = quick(sklar.CopulaSelectorClassifier, predictor="auto", **words).fit(X, y)
    record = model.history_[-1]
    assert (record["part"], record["predictor"]) == ("predictor", "trees")
    assert record["loss_trees"] < record["loss_networks"]
    networks = quick(sklar.CopulaSelectorClassifier, predictor="networks", **words).fit(X, y)
    assert model.score(X, y) > 0.9 > networks.score(X, y)
    assert networks.fitted_.predictor is None
    np.testing.assert_array_equal(networks.select(X), model.select(X))
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(("n", "tried"), [(499, 0), (500, 1)])
def test_auto_tries_trees_of_one_fold_first(n, tried, monkeypatch):
    """With 500 rows or more; where these do not help, those of all folds are not made."""
    calls = []

    def useless(lesson, masks, judged, folds, rng):
        calls.append(len(lesson.values))
        mine = np.flatnonzero(folds[judged.rows] == 0)
        return mine, np.full((len(mine), 1), 100.0)

    monkeypatch.setattr("sklar.estimators.prediction.tried_trees", useless)
    monkeypatch.setattr("sklar.estimators.prediction.cross_fitted_trees", lambda *_: pytest.fail("made all the same"))
    X, value = toy_rows(n)
    model = quick(sklar.CopulaSelectorRegressor, objective="honest", max_epochs=2).fit(X, value)
    assert calls == [n] * tried
    assert model.fitted_.predictor is None
    assert [h["predictor"] for h in model.history_ if h["part"] == "predictor"] == ["networks"] * tried


def test_the_mean_of_networks_and_trees_travels(tmp_path):
    X, value = toy_rows(200)
    words = {"objective": "honest", "n_folds": 2, "max_epochs": 2}
    cls = sklar.CopulaSelectorRegressor
    model = quick(cls, predictor=trees_for(cls), **words).fit(X, value)
    trees, plain = model.predict(X), quick(cls, predictor="networks", **words).fit(X, value).predict(X)
    model.fitted_ = replace(model.fitted_, predictor=replace(model.fitted_.predictor, with_networks=True))
    np.testing.assert_allclose(model.predict(X), (trees + plain) / 2)
    model.save(tmp_path / "m.sklar")
    np.testing.assert_allclose(sklar.load(tmp_path / "m.sklar").predict(X), model.predict(X))


def test_auto_keeps_networks_where_nothing_can_be_compared():
    X, value = toy_rows(60)
    events = np.array(list(zip(value > 0, np.abs(value), strict=True)), dtype=[("e", bool), ("t", float)])
    for y, words in ((value, {}), (events, {"loss": "cox", "objective": "honest"})):
        model = quick(sklar.CopulaSelectorRegressor, predictor="auto", **words).fit(X, y)
        assert model.fitted_.predictor is None
    with pytest.raises(ValueError, match="cox"):
        quick(sklar.CopulaSelectorRegressor, predictor="trees", loss="cox").fit(X, events)


def test_targets_that_trees_cannot_learn_in_every_fold_stay_with_the_networks():
    X, value = toy_rows(600)
    one_count, words = np.zeros(600), {"objective": "honest", "max_epochs": 2}
    one_count[3] = 1  # of the folds but one, every row that trees would learn from is 0
    model = quick(sklar.CopulaSelectorRegressor, loss="poisson", **words).fit(X, one_count)
    assert model.fitted_.predictor is None
    labels = np.column_stack([value > 0, np.ones(600, dtype=bool)]).astype(int)
    assert quick(sklar.CopulaSelectorClassifier, **words).fit(X, labels).fitted_.predictor is None


def test_a_label_that_never_changes_is_refused():
    X, value = toy_rows(60)
    y = np.column_stack([value > 0, value < 99]).astype(int)
    with pytest.raises(ValueError, match="one label is the same"):
        quick(sklar.CopulaSelectorClassifier, predictor="trees").fit(X, y)


def checks():
    words = {**WORDS, "max_epochs": 10}
    estimator = sklar.CopulaSelectorClassifier(
        **words, **PENALTY, predictor=HistGradientBoostingClassifier(max_iter=10)
    )
    for instance, check in estimator_checks_generator(estimator):
        if name_of(check) != "check_array_api_input":
            yield pytest.param(instance, check, id=name_of(check))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_the_audit_passes_on_syn4():
    X, y, _ = make_synthetic("syn4", n_samples=10_000, random_state=0)
    others, outcomes, _ = make_synthetic("syn4", n_samples=10_000, random_state=1)
    selector = sklar.CopulaSelectorClassifier(random_state=0, predictor="trees").fit(X, y)
    report = selector.audit(others, outcomes, n_refits=0)
    assert not report.leaks, str(report)
