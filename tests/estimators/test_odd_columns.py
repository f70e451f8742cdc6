"""Dates, names of rows, and tables that are not in memory yet or are one row."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sklar
from tests.estimators.messy import HONEST, messy
from tests.helpers import quick


def dated(n=300):
    """y is the weekday's: nothing else matters."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.permutation(n), unit="D")
    X = pd.DataFrame({"when": when, "noise": rng.standard_normal(n)})
    return X, (X["when"].dt.day_of_week >= 5).to_numpy()


def test_dates_are_refused_with_the_words_that_read_them():
    X, y = dated(60)
    for table in (X, X.assign(when=X["when"].astype(str))):
        with pytest.raises(ValueError, match="column 'when' holds dates: say dates='ordinal'"):
            quick(sklar.CopulaSelectorClassifier, penalty=0.01).fit(table, y)


def test_dates_have_a_season_a_weekday_and_an_hour(tmp_path):
    X, y = dated()
    words = {**HONEST, "penalty": 0.02, "batch_size": 300}
    model = quick(sklar.CopulaSelectorClassifier, dates="parts", **words).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.select(X).mean().tolist() == [1.0, 0.0]
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    spelled = X.assign(when=X["when"].dt.strftime("%Y-%m-%d"))
    np.testing.assert_array_equal(again.predict(spelled), model.predict(X))
    days = quick(sklar.CopulaSelectorClassifier, dates="ordinal", **words).fit(X, y)
    assert days.score(X, y) < 0.9  # the day alone does not know the week
    assert "2020-" in str(model.explain(X.iloc[0]))


def test_names_of_rows_are_warned_about():
    X, y = messy(60)
    for ids, told in (
        ([f"row {i}" for i in range(60)], "a different text in every row"),
        (range(60), "the number of the row"),
    ):
        with pytest.warns(UserWarning, match=f"column 'id' holds {told}, like an id"):
            quick(sklar.CopulaSelectorClassifier, penalty=0.01).fit(X.assign(id=ids), y)


def test_a_lazy_frame_is_collected():
    X, y = messy(80)
    table = pl.from_pandas(X)
    model = quick(sklar.CopulaSelectorClassifier, penalty=0.01).fit(table.lazy(), y)
    masks = model.select(table.lazy())
    assert isinstance(masks, pl.DataFrame)
    assert masks.equals(model.select(table))
    assert model.explain(table.lazy().head(1)).to_dict() == model.explain(table.head(1)).to_dict()
    numbers = table.select("noise").lazy()
    assert len(quick(sklar.CopulaSelectorClassifier, penalty=0.01).fit(numbers, y).predict(numbers)) == 80


def test_a_dict_is_a_row():
    X, y = messy(80)
    model = quick(sklar.CopulaSelectorClassifier, penalty=0.0).fit(X, y)
    row = X.iloc[3].to_dict()
    expected = model.explain(X.iloc[3]).to_dict()
    assert model.explain(row).to_dict() == expected
    assert model.explain({"extra": 1, **dict(reversed(row.items()))}).to_dict() == expected
    assert model.explain({name: [value] for name, value in row.items()}).to_dict() == expected
    with pytest.raises(ValueError, match="the row has no 'colour'; give None where a value is missing"):
        model.explain({"age": 3})
    with pytest.raises(ValueError, match="explain takes one row; column 'colour' has 2"):
        model.explain({**row, "colour": ["red", "blue"]})


def test_a_constant_column_is_never_selected():
    """It was selected in every row of this table: what gates gain by it is 0 but for noise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 200), "town": rng.choice(["a", "b", "c"], 200), "const": 1.0})
    y = (X["age"] > 45) ^ (X["town"] == "c")
    for penalty in ("auto", 0.0):
        model = sklar.CopulaSelectorClassifier(penalty=penalty, max_epochs=20, random_state=0).fit(X, y)
        masks = model.select(X.assign(const=range(200)))
        assert not masks["const"].any()
        assert masks["age"].mean() > 0.5
