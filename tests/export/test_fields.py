"""Checks of single values name the field."""

import math

import pytest

from sklar.export import fields
from sklar.export.storage import ModelFileError


@pytest.mark.parametrize("value", [None, True, 1.0, -1, 6, 2**63, "1", [1]])
def test_whole_numbers(value):
    assert fields.whole("k", 3, 0, 5) == 3
    with pytest.raises(ModelFileError, match="k must be a whole number from 0 to 5; got"):
        fields.whole("k", value, 0, 5)


@pytest.mark.parametrize("value", [None, True, "1", math.nan, math.inf, -1e999, 10**400, 0.0, -1])
def test_numbers(value):
    assert fields.number("t", 2, above=0) == 2
    with pytest.raises(ModelFileError, match="t must be a finite number above 0; got"):
        fields.number("t", value, above=0)


def test_the_least_number():
    assert fields.number("p", 0, least=0) == 0
    with pytest.raises(ModelFileError, match="p must be a finite number from 0; got -1"):
        fields.number("p", -1, least=0)


def test_text_and_truth():
    assert fields.text("a", "x", ("x", "y")) == "x"
    with pytest.raises(ModelFileError, match="a must be one of 'x', 'y'; got 'z'"):
        fields.text("a", "z", ("y", "x"))
    assert fields.truth("b", False) is False
    with pytest.raises(ModelFileError, match="b must be true or false; got 0"):
        fields.truth("b", 0)


def test_records_hold_what_is_listed_and_nothing_else():
    assert fields.record("r", {"a": 1}, ["a"]) == {"a": 1}
    with pytest.raises(ModelFileError, match=r"r\.b is missing"):
        fields.record("r", {"a": 1}, ["a", "b"])
    with pytest.raises(ModelFileError, match="r has a field that this version does not know: 'select'"):
        fields.record("r", {"a": 1, "select": 5}, ["a"])
    with pytest.raises(ModelFileError, match="r must be an object"):
        fields.record("r", [], ["a"])


@pytest.mark.parametrize("value", [[3], [-1], [0, 0], [True], 0, ["0"]])
def test_indices_are_in_bounds_and_different(value):
    assert fields.indices("i", [2, 0], 3) == (2, 0)
    with pytest.raises(ModelFileError, match=r"^i"):
        fields.indices("i", value, 3)


@pytest.mark.parametrize("value", [[], [0], [1, 2], [0, 2], [0, 1, 1], [0, 1, 2, 1], [2, 1, 0]])
def test_steps_count_without_a_gap(value):
    assert fields.steps("s", [0, 0, 1, 2, 2], 3) == (0, 0, 1, 2, 2)
    with pytest.raises(ModelFileError, match=r"^s"):
        fields.steps("s", value, 3)


def test_what_is_shown_of_a_value_is_short():
    with pytest.raises(ModelFileError) as caught:
        fields.text("a", [["x" * 1000] * 1000] * 1000)
    assert len(str(caught.value)) < 300
