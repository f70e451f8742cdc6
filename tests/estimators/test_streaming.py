"""Fits on files: the same as in memory where the table fits, nearly the same from a sample, and mistakes named."""

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from sklar import CopulaRankerClassifier, CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.estimators import streaming
from sklar.estimators.streaming import rows_in_memory
from tests.helpers import memory_of_fits, quick


def table_of(n=240, seed=0):
    """Rows of every kind of column, a class and a value."""
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, n))
    text = np.array(["x", "y", None], dtype=object)[rng.integers(0, 3, n)]
    holes = np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n))
    columns = {"a": a, "b": b, "text": text, "holes": pa.array(holes, from_pandas=True)}
    return pa.table({**columns, "y": (a > 0).astype(int), "value": a - b, "weight": rng.integers(0, 3, n)})


@pytest.fixture
def files(tmp_path):
    table = table_of()
    for part in range(4):
        pq.write_table(table.slice(60 * part, 60), tmp_path / f"{part}.parquet", row_group_size=25)
    return tmp_path


def weights_of(estimator):
    return {name: value.numpy() for name, value in estimator.fitted_.network.state_dict().items()}


def assert_same_fit(one, other):
    first, second = weights_of(one), weights_of(other)
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert one.fitted_.schema.encoding.to_dict() == other.fitted_.schema.encoding.to_dict()


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_a_table_that_fits_gives_the_fit_of_memory(files, objective):
    words = {"objective": objective, "forbidden": ["value", "weight"]}
    given = table_of()
    in_memory = quick(CopulaSelectorClassifier, **words).fit(given.drop_columns("y"), given["y"].to_numpy())
    assert_same_fit(quick(CopulaSelectorClassifier, **words).fit(f"{files}/*.parquet", target="y"), in_memory)


def test_weights_and_several_targets_go_by_name(files):
    given = table_of()
    X = given.select(["a", "b", "text", "holes", "y"])
    y = np.column_stack([given["value"].to_numpy(), given["a"].to_numpy()])
    in_memory = quick(CopulaSelectorRegressor).fit(X.drop_columns("a"), y, given["weight"].to_numpy())
    streamed = quick(CopulaSelectorRegressor).fit(files, target=["value", "a"], sample_weight="weight")
    assert_same_fit(streamed, in_memory)


def test_times_are_an_event_and_a_time():
    given = table_of()
    table = given.select(["a", "b"]).append_column("seen", pa.array(given["y"].to_numpy() > 0))
    table = table.append_column("time", pa.array(np.abs(given["value"].to_numpy())))
    streamed = quick(CopulaSelectorRegressor, loss="cox").fit(pa.dataset.dataset(table), target=["seen", "time"])
    y = np.empty(240, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = table["seen"].to_numpy(), table["time"].to_numpy()
    assert_same_fit(streamed, quick(CopulaSelectorRegressor, loss="cox").fit(table.select(["a", "b"]), y))
    with pytest.raises(ValueError, match="needs two columns"):
        quick(CopulaSelectorRegressor, loss="cox").fit(pa.dataset.dataset(table), target="time")


def test_a_sample_is_encoded_as_all_rows_are(files):
    given = table_of()
    X = given.select(["a", "b", "text", "holes"])
    dataset = pa.dataset.dataset(X.append_column("y", given["y"]))
    whole = quick(CopulaSelectorClassifier).fit(X, given["y"].to_numpy()).fitted_.schema.encoding
    part = quick(CopulaSelectorClassifier).fit(dataset, target="y", max_rows=50).fitted_.schema.encoding
    assert part.to_dict() == whole.to_dict()
    np.testing.assert_allclose(part.scaling.centre, whole.scaling.centre, atol=1e-12)
    np.testing.assert_allclose(part.scaling.spread, whole.scaling.spread, rtol=1e-12)


def test_a_sample_trains_on_so_many_rows(files, monkeypatch):
    seen = []
    read = streaming.read_training_table
    monkeypatch.setattr(streaming, "read_training_table", lambda X, *given: seen.append(X.num_rows) or read(X, *given))
    quick(CopulaSelectorClassifier).fit(files, target="y", max_rows=77)
    monkeypatch.setattr(streaming, "MEMORY", 40 * 1_700)
    quick(CopulaSelectorClassifier).fit(files, target="y")  # 7 columns, of which one is 2 categories and missing
    assert seen[0] == 77
    assert 30 < seen[1] <= 40


def test_a_sample_finds_what_all_rows_find():
    """Masks agree for 99% of the rows where the sample has rows enough: two features that a clear rule needs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, 4))
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": 3 * X[:, 0] - 2 * X[:, 1]})
    words = {"penalty": 0.05, "selector_sparsity": 1.0, "max_epochs": 20, "random_state": 0, "device": "cpu"}
    dataset = pa.dataset.dataset(table)
    whole = CopulaSelectorRegressor(**words).fit(dataset, target="y")
    part = CopulaSelectorRegressor(**words).fit(dataset, target="y", max_rows=8_000)
    same = (whole.select(X_of(table)).to_pandas() == part.select(X_of(table)).to_pandas()).all(axis=1)
    assert same.mean() >= 0.99
    assert 0 < whole.select(X_of(table)).to_pandas().to_numpy().mean() < 1


def X_of(table):
    return table.drop_columns("y")


def test_rows_in_memory():
    params = CopulaSelectorClassifier().get_params()
    assert rows_in_memory(1000, 50, params) == 1000
    room = rows_in_memory(10**10, 50, params)
    assert rows_in_memory(10**10, 5000, params) < room < 4_300_000
    short = {**params, "batch_size": 20}
    assert rows_in_memory(10**10, 50, short) == 20 * (
        3 * 400 + 1000 + 400 + 2 * 700 + 1500 + 400
    )  # what training visits
    assert rows_in_memory(10**10, 50, {**short, "objective": "joint"}) == room


def test_a_class_that_no_sampled_row_has_is_named():
    table = pa.table({"a": np.arange(1000.0), "y": ["no", "yes"] * 499 + ["rare"] * 2})
    with pytest.warns(UserWarning, match="no row of the sample has the class rare"):
        model = quick(CopulaSelectorClassifier).fit(pa.dataset.dataset(table), target="y", max_rows=30)
    assert model.classes_.tolist() == ["no", "yes"]


def test_audit_and_report_take_a_sample(files, tmp_path, monkeypatch):
    model = quick(CopulaRankerClassifier, forbidden=["value", "weight"]).fit(files, target="y")
    monkeypatch.setattr(streaming, "MOST_JUDGED", 100)
    assert model.audit(files, target="y", n_refits=0).n_rows == 100
    page = model.report(files, target="y", path=tmp_path / "page.html", audit=False).read_text()
    assert '"n_rows":100' in page


def test_scores_take_the_name_of_the_target(files):
    given = table_of()
    X = given.select(["a", "b", "text", "holes"])
    model = quick(CopulaSelectorClassifier).fit(X, given["y"].to_numpy())
    assert model.score(files, target="y") == model.score(X, given["y"].to_numpy())
    values = quick(CopulaSelectorRegressor).fit(X, given["value"].to_numpy())
    assert values.score(files, target="value") == pytest.approx(values.score(X, given["value"].to_numpy()))
    for asked, fault in [
        ({"y": "y"}, 'say which column of .* is the target: target="..." instead of y'),
        ({"target": "z"}, "has no column 'z'"),
        ({"target": "text"}, "some rows have no value of the target 'text'"),
        ({"target": "y", "sample_weight": "weight"}, "sample_weight is for the score of rows in memory"),
        ({}, "say what the rows should be: y, or"),
    ]:
        with pytest.raises(ValueError, match=fault):
            model.score(files, **asked)
    with pytest.raises(ValueError, match="of a table in memory give y itself"):
        model.score(X, target="y")


def test_times_are_scored_and_audited_by_two_names():
    given = table_of()
    table = given.select(["a", "b"]).append_column("seen", pa.array(given["y"].to_numpy() > 0))
    table = table.append_column("time", pa.array(np.abs(given["value"].to_numpy())))
    y = np.empty(240, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = table["seen"].to_numpy(), table["time"].to_numpy()
    model = quick(CopulaSelectorRegressor, loss="cox").fit(table.select(["a", "b"]), y)
    dataset, target = pa.dataset.dataset(table), ["seen", "time"]
    assert model.score(dataset, target=target) == model.score(table.select(["a", "b"]), y)
    assert model.audit(dataset, target=target, n_refits=0).n_rows == 240


@pytest.mark.parametrize("most", [None, 40])
def test_a_filtered_dataset_gives_the_fit_of_its_rows(files, most):
    kept = pa.dataset.dataset(sorted(map(str, files.glob("*.parquet")))).filter(pa.dataset.field("a") > 0)
    whole = pa.dataset.dataset(kept.to_table())
    words = {"forbidden": ["weight", "y"], "objective": "honest", "batch_size": 20, "penalty": 0.01}
    fits = [
        quick(CopulaSelectorRegressor, **words).fit(rows, target="value", max_rows=most) for rows in (kept, kept, whole)
    ]
    assert_same_fit(fits[0], fits[1])
    if most is None:  # the sample is drawn from other batches
        assert_same_fit(fits[0], fits[2])
    assert fits[0].select(kept).read_all().num_rows == whole.count_rows()


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"y": [1]}, 'say which column of .* is the target: target="..." instead of y'),
        ({}, "say which column"),
        ({"target": "z"}, "has no column 'z'; it has a, b"),
        ({"target": "y", "sample_weight": np.ones(240)}, "sample_weight must be a column"),
        ({"target": "holes"}, "the target 'holes' is missing in row"),
        ({"target": 4}, "has no column 4; it has a, b"),
        ({"target": "y", "max_rows": 0}, "max_rows must be a whole number from 2; got 0"),
        ({"target": "y", "max_rows": 9.5}, r"max_rows must be a whole number from 2; got 9\.5"),
        ({"target": ["a", "b", "text", "holes", "y", "value", "weight"]}, "no columns besides the target"),
    ],
)
def test_mistakes_are_named(files, given, fault):
    with pytest.raises(ValueError, match=fault):
        quick(CopulaSelectorClassifier).fit(files, **given)


def test_a_table_in_memory_has_y_itself():
    model = quick(CopulaSelectorRegressor)
    with pytest.raises(ValueError, match="give y itself"):
        model.fit(np.zeros((9, 2)), target="y")
    with pytest.raises(ValueError, match="give y itself"):
        model.fit(np.zeros((9, 2)) + np.arange(9)[:, None], np.arange(9.0)).audit(np.zeros((9, 2)), target="y")


def test_memory_does_not_grow_with_the_table(tmp_path):
    """1.2 million rows of nine numbers (86 MB) are fitted and selected within 40 MB of what 200,000 take."""
    selected = "sum(batch.num_rows for batch in model.select(path))"
    (few, low), (many, high) = memory_of_fits(tmp_path, 'objective="joint", max_epochs=1', selected)
    assert (few, many) == (200_000, 1_200_000)
    assert high - low < 40
