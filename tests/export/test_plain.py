"""Whatever fitted can be saved; the rest is refused before the fit."""

import json

import numpy as np
import pandas as pd
import pytest

import sklar
from sklar.export.plain import plain_labels, plain_parameters, plain_values
from tests.helpers import quick, toy_rows

PARAMETERS = [
    {"forced": [np.int64(1)]},
    {"forced": np.array([1])},
    {"forced": pd.Index(["a", "b"])},
    {"forbidden": {"a"}},
    {"groups": [np.array([0, 1])]},
    {"groups": np.array([[0, 1], [2, 3]])},
    {"costs": np.ones(5)},
    {"costs": pd.Series({"e": 3.0, "a": 0.5})},
    {"costs": {np.int64(1): np.float32(2)}},
    {"class_weight": dict(zip(np.unique([0, 1]), np.array([1.0, 2.0]), strict=True))},
    {"n_factors": np.int8(2), "penalty": np.float16(0.25), "verbose": np.bool_(False)},
]


@pytest.mark.parametrize("words", PARAMETERS, ids=str)
def test_whatever_fitted_can_be_saved(words, tmp_path):
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = quick(sklar.CopulaSelectorClassifier, **words).fit(frame, (value > 0).astype(int))
    model.save(tmp_path / "m.sklar")
    again = sklar.load(tmp_path / "m.sklar")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    refitted = sklar.CopulaSelectorClassifier(**again.get_params()).fit(frame, (value > 0).astype(int))
    np.testing.assert_array_equal(refitted.select(frame), model.select(frame))


LABELS = [
    np.array(["2020-01-01", "2021-06-01"], dtype="M8[D]"),
    np.array(["2020-01-01", "2021-06-01"], dtype="M8[ns]"),
    np.array([1, 2], dtype="m8[h]"),
    np.array([0, 2**64 - 1], dtype=np.uint64),
    np.array([1, 2], dtype=">i4"),
    np.array([1.0, 2.0], dtype=np.float16),
    np.array([1.0, 2.0], dtype=np.longdouble),
]


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: str(labels.dtype))
def test_labels_of_any_kind_come_back(labels, tmp_path):
    X, value = toy_rows(60)
    y = labels[(value > 0).astype(int)]
    model = quick(sklar.CopulaSelectorClassifier).fit(X, y)
    model.save(tmp_path / "m.sklar")
    np.testing.assert_array_equal(sklar.load(tmp_path / "m.sklar").predict(X), model.predict(X))


def test_what_cannot_be_saved_is_refused_before_the_fit():
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorRegressor, costs={0: 1.0, 1: 1 + 0j})
    with pytest.raises(TypeError, match="parameter 'costs' holds a value of type complex"):
        model.fit(X, value)
    assert not hasattr(model, "fitted_")


def test_a_series_of_costs_goes_by_its_labels():
    """In another order than the columns': by place it would be the costs of others."""
    X, value = toy_rows(60)
    frame = pd.DataFrame(X, columns=list("abcde"))
    costs = {"a": 1.0, "b": 2.0, "c": 0.0, "d": 4.0, "e": 5.0}
    of_dict, of_series = (
        quick(sklar.CopulaSelectorRegressor, costs=given).fit(frame, value)
        for given in (costs, pd.Series(costs).sort_index(ascending=False))
    )
    np.testing.assert_array_equal(of_dict.selection_proba(frame), of_series.selection_proba(frame))


def test_plain_values_are_json():
    json.dumps(plain_parameters({"a": {np.str_("x"): [np.float64(1), (2, None)]}, "r": np.random.RandomState(0)}))
    assert plain_values({"loss": float("nan"), "n": np.int64(3)}) == {"loss": None, "n": 3}
    assert plain_labels(np.array([1, 2], dtype=">i2")) == {"dtype": "<i2", "values": [1, 2]}
