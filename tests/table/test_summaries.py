"""The summary of a table's parts gives the encoding that the whole table gives in memory."""

from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sklar.table import summaries
from sklar.table.schema import Schema, read_training_table
from sklar.table.summaries import Values, summarise


def mixed(n=400, seed=0):
    """Numbers near and far from 0, integers, missing values, text, categories, booleans, a constant."""
    rng = np.random.default_rng(seed)
    text = rng.choice(["red", "green", "blue", None], n)
    return pd.DataFrame(
        {
            "near": rng.standard_normal(n),
            "far": 1e6 + rng.standard_normal(n),
            "whole": rng.integers(0, 9, n),
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n)),
            "text": pd.Series(text, dtype=object),
            "many": [f"v{value}" for value in rng.geometric(0.01, n)],
            "kind": pd.Categorical(rng.choice([3, 1, 2], n)),
            "flag": rng.random(n) < 0.5,
            "same": np.full(n, 0.1),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "day as text": [f"2021-0{month}-11" for month in rng.integers(1, 10, n)],
            "none": np.full(n, np.nan),
            "no text": pd.Series([None] * n, dtype="string"),
        }
    )


def in_parts(table, size=37):
    return [table.slice(start, size) for start in range(0, table.num_rows, size)]


def test_it_is_the_encoding_of_memory():
    table = pa.Table.from_pandas(mixed())
    found = summarise(in_parts(table)).encoding(with_cycles=True)
    given = read_training_table(table, np.arange(400) % 2, None, "Owner")
    words = {"groups": None, "forced": None, "forbidden": None, "dates": "parts"}
    with pytest.warns(UserWarning, match="no row has a value"):
        expected = Schema.of(given, words).encoding
    assert found.categories == expected.categories
    assert (found.missing == expected.missing).all()
    np.testing.assert_allclose(found.others, expected.others)
    np.testing.assert_allclose(found.scaling.centre, expected.scaling.centre, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.scaling.spread, expected.scaling.spread, rtol=1e-9)
    assert found.missing.sum() == 4  # the test sees holes in numbers and in text, and columns without any value
    assert found.dates.sum() == 2
    assert found.to_dict() == expected.to_dict()


def test_parts_may_be_of_any_size_and_order():
    table = pa.Table.from_pandas(mixed()[["near", "holes", "text"]])
    forwards, backwards = summarise(in_parts(table)), summarise(in_parts(table, 90)[::-1])
    np.testing.assert_allclose(forwards.moments.squares, backwards.moments.squares, rtol=1e-12)
    assert forwards.values["text"].counts == backwards.values["text"].counts


def test_a_part_without_any_value_is_no_part_of_the_mean():
    parts = [pa.table({"a": pa.array([None, None], pa.float64())}), pa.table({"a": [1.0, 3.0]})]
    encoding = summarise(parts).encoding()
    assert encoding.scaling.centre.tolist() == [2.0]
    assert encoding.scaling.spread.tolist() == [1.0]
    assert encoding.missing.tolist() == [True]


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"a": [1.0, 2.0, np.inf]}, r"column 'a' contains infinity \(inf\) \(first in row 5\)"),
        ({"a": [["list"]] * 3}, "column 'a'"),
        ({"a": [1e200, -1e200, 0]}, "column 'a' has values too large to square"),
    ],
)
def test_mistakes_name_column_and_row(columns, fault):
    table = pa.table(columns)
    with pytest.raises((ValueError, TypeError), match=fault):
        summarise([table] if "row 5" not in fault else [pa.table({"a": [0.0] * 3}), table]).encoding()


def test_very_many_dates_as_text_are_refused(monkeypatch):
    monkeypatch.setattr(summaries, "MOST_COUNTED", 4)
    parts = [pa.table({"a": [f"2020-01-{day}", f"2020-02-{day}"]}) for day in range(10, 20)]
    with pytest.raises(ValueError, match="column 'a' holds more than 4 different dates as text"):
        summarise(parts).encoding()


def test_no_rows_are_an_error():
    with pytest.raises(ValueError, match="no rows"):
        summarise([])


def test_rare_values_are_forgotten_and_frequent_ones_are_not(monkeypatch):
    monkeypatch.setattr(summaries, "MOST_COUNTED", 10)
    whole = Values()
    for part in range(50):
        whole = whole.merged(Values(Counter({"often": 5, **{f"id{part}-{i}": 1 for i in range(4)}})))
    assert len(whole.counts) <= 10
    assert whole.counts["often"] == 250
    assert whole.counts.total() + whole.forgotten == 450


def test_forgotten_values_are_pooled(monkeypatch):
    monkeypatch.setattr(summaries, "MOST_COUNTED", 4)
    parts = [pa.table({"a": ["x", "x", f"{i}", f"{i + 100}"]}) for i in range(10)]
    summary = summarise(parts)
    assert 0.4 < summary.encoding().others[0] <= 0.5  # a rare value or two may be counted still
    assert not summary.encoding().missing.any()
