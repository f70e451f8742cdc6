import warnings

import numpy as np
import pytest

from sklar.table.columns import from_categories, from_objects
from sklar.table.doubts import (
    are_written_numbers,
    doubt_about,
    doubt_about_values,
    spelled_alike,
    warn_about_classes,
    warn_about_values,
)
from tests.helpers import run_python


@pytest.mark.parametrize(
    "values",
    [
        ["5%", "7 %"],
        ["$1,040.00", "$-3.50", "-$2"],
        ["(1 000)", "2,5"],
        ["USD 5", "12 €"],
        ["2.46 kg", "500 g", "1,000.5 kg"],
        ["3km/h", "4km/h", "5km/h"],
        ["1 year", "2 years", "3 years"],
        ["1'000", "5"][:1],
    ],
)
def test_numbers_with_signs_and_units_are_written_as_text(values):
    assert are_written_numbers(values)


@pytest.mark.parametrize(
    "values",
    [
        ["12", "13"],
        ["1-2", "3-4"],
        ["12A", "3B", "4C"],
        ["1st", "2nd", "3rd"],
        ["1a", "2a"],
        ["10 am", "11 am", "1 pm"],
        ["1 Jan", "3 Feb", "5 May", "7 Jul"],
        ["1.2.3", "10.0.0.1"],
        ["3+", "1"],
        ["USDX 5", "USD 6"],
        ["5%", "five"],
        [5, "5%"],
        [],
    ],
)
def test_codes_dates_and_hours_are_not(values):
    assert not are_written_numbers(values)


def test_long_text_takes_no_time():
    code = """
from sklar.table.doubts import are_written_numbers
for text in ("1 " * 10**5, "1" * 10**5 + "!", " " * 10**5, "1" + " " * 10**5 + "!"):
    are_written_numbers([text])
"""
    assert run_python(code) == ""


def test_text_that_differs_in_case_or_spaces_alone():
    assert spelled_alike(["ja", "nein", "Ja "]) == ("ja", "Ja ")
    assert spelled_alike(["new  york", "New York"]) == ("new  york", "New York")
    assert spelled_alike(["ja", "nein", "ja", 1]) is None


def test_a_column_has_one_doubt():
    prices = [f"${i}" for i in range(30)]
    assert doubt_about(from_objects("p", prices)).startswith(
        "numbers written as text ('$0'), read as categories: write"
    )
    assert doubt_about(from_objects("w", ["ja", "Ja"])).startswith("categories that differ in case or spaces alone")
    assert doubt_about(from_objects("w", ["1.2.2024"])).startswith("dates such as '1.2.2024'")
    nearly = [f"customer {max(i, 1)}" for i in range(100)]
    says = "a different text in nearly every row, like an id: leave it out (forbidden=['c'], or --ignore c)"
    assert doubt_about(from_objects("c", nearly)) == says
    assert doubt_about_values(from_objects("c", nearly)) is None
    assert doubt_about(from_objects("c", [*nearly, *nearly[:10]])) is None
    for column in (from_objects("n", [1.5, 2]), from_categories("w", ["5%", "ja", "Ja"]), from_categories("p", prices)):
        assert doubt_about_values(column) is None


def test_warnings_name_the_column():
    with pytest.warns(UserWarning, match=r"^column 'p' holds numbers written as text"):
        warn_about_values(from_objects("p", ["5%", None]))
    warn_about_values(from_objects("p", ["x", None]))


@pytest.mark.parametrize(
    ("y", "says"), [(["ja", "ja "], r"classes .* \('ja', 'ja '\)"), (["1,040", "1,050"], "numbers")]
)
def test_classes_that_are_hardly_meant(y, says):
    for given in (y, np.array(y), np.array(y, dtype=object)):
        with pytest.warns(UserWarning, match=f"^y holds {says}"):
            warn_about_classes(given)


def test_other_targets_raise_no_doubts():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for y in (None, [1, 2], ["a", "b"], [["ja", "ja "]], [True, False]):
            warn_about_classes(y)
    assert caught == []
