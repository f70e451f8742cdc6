"""Columns that grow by blocks are those that are read at once."""

import numpy as np
import pytest

from sklar.table import growing
from sklar.table.files import read_table
from sklar.table.growing import GrowingColumns
from tests.helpers import PEAK, run_python


def floats(name, cells):
    return np.array(cells, dtype=float)


def as_read(columns):
    return {name: (values.dtype, values.tolist()) for name, values in columns.items()}


@pytest.mark.parametrize("cells", [2, 3, 7])
def test_blocks_change_nothing(tmp_path, monkeypatch, cells):
    """Whole numbers that become floats, numbers that become text, and missing cells in a later block."""
    path = tmp_path / "t.csv"
    path.write_text("whole,float,late,text\n1,2,3,a\n4,5.5,NA,b\n\n7,,x1,a\n")
    before = as_read(read_table(path).columns)
    monkeypatch.setattr(growing, "BLOCK_CELLS", cells)
    assert str(as_read(read_table(path).columns)) == str(before)
    assert before["whole"] == (np.dtype("int64"), [1, 4, 7])
    assert before["late"] == (np.dtype("O"), ["3", "NA", "x1"])


def test_no_rows_are_no_columns():
    assert GrowingColumns(["a"], floats).finish() == {}


def test_equal_texts_are_one_object():
    columns = GrowingColumns(["a"], floats, text=["a"])
    for word in ("".join(["re", "d"]), "".join(["r", "ed"])):
        columns.add([word])
    first, second = columns.finish()["a"]
    assert first is second


def test_memory_is_about_that_of_the_numbers(tmp_path):
    """As text, all cells at once, this file took 12 times the memory of its numbers."""
    path = tmp_path / "t.csv"
    row = ",".join(["0.1234567890123"] * 20)
    path.write_text(",".join(f"x{j}" for j in range(20)) + "\n" + (row + "\n") * 20_000)
    code = f"""{PEAK}
from sklar.table.files import read_table
before = peak()
table = read_table({str(path)!r})
print(peak() - before)
"""
    assert float(run_python(code)) < 3 * 20 * 20_000 * 8 / 2**20 + 40  # 40: one block of text
