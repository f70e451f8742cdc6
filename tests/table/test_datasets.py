"""Paths become one dataset; what is wrong with a path is said."""

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from sklar.table.csv_format import TableError
from sklar.table.datasets import dataset_of


def test_a_hive_folder_has_its_partition_as_a_column(tmp_path):
    pa.dataset.write_dataset(
        pa.table({"year": [1, 1, 2], "a": [5, 6, 7]}),
        tmp_path,
        format="parquet",
        partitioning=pa.dataset.partitioning(pa.schema([("year", pa.int32())]), flavor="hive"),
    )
    assert dataset_of(str(tmp_path)).to_table().to_pydict() == {"a": [5, 6, 7], "year": [1, 1, 2]}


def test_mistakes_are_named(tmp_path):
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "a.csv").write_text("a\n1\n")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "good.parquet")
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match=r"nowhere\.parquet: no such file"):
        dataset_of(str(tmp_path / "nowhere.parquet"))
    with pytest.raises(TableError, match=r"none: no Parquet or Arrow file"):
        dataset_of(str(tmp_path / "none"))
    with pytest.raises(TableError, match=r"a\.csv: the ending must be .*duckdb"):
        dataset_of(str(tmp_path / "a.csv"))
    with pytest.raises(TableError, match=r"broken\.parquet: not a table"):
        dataset_of(str(tmp_path / "broken.parquet"))


def written(folder, *tables):
    folder.mkdir()
    for number, table in enumerate(tables):
        pq.write_table(pa.table(table), folder / f"{number}.parquet")
    return str(folder)


def test_files_of_one_folder_have_the_same_columns(tmp_path):
    """Arrow leaves out, or fills up, what the first file has not, and other files have not."""
    fewer, more = {"a": [1]}, {"a": [1], "b": [2]}
    for name, tables in {"first": (fewer, more), "last": (more, more, fewer)}.items():
        with pytest.raises(TableError, match=rf"{name}: .*\.parquet has no column 'b', which .*union_by_name"):
            dataset_of(written(tmp_path / name, *tables))
    with pytest.raises(TableError, match=r"1\.parquet has other types than .*0\.parquet .*a has incompatible types"):
        dataset_of(written(tmp_path / "text", {"a": [1.5]}, {"a": ["7"]}))


def test_types_hold_what_every_file_has(tmp_path):
    """Whole numbers, nothing at all and fractions, as pandas writes one column with and without missing values."""
    tables = {"a": [1, 2], "b": [1, 2]}, {"b": [0.5, 4], "a": pa.nulls(2)}, {"a": [0], "b": [1]}
    path = written(tmp_path / "rows", *tables)
    assert dataset_of(path).to_table().to_pydict() == {"a": [1, 2, None, None, 0], "b": [1, 2, 0.5, 4, 1]}


def test_a_file_cut_in_half_is_named(tmp_path):
    path = written(tmp_path / "rows", {"a": [1]}, {"a": [2]})
    half = tmp_path / "rows" / "1.parquet"
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    with pytest.raises(TableError, match=r"rows: not a table .*1\.parquet"):
        dataset_of(path)
