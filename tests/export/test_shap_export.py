"""Selections as shap.Explanation: the numbers against the predictor asked by hand, and shap's own plots."""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import sklar
from tests.helpers import quick, toy_rows, toy_target

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    shap = pytest.importorskip("shap", reason="needs the [baselines] extra")


def asked_by_hand(model, row, mask, column):
    """f(x, mask) for one row, from the model's own predictor."""
    fitted = model.fitted_
    x = torch.from_numpy(fitted.schema.inputs(fitted.read(row[None])))[None]
    shown = torch.from_numpy(mask[model.union_].astype(float))[None, None]
    with torch.no_grad():
        out = fitted.network.output(x, shown)[0, 0]
    if hasattr(model, "classes_"):
        return float(out.softmax(-1)[column])
    return float(out[0]) * fitted.target.spread + fitted.target.centre


@pytest.mark.parametrize("objective", ["joint", "honest"])
def test_values_are_what_hiding_one_feature_takes(cls, objective):
    X, value = toy_rows(100, 18)
    model = quick(cls, objective=objective).fit(X, toy_target(cls, value))
    told, masks = model.to_shap(X), model.select(X)
    assert told.values.shape == told.data.shape == X.shape
    np.testing.assert_array_equal(told.data, X)
    assert told.feature_names == [f"x{i}" for i in range(18)]
    assert (told.values[~masks] == 0).all()
    assert masks.any()
    for row in (0, 31):
        full = asked_by_hand(model, X[row], masks[row], 1)
        assert told.base_values[row] == pytest.approx(asked_by_hand(model, X[row], np.zeros(18, dtype=bool), 1))
        for i in np.flatnonzero(masks[row]):
            without = masks[row].copy()
            without[i] = False
            assert told.values[row, i] == pytest.approx(full - asked_by_hand(model, X[row], without, 1), abs=1e-12)


def test_one_class_of_many_or_the_predicted_one():
    X, _ = toy_rows(90)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    model = quick(sklar.CopulaRankerClassifier, max_epochs=10).fit(X, y)
    each = {name: model.to_shap(X, label=name) for name in "abc"}
    np.testing.assert_allclose(sum(told.values for told in each.values()), 0, atol=1e-12)  # probabilities add to 1
    predicted = model.predict(X)
    expected = np.array([each[name].values[row] for row, name in enumerate(predicted)])
    np.testing.assert_allclose(model.to_shap(X).values, expected, atol=1e-12)
    with pytest.raises(ValueError, match=r"one of the model's classes \(a, b, c\); got 'd'"):
        model.to_shap(X, label="d")


def test_a_regressor_has_no_label(fit_of):
    with pytest.raises(ValueError, match="a regressor has no classes"):
        fit_of(sklar.CopulaSelectorRegressor).to_shap(toy_rows()[0], label=1)


@pytest.mark.parametrize("kind", ["bar", "beeswarm", "waterfall"])
@pytest.mark.filterwarnings("ignore")  # shap's own
def test_shaps_plots_take_it(fit_of, kind):
    told = fit_of(sklar.CopulaRankerClassifier).to_shap(toy_rows()[0])
    plt.close("all")
    getattr(shap.plots, kind)(told[3] if kind == "waterfall" else told, show=False)
    drawn = " ".join(text.get_text() for axes in plt.gcf().axes for text in axes.get_yticklabels())
    plt.close("all")
    assert "x1" in drawn


def test_without_the_package_the_error_names_the_extra(monkeypatch, fit_of):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"sklar\[baselines\]"):
        fit_of(sklar.CopulaSelectorRegressor).to_shap(toy_rows()[0])
