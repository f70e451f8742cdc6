import csv
import io

import numpy as np
import pytest

from sklar.table.csv_format import TableError
from sklar.table.csv_lines import bounded_lines, said_separator, trimmed
from tests.helpers import run_python


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("a ;b  ;c \n", "a;b;c\n"),
        ("a;b;c\r\n", "a;b;c\r\n"),
        ("a b ;; ;\r\n", "a b;;;\r\n"),
        ('"a ";b \n', '"a ";b\n'),
        ('"a ; ""b "" " ; c\n', '"a ; ""b "" "; c\n'),
        ('5" pipe ;6" pipe ;x \n', '5" pipe;6" pipe;x\n'),  # quotes inside cells are letters
        ('a ; "b " ;c \n', 'a; "b ";c\n'),
        (" ", ""),
        ("", ""),
    ],
)
def test_cells_end_without_spaces(line, result):
    assert list(trimmed([line], ";")) == [result]


def test_a_quoted_cell_goes_on_over_lines():
    lines = ['x ,"a \n', "b ,c \n", '"" ,d " ,y \n', "u ,v \n"]
    assert "".join(trimmed(lines, ",")) == 'x,"a \nb ,c \n"" ,d ",y\nu,v\n'


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_cells_are_those_of_the_reader_but_for_the_spaces(sep):
    """Random tables, quoted wherever a cell needs it."""
    random = np.random.default_rng(0)
    for _ in range(200):
        letters = ["a", " ", '"', sep, "\n", "b"]
        cells = [["".join(random.choice(letters, random.integers(5))) for _ in range(3)] for _ in range(4)]
        quoted = [[any(sign in cell for sign in '"\n' + sep) for cell in row] for row in cells]
        file = io.StringIO(newline="")
        csv.writer(file, delimiter=sep, quotechar='"').writerows(cells)
        read = list(csv.reader(trimmed(io.StringIO(file.getvalue(), newline=""), sep), delimiter=sep))
        expected = [
            [c if q else c.rstrip(" ") for c, q in zip(row, marks, strict=True)]
            for row, marks in zip(cells, quoted, strict=True)
        ]
        assert read == expected


def test_many_spaces_take_no_time():
    code = """
from sklar.table.csv_lines import trimmed
for line in (" " * 10**6 + "x\\n", '"' * (10**6 + 1), '" "' * 10**6, "a " * 10**6 + ";"):
    list(trimmed([line], ";"))
"""
    assert run_python(code) == ""


def test_a_line_is_bounded(monkeypatch):
    monkeypatch.setattr("sklar.table.csv_lines.LONGEST_LINE", 3)
    with pytest.raises(TableError, match=r"t\.csv, line 2: longer than 3 characters"):
        list(bounded_lines("t.csv", io.StringIO("ab\nabcd\n")))


@pytest.mark.parametrize(
    ("line", "sep"), [("sep=;\n", ";"), ('"sep=\t"\r\n', "\t"), ("sep=;a\n", None), ("a;b\n", None)]
)
def test_the_separator_that_excel_says(line, sep):
    assert said_separator(line) == sep
