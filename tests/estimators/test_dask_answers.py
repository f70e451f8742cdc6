"""Dask in, Dask out: nothing is computed before it is asked for, types are known ahead, answers are those of memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV

from sklar import CopulaRankerClassifier, CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.fitted import FittedModel
from tests.helpers import quick, toy_rows

METHODS = ["select", "selection_proba", "selection_frequency", "transform", "predict", "predict_proba", "rank"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


def frame(n=120):
    X, value = toy_rows(n)
    table = pd.DataFrame(X, columns=list("abcde"), index=3 * np.arange(n))
    return table, np.where(value > 0, "up", "down")


@pytest.fixture(scope="module")
def model():
    return quick(CopulaRankerClassifier).fit(*frame())


@pytest.fixture(scope="module")
def array_model():
    X, value = toy_rows()
    return quick(CopulaRankerClassifier).fit(X, value > 0)


def in_memory(model, method, X):
    answer = getattr(model, method)(X)
    return answer.to_numpy() if hasattr(answer, "to_numpy") else answer


def assert_same(found, expected):
    if expected.dtype == float:
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert (found == expected).all()


def assert_same_weights(one, other):
    pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
    assert all((a == b).all() for a, b in pairs)


@pytest.mark.parametrize("method", METHODS)
def test_frames(model, method):
    X, _ = frame()
    lazy = getattr(model, method)(dd.from_pandas(X, npartitions=3, sort=False))
    assert lazy.npartitions == 3
    found = lazy.compute(scheduler="synchronous")
    pd.testing.assert_index_equal(found.index, X.index)
    if method == "predict":
        assert (found.name, lazy.name) == ("prediction", "prediction")
        assert lazy.dtype == found.dtype
    else:
        assert lazy.dtypes.tolist() == found.dtypes.tolist()
        assert lazy.columns.tolist() == found.columns.tolist()
    assert_same(found.to_numpy(), in_memory(model, method, X))


@pytest.mark.parametrize("method", METHODS)
def test_arrays(array_model, method):
    X, _ = toy_rows()
    lazy = getattr(array_model, method)(da.from_array(X, chunks=(50, 2)))  # columns in three blocks, too
    expected = in_memory(array_model, method, X)
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    assert lazy.chunks[0] == (50, 50, 20)
    assert_same(lazy.compute(scheduler="synchronous"), expected)


def test_nothing_is_loaded_before_it_is_asked_for(model):
    X, _ = frame()
    loaded = []

    def load(part):
        loaded.append(part)
        return X.iloc[40 * part : 40 * part + 40]

    lazy = dd.from_map(load, range(3), meta=X.iloc[:0])
    answers = [getattr(model, method)(lazy) for method in METHODS]
    assert loaded == []
    answers[0].partitions[1].compute(scheduler="synchronous")
    assert loaded == [1]


def test_empty_partitions_and_unknown_lengths(model, array_model):
    X, _ = frame()
    lazy = dd.from_pandas(X, npartitions=3, sort=False)
    kept = lazy[lazy["a"] > 0.8]
    for threshold in (0.8, 99):
        some = X[X["a"] > threshold]
        kept = lazy[lazy["a"] > threshold]
        found = model.select(kept).compute(scheduler="synchronous")
        assert len(found) == len(some)
    values = dd.from_pandas(pd.DataFrame(toy_rows()[0]), npartitions=2)
    unknown = values[values[0] > 0].to_dask_array()
    assert np.isnan(array_model.select(unknown).shape[0])
    expected = array_model.select(toy_rows()[0][toy_rows()[0][:, 0] > 0])
    assert (array_model.select(unknown).compute(scheduler="synchronous") == expected).all()


def test_text_columns():
    """Dask keeps text as Arrow's strings; categories are the same."""
    X, y = frame()
    X["text"] = np.where(X["a"] > 0, "warm", "cold")
    X.loc[X.index[::9], "text"] = None
    model = quick(CopulaSelectorClassifier).fit(X, y)
    lazy = dd.from_pandas(X.assign(y=y), npartitions=3, sort=False)
    with dask.config.set(scheduler="synchronous"):
        found = model.select(lazy[list(X.columns)]).compute()
        again = quick(CopulaSelectorClassifier).fit(lazy, target="y", max_rows=100).fitted_.schema.encoding
    assert (found.to_numpy() == model.select(X).to_numpy()).all()
    assert again.categories == model.fitted_.schema.encoding.categories
    assert (again.missing == model.fitted_.schema.encoding.missing).all()


@pytest.mark.parametrize("kind", [object, "str", "U4"])
def test_classes_of_text_have_the_type_that_is_told(kind):
    """Of pandas' text and numpy's, also where partitions are empty."""
    X, y = frame()
    y = np.array(y, dtype=kind) if kind == "U4" else pd.Series(y, index=X.index, dtype=kind)
    model = quick(CopulaSelectorClassifier).fit(X, y)
    lazy = dd.from_pandas(X, npartitions=3, sort=False)
    for rows in (lazy, lazy[lazy["a"] > 0.8], lazy[lazy["a"] > 99]):
        answer = model.predict(rows)
        parts = [part.compute(scheduler="synchronous") for part in answer.to_delayed()]
        assert {part.dtype for part in parts} == {answer.dtype}
        assert answer.compute(scheduler="synchronous").dtype == answer.dtype == pd.Series(["up"]).dtype


def test_cells_of_several_values_name_their_column():
    X, y = frame()
    lazy = dd.from_pandas(X.assign(y=y), npartitions=2)
    lazy["b"] = lazy["b"].map(lambda value: [value], meta=("b", object))
    with pytest.raises(ValueError, match="the Dask DataFrame: column 'b' holds list"):
        quick(CopulaSelectorClassifier).fit(lazy, target="y")


def test_the_score_of_a_frame_by_the_name_of_its_target(model):
    X, y = frame()
    lazy = dd.from_pandas(X.assign(y=y), npartitions=3, sort=False)
    with dask.config.set(scheduler="synchronous"):
        assert model.score(lazy, target="y") == model.score(X, y)
        assert model.score(lazy[list("abcde")], lazy["y"]) == model.score(X, y)


def test_a_mistake_shows_when_the_rows_are_read(model):
    X, _ = frame()
    X.iloc[70, 1] = np.inf
    lazy = model.select(dd.from_pandas(X, npartitions=3, sort=False))
    with pytest.raises(ValueError, match="column 'b' contains infinity"):
        lazy.compute(scheduler="synchronous")


def test_fit_is_the_same_for_any_number_of_partitions():
    """Where all rows fit, partitions do not matter; it is the fit of memory."""
    X, y = frame()
    table = X.reset_index(drop=True).assign(y=y)
    expected = quick(CopulaSelectorClassifier).fit(X.reset_index(drop=True), y).fitted_
    for npartitions in (1, 3):
        lazy = dd.from_pandas(table, npartitions=npartitions)
        with dask.config.set(scheduler="synchronous"):
            found = quick(CopulaSelectorClassifier).fit(lazy, target="y").fitted_
        assert_same_weights(found, expected)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_real_cluster(model, monkeypatch):
    """Workers read, draw and summarise; one, two and four give one fit; the model goes to each worker once."""
    X, y = frame()
    table = X.reset_index(drop=True).assign(y=y)
    lazy = dd.from_pandas(table, npartitions=8)
    here, fits = [], []
    pickled = FittedModel.__getstate__
    monkeypatch.setattr(FittedModel, "__getstate__", lambda self: here.append(1) or pickled(self))
    for n_workers in (1, 2, 4):
        words = {"n_workers": n_workers, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
        with LocalCluster(**words) as cluster, Client(cluster):
            fits.append(quick(CopulaSelectorClassifier).fit(lazy, target="y", max_rows=60).fitted_)
            here.clear()
            masks = model.select(lazy[list("abcde")]).compute()
            assert (
                len(here) <= n_workers + 2
            )  # tokenised, sent to the scheduler, and from worker to worker; not 8 times
    assert (masks.to_numpy() == model.select(X).to_numpy()).all()
    for other in fits[1:]:
        assert_same_weights(other, fits[0])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_grid_search_on_dask():
    X, value = toy_rows()
    search = GridSearchCV(quick(CopulaSelectorRegressor), {"penalty": [0.01, 0.3]}, cv=2)
    words = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**words) as cluster, Client(cluster), joblib.parallel_config("dask"):
        search.fit(X, value)
    assert search.cv_results_["mean_test_score"].shape == (2,)
    again = GridSearchCV(quick(CopulaSelectorRegressor), {"penalty": [0.01, 0.3]}, cv=2).fit(X, value)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])


def test_columns_are_found_by_name(model):
    """A target may stand beside them, as in a file; what is not there is said at once."""
    X, y = frame()
    lazy = dd.from_pandas(X.assign(y=y)[["y", *"edcba"]], npartitions=2)
    assert (model.select(lazy).compute().to_numpy() == model.select(X).to_numpy()).all()
    with pytest.raises(ValueError, match="the Dask DataFrame has no column 'b'; it has a, c"):
        model.select(lazy[["a", "c"]])
