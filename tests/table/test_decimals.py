import pytest

from sklar.table.decimals import PointsSeen, Reading, is_number, is_read, reading_of, remedy, with_points


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["1,5", "2"], Reading(",")),
        (["0,125"], Reading(",")),
        (["1.234,50", "NA"], Reading(",")),
        (["1.234.567", "999"], Reading(",")),
        (["1,234", "999"], Reading(unclear="1,234")),
        (["1.234", "999"], Reading(unclear="1.234")),
        (["-52.520", "", "+13.405"], Reading(unclear="-52.520")),
        (["1.234", "1000"], Reading(".")),  # of thousands it would be 1.000
        (["1.234", "0.5"], Reading(".")),
        (["0.123"], Reading(".")),
        (["1.234e+05"], Reading(".")),
        (["1", "2"], Reading()),
        (["1.234", "x"], Reading()),
        (["1,5", "x"], Reading()),
        (["1,234.50"], Reading()),
        ([], Reading()),
    ],
)
def test_what_a_column_says_of_the_decimal_sign(cells, says):
    assert reading_of(cells) == says


def test_cells_that_are_missing_say_nothing():
    assert reading_of(["1,5", "?"]) == Reading()
    assert reading_of(["1,5", " ? "], missing=["?"]) == Reading(",")


def test_a_number_of_thousands_begins_with_no_zero():
    assert with_points(["0.123"]) is None
    assert with_points(["0.030", "1,5"]) is None
    assert with_points(["1.230", "-1.234.567,5", "1,5e3", "NA"]) == ["1230", "-1234567.5", "1.5e3", "NA"]


def test_one_decimal_point_says_what_the_others_are():
    seen = PointsSeen()
    seen.see("a", ["1.234", "999"])
    assert seen.unclear == ("a", "1.234")
    assert not seen.are_decimal
    seen.see("b", ["0.5"])
    assert seen.are_decimal


def test_what_is_a_number():
    assert [is_number(value) for value in ("1e5", " 2", "x", None, "")] == [True, True, False, False, False]
    assert [is_read(cell, ",") for cell in ("1,5", "2", "1.234", "1.5", "x")] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("cells", "decimal", "says"),
    [
        (["1,5"], ".", "say --decimal , if these are decimal commas"),
        (["1,040"], None, "write them without commas between thousands or say --decimal , if these are decimal commas"),
        (["1,040", "1,234,567.5"], ".", "write them without commas between thousands"),
        (["1.25"], ",", "say --decimal . if these are decimal points"),
        (["x"], ",", None),
        (["x", "1,5"], ".", None),
    ],
)
def test_what_to_do_about_numbers_with_another_sign(cells, decimal, says):
    assert remedy(cells, decimal) == says
