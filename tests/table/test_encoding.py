"""One or more inputs a column: states that are told apart, nothing imputed, and the same again from a file."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sklar.table import encoding as encoding_module
from sklar.table.adapter import adapt
from sklar.table.encoding import Encoding, learn_categories


def learned(frame):
    known, rows = learn_categories(adapt(frame).columns())
    return Encoding.of(rows, frame.columns.tolist(), known), rows


def frame(**columns):
    return pd.DataFrame(columns)


def test_every_state_has_its_own_input():
    encoding, rows = learned(frame(w=["a", "b", None, "b"], x=[1.0, np.nan, 3.0, np.nan], y=[0.0, 2.0, 0.0, 2.0]))
    assert encoding.widths().tolist() == [3, 2, 1]
    inputs = encoding.apply(rows)
    assert (inputs[:, :3] > 0).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]
    np.testing.assert_allclose(inputs[:, 3], [-1, 0, 1, 0])
    assert inputs[:, 4].tolist() == [0, 1, 0, 1]
    assert inputs[:, 5].tolist() == [-1, 1, -1, 1]


@pytest.mark.parametrize("n_states", [2, 5, 60])
def test_the_inputs_of_a_column_vary_together_as_a_column_of_numbers_does(n_states):
    words = np.random.default_rng(0).integers(n_states, size=4000).astype(str)
    encoding, rows = learned(frame(w=words))
    assert encoding.apply(rows).var(axis=0).sum() == pytest.approx(1)


def test_a_subset_of_columns_gives_their_inputs_alone():
    encoding, rows = learned(frame(w=["a", "b", "c"], x=[1.0, np.nan, 3.0], v=["u", "u", None], y=[1.0, 2.0, 3.0]))
    everything = encoding.apply(rows)
    read = np.array([1, 2])
    np.testing.assert_array_equal(encoding.apply(rows[:, read], read), everything[:, 3:7])


def test_a_category_that_fit_never_saw_is_none_of_the_known():
    encoding, _ = learned(frame(w=["a", "b", "b"]))
    rows = encoding.rows(adapt(frame(w=["c", "a"])).columns())
    assert encoding.apply(rows)[0].tolist() == [0, 0]
    assert encoding.apply(rows)[1, 0] > 0


@pytest.mark.parametrize(("n", "n_unseen", "warned"), [(400, 1, False), (400, 20, True), (2, 1, True), (1, 1, True)])
def test_a_few_rare_categories_are_no_news(n, n_unseen, warned):
    encoding, _ = learned(frame(w=["a", "b", "b"]))
    rows = encoding.rows(adapt(frame(w=["a"] * (n - n_unseen) + [f"new{i}" for i in range(n_unseen)])).columns())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoding.warn_unseen(rows, ["w"])
    assert ["did not know" in str(one.message) for one in caught] == [True] * warned


def test_the_rarest_of_too_many_categories_share_an_input_with_the_unseen():
    n = 10_000
    words = np.array([f"common{i % 200}" for i in range(n)] + [f"rare{i}" for i in range(n)], dtype=object)
    encoding, rows = learned(frame(w=words))
    most = encoding_module.MOST_CATEGORIES
    assert encoding.widths().tolist() == [most + 1]
    assert sum(word.startswith("common") for word in encoding.categories[0]) == 200
    assert (rows[:, 0] == most).mean() == pytest.approx(0.5, abs=0.01)
    unseen = encoding.apply(encoding.rows(adapt(frame(w=["never"])).columns()))
    assert np.flatnonzero(unseen[0]).tolist() == [most]


def test_a_missing_category_where_fit_saw_none_is_unseen_too():
    encoding, _ = learned(frame(w=["a", "b", "b"]))
    assert not encoding.apply(encoding.rows(adapt(frame(w=[None, "a"])).columns()))[0].any()


def test_a_value_that_is_missing_where_fit_saw_none_is_absent():
    encoding, seen = learned(frame(w=["a", "b"], x=[1.0, 2.0], z=[1.0, np.nan]))
    rows = encoding.rows(adapt(frame(w=[None, "b"], x=[np.nan, 2.0], z=[np.nan, np.nan])).columns())
    assert encoding.absent(rows).tolist() == [[True, True, False], [False, False, False]]
    assert encoding.absent(rows[:, [2]], np.array([2])) is None
    assert encoding.absent(seen) is None
    assert np.isfinite(encoding.apply(rows)).all()
    assert not encoding.apply(rows)[0, :3].any()


def test_a_plain_table_with_a_hole_has_finite_inputs():
    encoding = Encoding.of(np.array([[1.0, 2.0], [3.0, 5.0]]), ["a", "b"])
    rows = np.array([[np.nan, 2.0]])
    assert encoding.apply(rows).tolist() == [[0.0, -1.0]]
    assert encoding.absent(rows).tolist() == [[True, False]]
    assert encoding.absent(np.array([[1, 2]])) is None


def dated(*texts):
    return frame(when=pd.to_datetime(list(texts), format="ISO8601"), w=["a"] * len(texts))


def test_dates_are_days_and_where_they_stand_in_their_cycles():
    table = dated("1970-01-01 06:00", "1971-01-01", None)
    known, rows = learn_categories(adapt(table).columns())
    assert rows[:2, 0].tolist() == [0.25, 365.0]
    days = Encoding.of(rows, ["when", "w"], known)
    parts = Encoding.of(rows, ["when", "w"], known, with_cycles=True)
    assert (days.widths()[0], parts.widths()[0]) == (2, 8)  # one more where it is missing
    inputs = parts.apply(rows)
    assert inputs[0, 3] == pytest.approx(1)  # six o'clock: the sine of the day
    assert inputs[2, :8].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]
    assert days.apply(rows)[:, 0].tolist() == inputs[:, 0].tolist()
    again = Encoding.from_dict(parts.scaling, parts.to_dict())
    np.testing.assert_array_equal(again.apply(rows), inputs)
    with pytest.raises(ValueError, match="column 'when' held dates in fit, and holds numbers here"):
        parts.rows(adapt(frame(when=[1.0], w=["a"])).columns())
    with pytest.raises(ValueError, match="column 'when' held dates in fit, and holds text here: 'soon'"):
        parts.rows(adapt(frame(when=["soon"], w=["a"])).columns())
    assert parts.rows(adapt(frame(when=["1970-01-03"], w=["a"])).columns())[0, 0] == 2
    assert np.isnan(parts.rows(adapt(frame(when=[None], w=["a"])).columns())[0, 0])


def test_categories_that_look_like_dates_alone_stay_categories():
    encoding, _ = learned(frame(w=["2024-01-01", "unknown"]))
    assert encoding.rows(adapt(frame(w=["2024-01-01"])).columns()).tolist() == [[0.0]]


def test_text_and_numbers_may_not_change_places():
    encoding, _ = learned(frame(w=["a", "b"], x=[1.0, 2.0]))
    with pytest.raises(ValueError, match="column 'x' held numbers in fit, and holds text here: 'high'"):
        encoding.rows(adapt(frame(w=["a", "b"], x=["high", "low"])).columns())
    with pytest.raises(ValueError, match="column 'w' held text in fit, and holds numbers here"):
        encoding.rows(adapt(frame(w=[1, 2], x=[1, "2"])[["w"]].assign(x=["u", "v"])).columns())


@pytest.mark.parametrize("values", [[None, None], [np.nan, np.nan], pd.Categorical([None, None], categories=["a"])])
def test_a_column_without_any_value_takes_anything_later(values):
    encoding, rows = learned(frame(w=["a", "b"], empty=values))
    assert encoding.empty == [1]
    assert np.isfinite(encoding.apply(rows)).all()
    for later in (["x", "y"], [1.0, 2.0], [None, None], pd.to_datetime(["2024-01-01", "2024-01-02"])):
        encoding.rows(adapt(frame(w=["a", "b"], empty=later)).columns())
    assert Encoding.from_dict(encoding.scaling, encoding.to_dict()).empty == [1]


def test_numbers_alone_are_scaled_as_ever():
    X = np.random.default_rng(0).standard_normal((50, 3))
    encoding = Encoding.of(X, list("abc"))
    assert encoding.is_plain
    np.testing.assert_array_equal(encoding.apply(X), encoding.scaling.apply(X))


def test_a_constant_column_with_holes_keeps_its_holes():
    X = np.array([[7.0], [np.nan], [7.0]])
    assert Encoding.of(X, ["a"]).apply(X).tolist() == [[0, 0], [0, 1], [0, 0]]


def test_it_survives_being_written():
    encoding, rows = learned(frame(w=["a", "b", None], g=pd.Categorical([3, 1, 3]), x=[1.0, np.nan, 3.0]))
    again = Encoding.from_dict(encoding.scaling, encoding.to_dict())
    np.testing.assert_array_equal(again.apply(rows), encoding.apply(rows))
    assert again.to_dict() == encoding.to_dict()


def test_too_many_inputs_are_refused_before_memory_is(monkeypatch):
    encoding, _ = learned(frame(w=[f"word{i}" for i in range(50)], x=np.arange(50.0)))
    assert encoding.require_room(50, ["w", "x"]) is None
    monkeypatch.setattr(encoding_module, "MOST_ENTRIES", 2000)
    with pytest.raises(ValueError, match=r"50 rows x 51 inputs .* column 'w' alone has 50"):
        encoding.require_room(50, ["w", "x"])


@pytest.mark.parametrize("values", [[1, 2, 3], [True, False, True], [0.5, 1.5, 0.5]])
def test_categories_that_are_not_text_are_known_by_their_spelling(values):
    """A model that was fitted on categories of numbers reads them from a CSV as text."""
    known, rows = learn_categories(adapt(frame(w=pd.Categorical(values))).columns())
    encoding = Encoding.of(rows, ["w"], known)
    spelled = adapt(frame(w=np.array([str(value) for value in values], dtype=object))).columns()
    np.testing.assert_array_equal(encoding.rows(spelled), rows)
