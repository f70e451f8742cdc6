import datetime

import numpy as np
import pytest

from sklar.table.dates import are_iso_dates, cycles, days_of

NOON = datetime.datetime(1970, 1, 2, 12)


@pytest.mark.parametrize(
    ("value", "days"),
    [
        (NOON, 1.5),
        (datetime.date(1970, 1, 2), 1.0),
        (NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=12))), 1.0),
        (datetime.timedelta(hours=6), 0.25),
        (datetime.time(18), 0.75),
        (np.datetime64("1970-01-03"), 2.0),
        (np.timedelta64(36, "h"), 1.5),
        ("1969-12-31", -1.0),
        ("1970-01-01T12:00:00+00:00", 0.5),
        (None, np.nan),
        (float("nan"), np.nan),
        (np.datetime64("NaT"), np.nan),
    ],
)
def test_every_kind_of_date_is_days(value, days):
    np.testing.assert_array_equal(days_of("when", np.array([value, None], dtype=object))[0], days)


def test_numpy_columns_are_days_too():
    dates = np.array(["1970-01-02", "NaT"], dtype="datetime64[D]")
    np.testing.assert_array_equal(days_of("when", dates), [1, np.nan])
    np.testing.assert_array_equal(days_of("when", dates - dates[0]), [0, np.nan])


def test_what_is_no_date_is_named():
    with pytest.raises(ValueError, match="column 'when' mixes dates and other values \\(7\\)"):
        days_of("when", np.array([NOON, 7], dtype=object))


def test_text_is_dates_only_if_all_of_it_is():
    assert are_iso_dates(["2024-01-01", None, "2024-01-01 10:00"])
    assert not are_iso_dates(["2024-01-01", "2024-13-01"])
    assert not are_iso_dates([None, None])


def test_cycles_come_round():
    week = cycles(np.array([3.0, 10.0, np.nan]))
    np.testing.assert_allclose(week[0, [1, 4]], week[1, [1, 4]], atol=1e-12)
    assert not week[2].any()
    np.testing.assert_allclose((cycles(np.arange(9.0)) ** 2).sum(axis=1), 3)


@pytest.mark.parametrize("text", ["", "soon", "2023-02-29"])
def test_text_that_is_no_date_beside_dates_names_the_column(text):
    with pytest.raises(ValueError, match="column 'when' mixes dates and other values"):
        days_of("when", np.array([datetime.date(2020, 1, 1), text], dtype=object))
