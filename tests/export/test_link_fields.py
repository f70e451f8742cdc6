"""What a file may say of features that stand for each other."""

import json

import pytest

from sklar.export.link_fields import MOST, read_copies, read_recodings, read_replacements
from sklar.export.storage import ModelFileError
from sklar.table.recoding import Recoding
from sklar.training.replacement import Replacement

NAMES = ("a", "b", "c")
GOOD = Replacement("a", "b", -0.01, 0.01, 0.2, 0.01, 0.1, 50)._asdict()


def test_what_was_written_is_read():
    assert read_replacements([GOOD], NAMES) == (Replacement(**GOOD),)
    assert read_copies([["b", "a"]], NAMES) == (("b", "a"),)
    assert read_replacements([], NAMES) == read_copies([], NAMES) == ()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "replacements must be a list"),
        ([{}], r"replacements\[0\].feature is missing"),
        ([GOOD | {"by": "z"}], r"replacements\[0\].by must be the name of a column; got 'z'"),
        ([GOOD | {"by": 1}], r"replacements\[0\].by must be text"),
        ([GOOD | {"by": "a"}], r"replacements\[0\].by is the feature itself"),
        ([GOOD | {"worth": 0.0}], r"worth must be a finite number above 0"),
        ([GOOD | {"error": -1.0}], "error must be a finite number from 0"),
        ([GOOD | {"most_lost": 2}], "most_lost must be a finite number from 0 to 1"),
        ([GOOD | {"n_rows": 0}], "n_rows must be a whole number"),
        ([GOOD, GOOD], "holds a pair twice"),
        ([GOOD] * (MOST + 1), f"at most {MOST}"),
    ],
)
def test_other_replacements_are_refused(given, says):
    with pytest.raises(ModelFileError, match=says):
        read_replacements(given, NAMES)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "copies must be a list"),
        ([["a"]], r"copies\[0\] must be a list of at least 2"),
        ([["a", "z"]], "the name of a column"),
        ([["a", "b"], ["b", "c"]], "holds a column twice"),
    ],
)
def test_other_copies_are_refused(given, says):
    with pytest.raises(ModelFileError, match=says):
        read_copies(given, NAMES)


CATEGORIES = (None, None, ("x", "y"), ("u", "v"))
RECODINGS = (Recoding(0, 1, line=(2.5, 0.0), missed=0.1), Recoding(2, 3, pairs=((0.0, 1.0), (1.0, 0.0))))
LINE, PAIRS = json.loads(json.dumps([one._asdict() for one in RECODINGS]))  # tuples as lists


def test_recodings_as_they_were_written():
    listed = [LINE | {"line": [2.5, 0]}, PAIRS | {"pairs": [[0, 1], [1, 0]]}]
    assert read_recodings(listed, CATEGORIES, {0, 2}) == RECODINGS


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "recodings must be a list"),
        ([{}], r"recodings\[0\]\.column is missing"),
        ([LINE | {"column": 4}], "column must be a whole number from 0 to 3"),
        ([LINE | {"column": 1}], "off one that is not"),
        ([LINE | {"copy": 2}], "off one that is not"),
        ([LINE | {"line": [1.0]}], "line must be a list of 2"),
        ([LINE | {"line": ["a", 1.0]}], "line must be a finite number"),
        ([LINE | {"copy": 3}], "null where a column holds categories"),
        ([LINE | {"missed": -1.0}], "missed must be a finite number from 0"),
        ([PAIRS | {"pairs": [[0.0]]}], "pairs must be a list of 2"),
        ([PAIRS | {"pairs": [[0.0, 2.0]]}], "pairs must be a code below 2"),
        ([PAIRS | {"pairs": [[0.5, 1.0]]}], "pairs must be a code below 2"),
        ([PAIRS | {"pairs": [[-1, 1.0]]}], "pairs must be a code below 2"),
    ],
)
def test_other_recodings_are_refused(given, says):
    with pytest.raises(ModelFileError, match=says):
        read_recodings(given, CATEGORIES, {0, 2})
