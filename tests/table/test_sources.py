"""Sources give all rows in order, in bounded batches; samples are uniform; mistakes name the file or column."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from scipy import stats

from sklar.table.files import TableError
from sklar.table.sources import BATCH_ROWS, Sampler, open_source
from tests.helpers import assert_plausible


def numbers(n=10):
    return pa.table({"a": np.arange(n), "b": np.arange(n) / 2})


@pytest.fixture
def folder(tmp_path):
    """Three files of ten rows, small row groups, a hidden file beside them."""
    whole = numbers(30)
    for part in range(3):
        pq.write_table(whole.slice(10 * part, 10), tmp_path / f"part-{part}.parquet", row_group_size=4)
    (tmp_path / "_notes.parquet").write_bytes(b"not a table")
    return tmp_path


def rows_of(source, columns=None):
    return pa.concat_tables(source.batches(columns))


@pytest.mark.parametrize("kind", ["folder", "pattern", "file", "dataset", "query", "arrow", "path"])
def test_every_kind_of_source_gives_all_rows_in_order(folder, kind, tmp_path):
    whole = numbers(30)
    pq.write_table(whole, tmp_path / "all.pq.parquet")
    with pa.OSFile(str(tmp_path / "all.arrow"), "wb") as file, pa.ipc.new_file(file, whole.schema) as writer:
        writer.write_table(whole)
    (tmp_path / "all.arrow").rename(tmp_path.parent / f"{tmp_path.name}.arrow")
    (tmp_path / "all.pq.parquet").rename(tmp_path.parent / f"{tmp_path.name}.parquet")
    given = {
        "folder": str(folder),
        "pattern": f"{folder}/part-*.parquet",
        "file": str(tmp_path.parent / f"{tmp_path.name}.parquet"),
        "arrow": str(tmp_path.parent / f"{tmp_path.name}.arrow"),
        "path": folder,
        "dataset": pa.dataset.dataset(whole),
        "query": duckdb.sql(f"select * from '{folder}/part-*.parquet'"),
    }[kind]
    source = open_source(given)
    assert (source.n_rows, source.columns) == (30, ["a", "b"])
    assert rows_of(source).to_pydict() == whole.to_pydict()
    assert rows_of(source, ["b"]).to_pydict() == whole.select(["b"]).to_pydict()  # and a second time


def test_the_rows_of_a_filtered_dataset_are_the_same_in_every_pass(folder):
    kept = [a for a in range(30) if a % 3]
    files = pa.dataset.dataset(sorted(map(str, folder.glob("part-*.parquet"))))
    dataset = files.filter(pa.dataset.field("a").isin(kept))
    source = open_source(dataset)
    passes = [[table.to_pydict() for table in source.batches()] for _ in range(5)]
    assert passes == passes[:1] * 5
    assert rows_of(source).to_pydict() == {"a": kept, "b": [a / 2 for a in kept]}
    assert rows_of(source, ["b"]).to_pydict() == {"b": [a / 2 for a in kept]}
    assert (source.n_rows, source.columns, source.repeats) == (20, ["a", "b"], True)
    assert open_source(dataset.filter(pa.dataset.field("a") > 90)).n_rows == 0


@pytest.mark.parametrize("cell", ["[a]", "{'q': a}", "map {'q': a}", "'a'::blob", "interval 1 day"])
def test_cells_of_several_values_are_one_line(cell):
    source = open_source(duckdb.sql(f"select range as a, {cell} as b from range(9)"))
    with pytest.raises(TableError, match="the query: column 'b' holds "):
        list(source.batches())
    assert rows_of(source, ["a"]).num_rows == 9
    assert rows_of(source.without(["b"])).num_rows == 9


def test_batches_are_bounded():
    source = open_source(pa.dataset.dataset(numbers(3 * BATCH_ROWS)))
    assert max(table.num_rows for table in source.batches()) <= BATCH_ROWS


@pytest.mark.parametrize("table", [np.zeros((2, 2)), [[1.0]], {"a": np.zeros(2)}, pa.table({"a": [1]}), None])
def test_tables_in_memory_are_no_sources(table):
    assert open_source(table) is None


def test_an_unknown_column_is_named(tmp_path):
    pq.write_table(numbers(), tmp_path / "good.parquet")
    with pytest.raises(TableError, match=r"good\.parquet has no column 'c'; it has a, b"):
        list(open_source(tmp_path / "good.parquet").batches(["c"]))


def test_rows_with_values():
    table = pa.table({"a": [1.0, None, float("nan"), 4.0], "t": ["x", "y", "z", ""], "n": [0, 1, 2, 3]})
    source = open_source(pa.dataset.dataset(table))
    assert source.with_values(["a"]).n_rows == 2
    kept = source.with_values(["a", "t"])
    assert rows_of(kept).to_pydict() == {"a": [1.0], "t": ["x"], "n": [0]}
    assert rows_of(kept.without(["t"]), ["n"]).to_pydict() == {"n": [0]}
    with pytest.raises(TableError, match="has no column 'z'"):
        source.with_values(["z"])


def test_a_file_cut_short_while_it_is_read_is_named(tmp_path):
    pq.write_table(numbers(1000), tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    (tmp_path / "t.parquet").write_bytes(b"gone")
    with pytest.raises(TableError, match=r"t\.parquet: cannot be read"):
        list(source.batches())


def test_a_sample_has_its_size_and_order_and_is_of_the_seed():
    source = open_source(pa.dataset.dataset(numbers(1000)))
    first, again, other = (source.sample(50, seed).column("a").to_numpy() for seed in (0, 0, 1))
    assert len(first) == 50
    assert (np.diff(first) > 0).all()
    assert (first == again).all()
    assert (first != other).any()
    assert source.sample(5000, 0).num_rows == 1000


def test_samples_are_uniform():
    """Chi-square of how often each of 40 rows is drawn; false alarms as in `assert_plausible`."""
    drawn, table = np.zeros(40), numbers(40)
    for seed in range(2000):
        sampler = Sampler(40, 10, seed)
        parts = [sampler.draw(part, number) for number, part in enumerate((table.slice(0, 7), table.slice(7)))]
        drawn[sampler.together(parts).column("a").to_numpy()] += 1
    # draws without replacement vary less than a multinomial: by the factor (1 - 10/40) n / (n - 1)
    statistic = ((drawn - 500) ** 2 / 500).sum() / ((1 - 10 / 40) * 40 / 39)
    assert_plausible(stats.chi2.sf(statistic, 39))
    assert_plausible(stats.chi2.cdf(statistic, 39))


def test_what_duckdb_cannot_do_is_one_line():
    failing = duckdb.sql("select cast('a' || range as int) as a from range(9)")
    with pytest.raises(TableError, match=r"^the query failed: Conversion Error: .*$"):
        list(open_source(failing).batches())
    connection = duckdb.connect()
    gone = connection.sql("select 1 as a")
    connection.close()
    with pytest.raises(TableError, match=r"^the query failed: .*closed"):
        open_source(gone)
