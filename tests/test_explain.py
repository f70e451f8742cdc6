"""Explanations say what the estimator's own answers say, for every kind of row."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklar.effects import Effects, effects
from sklar.explain import Explanation, Feature, explain
from sklar.interchange import Interchangeable
from sklar.training.replacement import Replacement
from tests.helpers import four, quick, toy_rows, toy_target

COST, SAME = "costs 5 ± 1 % of its worth", "says exactly the same"
NAMES = ["age", "income", "height", "weight", "city"]


@pytest.fixture(scope="module", params=list(four()), ids=lambda cls: cls.__name__)
def fitted(request):
    X, value = toy_rows()
    frame = pd.DataFrame(X, columns=NAMES)
    return quick(request.param).fit(frame, toy_target(request.param, value)), frame


def feature(name, selected=True, probability=0.9, **more):
    return Feature(name, 1.5, selected, probability, **more)


def told(**words):
    whole = {"prediction": "yes", "probability": 0.913, "selected": (), "nearly": (), "n_features": 7}
    return Explanation(**{**whole, "ranked": False, "n_models": 1, **words})


def test_it_tells_what_the_estimator_says(fitted):
    model, frame = fitted
    for i in range(5):
        row = frame.iloc[[i]]
        explanation = model.explain(row)
        chosen = model.select(row).iloc[0]
        assert {f.name for f in explanation.selected} == set(chosen.index[chosen])
        assert explanation.prediction == model.predict(row)[0]
        proba = model.selection_proba(row).iloc[0]
        for f in (*explanation.selected, *explanation.nearly):
            assert f.value == frame[f.name].iloc[i]
            assert f.probability == proba[f.name]
        if hasattr(model, "classes_"):
            assert explanation.probability == model.predict_proba(row)[0].max()
        if explanation.ranked:
            assert [f.name for f in explanation.selected] == [NAMES[j] for j in model.rank(row)[0]]


def test_every_kind_of_row_gets_the_same_answer(fitted):
    model, frame = fitted
    row = frame.iloc[[3]]
    expected = model.explain(row).to_dict()
    series = row.iloc[0]
    shuffled = pd.concat([pd.Series({"target": "no"}), series[::-1]])
    kinds = [
        series,
        shuffled,
        row.to_numpy(),
        row.to_numpy()[0],
        pl.from_pandas(row),
        pa.Table.from_pandas(row, preserve_index=False),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in [*kinds, row.to_numpy()[0].tolist()]:
            assert model.explain(kind).to_dict() == expected, type(kind)


def test_it_can_be_written_as_json(fitted):
    model, frame = fitted
    explanation = model.explain(frame.iloc[0])
    assert json.loads(json.dumps(explanation.to_dict())) == explanation.to_dict()


def test_effects_are_what_hiding_takes(fitted):
    model, frame = fitted
    rows = model.fitted_.read(frame.iloc[[2]])
    expected = effects(model.fitted_, rows).values[0]
    selected = model.explain(frame.iloc[2]).selected
    assert selected
    for f in selected:
        assert f.effect == expected[NAMES.index(f.name)]
    if model.fitted_.k is None:
        sizes = [abs(f.effect) for f in selected]
        assert sizes == sorted(sizes, reverse=True)


def test_several_rows_are_one_too_many(fitted):
    model, frame = fitted
    with pytest.raises(ValueError, match=r"one row; got shape \(2, 5\)"):
        model.explain(frame.iloc[:2])


def test_the_text_of_a_selector():
    text = str(
        told(
            selected=(
                feature("x1", probability=0.97, interchangeable=("x4", "x3"), replacements=(COST, SAME), effect=0.213),
                feature("x2", probability=0.62, together=("x9",), effect=-0.04),
            ),
            nearly=(feature("x5", selected=False, probability=0.41),),
        )
    )
    assert text.splitlines() == [
        "Predicted yes (91 %) from 2 of 7 features; hiding one would take from P(yes):",
        "  x1 = 1.5   +21.3 points   sure",
        "  x2 = 1.5    -4.0 points   unsure",
        "Nearly selected: x5 = 1.5.",
        "x4 could stand for x1 (costs 5 ± 1 % of its worth).",
        "x3 could stand for x1 (says exactly the same).",
        "x2 and x9 work together.",
    ]


def test_the_text_of_a_ranker_of_values():
    text = str(told(prediction=3.14159, probability=None, selected=(feature("x1"),), ranked=True))
    assert text.splitlines()[:2] == [
        "Predicted 3.142 from 1 of 7 features, best first:",
        "  1. x1 = 1.5   sure",
    ]


def test_an_empty_selection_says_so():
    assert "from no feature" in str(told())
    assert told().sure


@pytest.mark.parametrize("words", [{"ranked": True}, {"hidden": tuple("abcdefg")}])
def test_where_nothing_can_be_shown_no_price_is_blamed(words):
    """A ranker has none; and of a row without values a selector was not asked what they are worth."""
    text = str(told(**words))
    assert "from no feature: none of 7 has a value to show in this row." in text
    assert "price" not in text
    assert "price" in str(told(hidden=("a",)))


def test_several_models_are_counted():
    explanation = told(selected=(feature("x1", probability=0.97, frequency=0.6),), n_models=5)
    assert "unsure (3 of 5 models)" in str(explanation)
    assert not explanation.sure


def test_a_selected_feature_of_low_probability_is_unsure():
    assert not feature("x1", selected=True, probability=0.1).sure
    assert feature("x1", selected=False, probability=0.1).sure


class Copies:
    """A stub with known answers: two copies, and a pair that works together."""

    schema = SimpleNamespace(
        names=("a", "a copy", "b", "c"), labels="position", differing_copies=lambda row: {("b", "c")}
    )
    target = SimpleNamespace(kind="values")
    k, n_models = None, 1

    def read(self, X):
        return X

    def masks(self, X):
        return np.array([[True, False, True, False]])

    def selection_proba(self, X):
        return np.array([[0.9, 0.3, 0.95, 0.05]])

    def interchangeable(self):
        return [Interchangeable(["a", "a copy"], [Replacement("a", "a copy", 0.02, 0.01, 0.2, 0.02, 0.2, 90)])]

    def correlation(self, X):
        return np.array([[1, -0.9, 0, 0], [-0.9, 1, 0, 0], [0, 0, 1, 0.7], [0, 0, 0.7, 1]])

    def withheld(self, X):
        return np.array([[False, False, False, True]])

    def predictions(self, X):
        return np.array([2.0])


def test_links_reach_the_features(monkeypatch):
    monkeypatch.setattr("sklar.explain.effects", lambda fitted, rows: Effects(np.array([[0.1, 0, -0.5, 0]]), 0.0))
    explanation = explain(Copies(), [1, 2, 3, 4])
    assert [f.name for f in explanation.selected] == ["b", "a"]  # the largest effect first
    assert [f.effect for f in explanation.selected] == [-0.5, 0.1]
    assert [f.name for f in explanation.nearly] == ["a copy"]
    assert explanation.selected[0].together == ("c",)
    assert explanation.selected[1].interchangeable == ("a copy",)
    assert "a copy could stand for a (costs 10 ± 5 % of its worth)." in str(explanation)
    assert "Hidden: c has no value here" in str(explanation)


def test_of_features_that_are_selected_together_none_is_said_to_do(monkeypatch):
    class Both(Copies):
        def masks(self, X):
            return np.array([[True, True, True, False]])

    monkeypatch.setattr("sklar.explain.effects", lambda fitted, rows: Effects(np.array([[0.1, 0.2, -0.5, 0]]), 0.0))
    explanation = explain(Both(), [1, 2, 3, 4])
    assert all(f.interchangeable == () for f in explanation.selected)
    assert "could stand" not in str(explanation)
