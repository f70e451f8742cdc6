"""Blocks become one file, of whatever size they are; a failure half way leaves nothing."""

import numpy as np
import pytest

from sklar.table.files import TableError, read_table
from sklar.table.writing import write_blocks, write_table


def blocks(n=3):
    return [{"a": np.arange(i + 1), "b": np.array(["x"] * (i + 1), dtype=object)} for i in range(n)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_blocks_are_one_table(tmp_path, ending):
    write_blocks(tmp_path / f"t.{ending}", iter(blocks()))
    table = read_table(tmp_path / f"t.{ending}")
    assert table.column("a").tolist() == [0, 0, 1, 0, 1, 2]
    assert table.column("b").tolist() == ["x"] * 6
    write_table(tmp_path / f"whole.{ending}", {name: table.column(name) for name in "ab"})
    assert read_table(tmp_path / f"whole.{ending}").column("a").tolist() == [0, 0, 1, 0, 1, 2]


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_no_rows_are_no_file(tmp_path, ending):
    with pytest.raises(TableError, match=rf"t\.{ending} is not written: there are no rows"):
        write_blocks(tmp_path / f"t.{ending}", iter([]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_block_that_fails_leaves_what_was_there(tmp_path, ending):
    def failing():
        yield blocks()[0]
        raise ValueError("row 7")

    path = tmp_path / f"t.{ending}"
    write_blocks(path, blocks())
    before = path.read_bytes()
    with pytest.raises(ValueError, match="row 7"):
        write_blocks(path, failing())
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_each_block_is_written_before_the_next_is_made(tmp_path):
    alive = []

    def counted():
        for block in blocks(4):
            alive.append(len(alive))
            yield block

    write_blocks(tmp_path / "t.parquet", counted())
    assert alive == [0, 1, 2, 3]


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(TableError, match="the ending must be"):
        write_blocks(tmp_path / "t.xyz", blocks())
