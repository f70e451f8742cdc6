"""What scikit-learn's users do with an estimator: frames, labels, clones, searches, pipelines."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sklar
from tests.helpers import QUICK, quick, toy_rows, toy_target

NAMES = ["age", "höhe", "a b", "c", "d"]
FRAMES = {
    "pandas": (pd.DataFrame, lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(100, 100 + len(X)))),
    "polars": (pl.DataFrame, lambda X: pl.DataFrame(X, schema=NAMES, orient="row")),
    "pyarrow": (pa.Table, lambda X: pa.table(dict(zip(NAMES, X.T, strict=True)))),
}


def as_numpy(frame):
    return np.column_stack([np.asarray(frame[name]) for name in NAMES])


def column_names(frame):
    return list(getattr(frame, "column_names", None) or frame.columns)


# Targets.


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], ["a", "b", "c", "d"], [False, True], [-1.0, 1.0], [10, 20, 30], list("abcdefghijklmnop")],
    ids=["strings", "many strings", "bools", "floats", "ints", "sixteen"],
)
@pytest.mark.parametrize("name", ["CopulaSelectorClassifier", "CopulaRankerClassifier"])
def test_classes_of_any_number_and_type(name, labels):
    X, _ = toy_rows(160)
    y = np.array(labels)[np.arange(160) % len(labels)]
    model = quick(getattr(sklar, name)).fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype == y.dtype
    assert model.predict(X).dtype == y.dtype
    assert set(model.predict(X)) <= set(labels)
    proba = model.predict_proba(X)
    assert proba.shape == (160, len(labels))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) == pytest.approx((model.predict(X) == y).mean())


def test_it_learns_what_there_is_to_learn():
    X, value = toy_rows(400)
    words = {"max_epochs": 60, "learning_rate": 0.01}
    assert quick(sklar.CopulaSelectorClassifier, **words).fit(X, value > 0).score(X, value > 0) > 0.9
    assert quick(sklar.CopulaSelectorRegressor, **words).fit(X, value).score(X, value) > 0.8
    ranker = quick(sklar.CopulaRankerRegressor, **words).fit(X, value)
    assert ranker.score(X, value) > 0.7
    assert np.isin(ranker.rank(X), [0, 1]).mean() > 0.9


def test_a_regressor_answers_in_the_targets_units():
    X, value = toy_rows(300)
    words = {"max_epochs": 40, "learning_rate": 0.01}
    plain = quick(sklar.CopulaSelectorRegressor, **words).fit(X, value).predict(X)
    moved = quick(sklar.CopulaSelectorRegressor, **words).fit(X, 1e3 * value + 1e6).predict(X)
    np.testing.assert_allclose(moved, 1e3 * plain + 1e6, rtol=1e-6)


def test_the_kinds_are_told_apart(cls):
    assert is_classifier(cls()) == cls.__name__.endswith("Classifier")
    assert is_regressor(cls()) == cls.__name__.endswith("Regressor")


# Tables.


@pytest.mark.parametrize("kind", FRAMES)
def test_a_table_in_gives_the_same_kind_out_with_its_names(cls, kind, fitted):
    X, value = toy_rows()
    frame_type, make = FRAMES[kind]
    model = quick(cls).fit(make(X), toy_target(cls, value))
    assert model.feature_names_in_.tolist() == NAMES
    for name in ("select", "selection_proba"):
        answer = getattr(model, name)(make(X))
        assert isinstance(answer, frame_type)
        assert column_names(answer) == NAMES
        np.testing.assert_allclose(as_numpy(answer), getattr(fitted, name)(X), atol=1e-12)
    np.testing.assert_allclose(model.predict(make(X)), fitted.predict(X), rtol=0, atol=1e-12)


def test_a_pandas_answer_keeps_the_index(cls):
    X, value = toy_rows()
    frame = FRAMES["pandas"][1](X)
    model = quick(cls).fit(frame, toy_target(cls, value))
    assert model.select(frame).index.equals(frame.index)
    assert model.selection_proba(frame).dtypes.eq(float).all()
    assert model.select(frame).dtypes.eq(bool).all()


@pytest.mark.parametrize("kind", FRAMES)
def test_correlation_is_a_named_square(cls, kind):
    X, value = toy_rows()
    make = FRAMES[kind][1]
    correlation = quick(cls).fit(make(X), toy_target(cls, value)).correlation(make(X))
    assert column_names(correlation) == NAMES
    values = as_numpy(correlation)
    assert values.shape == (5, 5)
    np.testing.assert_allclose(np.diag(values), 1)
    np.testing.assert_allclose(values, values.T)
    if kind == "pandas":
        assert correlation.index.tolist() == NAMES


@pytest.mark.parametrize(("kind", "frame_type"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(cls, kind, frame_type):
    X, value = toy_rows()
    frame = FRAMES[kind][1](X)
    model = quick(cls).fit(frame, toy_target(cls, value)).set_output(transform=kind)
    answer = model.transform(frame)
    assert isinstance(answer, frame_type)
    assert column_names(answer) == NAMES == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(as_numpy(answer), np.where(as_numpy(model.select(frame)), X, 0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_is_x_where_selected_and_keeps_the_dtype(fitted, dtype):
    X = toy_rows()[0].astype(dtype)
    answer = fitted.transform(X)
    assert answer.dtype == dtype
    np.testing.assert_array_equal(answer, np.where(fitted.select(X), X, 0))


def test_integer_tables_are_numbers_too(cls):
    X, value = toy_rows()
    whole = np.round(10 * X).astype(int)
    model = quick(cls).fit(whole, toy_target(cls, value))
    np.testing.assert_array_equal(model.predict(whole), model.predict(whole.astype(float)))


# Words.


def test_clone_and_pickle_keep_words_and_answers(fitted):
    X, _ = toy_rows()
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    assert again.get_params() == fitted.get_params()
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_constructors_only_store(cls):
    words = {name: object() for name in cls().get_params()}
    estimator = cls(**words)
    assert all(value is words[name] for name, value in estimator.get_params().items())


def test_grid_search_over_penalty_and_n_factors():
    X, value = toy_rows()
    search = GridSearchCV(
        sklar.CopulaSelectorClassifier(**QUICK), {"penalty": [0.0, 0.1], "n_factors": [1, 3]}, cv=2, error_score="raise"
    ).fit(X, value > 0)
    assert set(search.best_params_) == {"penalty", "n_factors"}
    assert search.best_estimator_.penalty_ == search.best_params_["penalty"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_pipelines(cls):
    X, value = toy_rows()
    y = toy_target(cls, value)
    pipeline = make_pipeline(StandardScaler(), quick(cls)).fit(X, y)
    assert pipeline.predict(X).shape == (len(X),)
    before_another = make_pipeline(quick(cls), quick(cls)).fit(X, y)
    assert np.isfinite(before_another.score(X, y))
    assert len(cross_val_score(pipeline, X, y, cv=2, error_score="raise")) == 2


@pytest.mark.parametrize("store", ["pickle", "joblib"])
def test_a_fitted_pipeline_comes_back_whole(cls, store, tmp_path):
    """What MLflow's scikit-learn flavour and most model stores do to an estimator."""
    X, value = toy_rows()
    pipeline = make_pipeline(StandardScaler(), quick(cls)).fit(X, toy_target(cls, value))
    path = tmp_path / "pipeline"
    if store == "joblib":
        joblib.dump(pipeline, path, compress=3)
        again = joblib.load(path)
    else:
        path.write_bytes(pickle.dumps(pipeline, protocol=pickle.HIGHEST_PROTOCOL))
        again = pickle.loads(path.read_bytes())
    scaled = pipeline[0].transform(X)
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    np.testing.assert_array_equal(again.transform(X), pipeline.transform(X))
    np.testing.assert_array_equal(again[-1].select(scaled), pipeline[-1].select(scaled))
    assert again[-1].get_params() == pipeline[-1].get_params()
    assert again.fit(X, toy_target(cls, value)).score(X, toy_target(cls, value)) == pipeline.score(
        X, toy_target(cls, value)
    )
