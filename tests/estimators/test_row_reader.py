"""Fits that read on beside their steps: the same for a seed, honest, in bounded memory, and every row in its turn."""

import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from sklar import CopulaRankerRegressor, CopulaSelectorClassifier, CopulaSelectorRegressor
from sklar.estimators.row_reader import RowReader
from sklar.estimators.streaming import Request, read_rows
from sklar.table.csv_format import TableError
from sklar.table.schema import Schema
from sklar.table.sources import ArrowSource
from sklar.training.data import TrainingData
from sklar.training.engine import checkpoint as checkpoints
from sklar.training.engine.checkpoint import Checkpoint
from sklar.training.engine.team import Team
from sklar.training.honest.predictors import FoldPredictors
from tests.helpers import memory_of_fits, quick

HONEST = {"objective": "honest", "batch_size": 100, "max_epochs": 4, "penalty": 0.01}


def table_of(n=900, columns=4):
    """Rows whose first feature is their number, and no other row's."""
    X = np.random.default_rng(0).standard_normal((n, columns))
    X[:, 0] = np.arange(n)
    return pa.table({**{f"x{j}": X[:, j] for j in range(columns)}, "y": (X[:, 1] > 0).astype(int)})


@pytest.fixture
def path(tmp_path):
    pq.write_table(table_of(), tmp_path / "rows.parquet", row_group_size=70)
    return str(tmp_path / "rows.parquet")


def fitted(path, max_rows=300, **words):
    return quick(CopulaSelectorClassifier, **{**HONEST, **words}).fit(path, target="y", max_rows=max_rows)


def answers(model, path):
    return model.predict_proba(path).read_all().to_pandas().to_numpy()


def new_rows(model):
    return sum(record["rows"] for record in model.history_ if record["part"] == "new rows")


def slowed(monkeypatch):
    block = RowReader._block
    monkeypatch.setattr(RowReader, "_block", lambda *given: time.sleep(0.002) or block(*given))


def test_the_same_seed_gives_the_same_fit_however_slow_the_reader_is(path, monkeypatch):
    first = fitted(path)
    slowed(monkeypatch)
    second = fitted(path)
    assert new_rows(first) == new_rows(second) > 200
    assert np.array_equal(answers(first, path), answers(second, path))
    monkeypatch.setattr(RowReader, "beside", lambda self, data, *given: data)
    alone = fitted(path)
    assert new_rows(alone) == 0
    assert (answers(first, path) != answers(alone, path)).any()


def test_nothing_is_read_on_where_all_rows_are_in_memory(path):
    assert new_rows(fitted(path, max_rows=None)) == 0


@pytest.fixture
def learned(monkeypatch):
    """The rows that each fold gave to predictors, by number: {fold: rows}; of all problems."""
    seen = {}
    learn = FoldPredictors.learn

    def learning(self, x, y, mask):
        if self.folds.inputs is None or 0 in self.folds.inputs:
            for problem in range(x.shape[0]):
                for fold in range(x.shape[1]):
                    seen.setdefault((problem, fold), set()).update(x[problem, fold, :, 0].tolist())
        learn(self, x, y, mask)

    monkeypatch.setattr(FoldPredictors, "learn", learning)
    return seen


@pytest.mark.parametrize("words", [{}, {"n_models": 2}, {"columns": 20}])
def test_no_predictor_learns_a_row_of_its_own_fold(tmp_path, learned, words):
    """A row comes up in one fold alone: the predictor of that fold never learns it, whenever it comes up.

    A fifth of the places is held out, so that about 900 * 0.8 rows come up; the false-alarm rate is below 1e-6.
    """
    words = dict(words)
    pq.write_table(table_of(columns=words.pop("columns", 4)), tmp_path / "rows.parquet", row_group_size=70)
    given = {"predictor_regularization": 1.0, "quantile_bins": 0, "selector_sparsity": 1.0, "forced": ["x0"]}
    given = {**given, "forced": None} if "n_models" in words else given
    fitted(tmp_path / "rows.parquet", max_epochs=30, **words, **given)
    for problem in range(words.get("n_models", 1)):
        folds = [rows for (of, _), rows in learned.items() if of == problem]
        assert len(folds) == 4
        assert sum(map(len, folds)) == len(set.union(*folds)) > 600


def test_rows_held_out_stay_what_they_were(path, monkeypatch):
    held = []
    warm_up = FoldPredictors.warm_up

    def warming(self, *given):
        before = self.folds.held_out[0].clone()
        training = self.folds.training[0].clone()
        warm_up(self, *given)
        held.append(((self.folds.held_out[0] == before).all(), (self.folds.training[0] == training).all()))

    monkeypatch.setattr(FoldPredictors, "warm_up", warming)
    fitted(path, predictor_regularization=1.0, quantile_bins=0, selector_sparsity=1.0)
    assert held == [(True, False)]


def mixed_table(n=500):
    """Every kind of column, and rows that are repeated."""
    rng = np.random.default_rng(1)
    number = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 4, n))
    text = np.array(["x", "y", None], dtype=object)[rng.integers(0, 3, n)]
    y = np.array(["no", "yes"], dtype=object)[rng.integers(0, 2, n)]
    columns = {"number": pa.array(number, from_pandas=True), "whole": rng.integers(0, 3, n), "text": text}
    return pa.table({**columns, "y": y})


def reading(table, max_rows=60, **words):
    """What `fit` makes of a dataset before it trains."""
    model = quick(CopulaSelectorClassifier, **words)
    params = model.get_params()
    given = read_rows(pa.dataset.dataset(table), None, Request("y", None, max_rows, "model", params))
    schema = Schema.of(given.table, params, given.encoding)
    return given, schema, model._encode_target(given.table.y, given.table.weight)


def test_every_row_of_the_table_comes_up_as_it_would_be_encoded_in_memory():
    table = mixed_table()
    given, schema, encoded = reading(table)
    assert given.table.order is not None  # repeated rows
    whole = schema.training_inputs(schema.read(table.drop_columns("y")))
    wanted = [(*x, label == "yes") for x, label in zip(whole.tolist(), table["y"].to_pylist(), strict=True)]
    blocks = given.reader.blocks(schema, encoded.target, given.table.order)
    x = schema.training_inputs(given.table.rows)
    seen = [(*row, bool(code)) for row, code in zip(x.tolist(), encoded.numbers.tolist(), strict=True)]
    while len(seen) < len(wanted):
        new = next(blocks)
        seen += [(*row, bool(code)) for row, code in zip(new.x.tolist(), new.y.tolist(), strict=True)]
    assert sorted(seen) == sorted(wanted)
    for new in (next(blocks) for _ in range(9)):  # the table begins again, with the sample itself, where it was
        if len(new.places) == len(x):
            assert np.array_equal(new.x, x[new.places])
            break
    blocks.close()


def test_values_are_scaled_as_those_of_the_sample_are():
    table = pa.table({"a": np.arange(90.0), "y": np.arange(90.0) ** 2})
    model = quick(CopulaSelectorRegressor)
    given = read_rows(pa.dataset.dataset(table), None, Request("y", None, 30, "model", model.get_params()))
    schema = Schema.of(given.table, model.get_params(), given.encoding)
    target = model._encode_target(given.table.y, None).target
    new = next(given.reader.blocks(schema, target))
    a = new.x[:, 0] * given.encoding.scaling.spread[0] + given.encoding.scaling.centre[0]
    np.testing.assert_allclose(target.predictions(new.y[:, np.newaxis]), a.astype(np.float64) ** 2, atol=0.01)


def test_rows_of_a_class_that_the_sample_has_not_are_left_out():
    table = pa.table({"a": np.arange(1000.0), "y": ["no", "yes"] * 499 + ["rare"] * 2})
    with pytest.warns(UserWarning, match="no row of the sample has the class rare"):
        given, schema, encoded = reading(table, max_rows=30)
    blocks = given.reader.blocks(schema, encoded.target)
    codes = np.concatenate([next(blocks).y for _ in range(-(-1000 // 30) - 1)])
    assert len(codes) == 1000 - 30 - 2
    assert set(codes) == {0, 1}


def test_what_cannot_be_renewed_trains_on_the_sample(path):
    table = mixed_table()
    given, schema, encoded = reading(table)
    data = TrainingData(None, None, None, schema.gating.gates)
    assert given.reader.beside(data, given.table, schema, encoded).more is not None
    weighted = data._replace(weight=np.ones(60))
    assert given.reader.beside(weighted, given.table, schema, encoded).more is None
    assert new_rows(fitted(path, class_weight="balanced")) == 0
    counts = {**HONEST, "loss": "poisson"}
    assert new_rows(quick(CopulaSelectorRegressor, **counts).fit(path, target="y", max_rows=300)) == 0
    several = quick(CopulaSelectorRegressor, **HONEST).fit(path, target=["y", "x1"], max_rows=300)
    assert new_rows(several) == 0
    ranker = {"objective": "honest", "batch_size": 100, "max_epochs": 4, "k": 2}
    assert new_rows(quick(CopulaRankerRegressor, **ranker).fit(path, target="y", max_rows=300)) > 0


def test_processes_that_train_together_train_on_the_sample(path, monkeypatch):
    monkeypatch.setattr(Team, "is_alone", False)
    assert new_rows(fitted(path)) == 0


def test_a_query_is_read_once(path):
    duckdb = pytest.importorskip("duckdb")
    assert new_rows(fitted(duckdb.sql(f"select * from '{path}'"))) == 0


def test_a_fit_that_was_stopped_ends_with_the_same_model(path, tmp_path, monkeypatch):
    """What was read before a kill is read again, and the same rows are in the same places."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))
    keep, left = Checkpoint.keep, [10, 17, 10**9]
    whole = answers(fitted(path), path)

    def keeping(self, *given):
        keep(self, *given)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "keep", keeping)
    words = {"target": "y", "max_rows": 300, "checkpoint": tmp_path / "run"}
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            quick(CopulaSelectorClassifier, **HONEST).fit(path, **words)
        left.pop(0)
    resumed = quick(CopulaSelectorClassifier, **HONEST).fit(path, **words)
    assert np.array_equal(answers(resumed, path), whole)


def readers():
    return [thread for thread in threading.enumerate() if "sklar-reader" in thread.name]


def test_a_table_that_changes_meanwhile_is_one_error(path, monkeypatch):
    passes, tables = [], ArrowSource._tables

    def shorter(self, columns):
        passes.append(columns)
        rest = iter(tables(self, columns))
        yield from rest if len(passes) == 1 else (table.slice(1) for table in rest)

    monkeypatch.setattr(ArrowSource, "_tables", shorter)
    before = threading.active_count()
    with pytest.raises(TableError, match="has changed since the fit began; fit again"):
        fitted(path)
    assert threading.active_count() == before


def test_a_table_that_cannot_be_read_any_more_is_one_error(path, monkeypatch):
    passes, tables = [], ArrowSource._tables

    def broken(self, columns):
        passes.append(columns)
        for number, table in enumerate(tables(self, columns)):
            if len(passes) > 1 and number == 3:
                raise OSError("the disk is gone")
            yield table

    monkeypatch.setattr(ArrowSource, "_tables", broken)
    before = threading.active_count()
    with pytest.raises(TableError, match=r"rows.parquet: cannot be read \(the disk is gone\)"):
        fitted(path)
    assert threading.active_count() == before


def test_a_target_that_is_no_number_is_named(tmp_path):
    table = pa.table({"a": np.arange(200.0), "y": np.where(np.arange(200) == 77, np.nan, 1.0 * np.arange(200))})
    pq.write_table(table, tmp_path / "rows.parquet")
    seeds = (seed for seed in range(99) if 77 not in sampled_rows(tmp_path / "rows.parquet", seed))
    with pytest.raises(TableError, match="the target 'y' has a value that is not a finite number"):
        quick(CopulaSelectorRegressor, **{**HONEST, "random_state": next(seeds)}).fit(
            tmp_path / "rows.parquet", target="y", max_rows=60
        )


def sampled_rows(path, seed):
    from sklar.table.sources import open_source
    from sklar.training.engine.runtime import spawn_seeds

    return open_source(path).sample(60, spawn_seeds(seed, 1)[0]).column("a").to_pylist()


def test_no_thread_is_left_after_an_interrupt(path, monkeypatch):
    calls, learn = [], FoldPredictors.learn

    def interrupted(self, *given):
        calls.append(len(readers()))
        if len(calls) == 20:
            raise KeyboardInterrupt
        learn(self, *given)

    monkeypatch.setattr(FoldPredictors, "learn", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        fitted(path)
    assert max(calls) == 1
    assert threading.active_count() == before
    assert not readers()


def test_memory_does_not_grow_with_the_table_that_is_read_on(tmp_path):
    """A fit that reads 1.2 million rows of nine numbers (86 MB) beside its steps is within 40 MB of one of 200,000."""
    new_rows = 'next(record["rows"] for record in model.history_ if record["part"] == "new rows")'
    (few, low), (many, high) = memory_of_fits(tmp_path, "max_epochs=20", new_rows)
    assert min(few, many) > 2000
    assert high - low < 40


def test_batches_of_few_rows_and_of_no_places(tmp_path):
    """Of 167 batches of three rows most have no place in a sample of 40, and some have no value of a column."""
    pq.write_table(mixed_table(), tmp_path / "rows.parquet", row_group_size=3)
    given, schema, encoded = reading(str(tmp_path / "rows.parquet"), max_rows=40)
    blocks = given.reader.blocks(schema, encoded.target, given.table.order)
    sizes = [len(next(blocks).places) for _ in range(2 * 167)]
    blocks.close()
    assert min(sizes) == 0
    assert max(sizes) <= 3
    assert sum(sizes) > 60
