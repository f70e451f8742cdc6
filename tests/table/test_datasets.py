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
