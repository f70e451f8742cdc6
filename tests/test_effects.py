"""Effects against the same differences asked by hand, for every kind of target."""

import numpy as np
import pytest
import torch

import sklar
from sklar.effects import effects, show_effect
from tests.helpers import quick, toy_rows


def targets(value):
    time = np.empty(len(value), dtype=[("event", bool), ("time", float)])
    time["event"], time["time"] = value > -0.5, np.exp(-value)
    return {
        "classes": (sklar.CopulaSelectorClassifier, np.digitize(value, [-0.5, 0.5]), {}),
        "labels": (sklar.CopulaSelectorClassifier, np.column_stack([value > 0, value > 1]).astype(int), {}),
        "values": (sklar.CopulaRankerRegressor, 10 + 3 * value, {}),
        "several": (sklar.CopulaSelectorRegressor, np.column_stack([value, -5 * value]), {}),
        "counts": (sklar.CopulaSelectorRegressor, np.floor(np.exp(value.clip(-2, 2))), {"loss": "poisson"}),
        "risk": (sklar.CopulaSelectorRegressor, time, {"loss": "cox"}),
    }


def by_hand(fitted, rows, mask):
    """What is predicted from the features of `mask` (d,), in the outcome's units."""
    x = torch.from_numpy(fitted.schema.inputs(rows))[None]
    shown = torch.from_numpy(mask[fitted.schema.columns].astype(float)).expand(1, len(rows), -1)
    with torch.no_grad():
        out = fitted.network.output(x, shown)[0].numpy()
    if fitted.target.is_classified:
        return fitted.target.probabilities(out)
    return fitted.target.predictions(out)


@pytest.mark.parametrize("kind", list(targets(np.zeros(3) + 1)))
def test_an_effect_is_what_hiding_takes_in_the_outcomes_units(kind):
    X, value = toy_rows(120)
    cls, y, words = targets(value)[kind]
    fitted = quick(cls, **words).fit(X, y).fitted_
    rows = fitted.read(X)
    masks, (values, base) = fitted.masks(rows), effects(fitted, rows)
    assert (values[~masks] == 0).all()
    for i in (0, 5, 17):
        row = rows[i : i + 1]
        full, nothing = by_hand(fitted, row, masks[i])[0], by_hand(fitted, row, np.zeros(5, dtype=bool))[0]
        best = int(np.argmax(full)) if kind == "classes" else ...
        np.testing.assert_allclose(base[i], np.asarray(nothing)[best], rtol=1e-9)
        for j in np.flatnonzero(masks[i]):
            without = masks[i].copy()
            without[j] = False
            change = np.asarray(full - by_hand(fitted, row, without)[0])[best]
            np.testing.assert_allclose(values[i, j], change, atol=1e-9)


def test_one_class_can_be_asked_for():
    X, value = toy_rows(60)
    fitted = quick(sklar.CopulaSelectorClassifier).fit(X, value > 0).fitted_
    rows = fitted.read(X)
    np.testing.assert_allclose(effects(fitted, rows, 0).values, -effects(fitted, rows, 1).values, atol=1e-12)


def test_effects_read_as_points_or_units():
    assert show_effect(-0.5, "risk") == "-0.5 log hazard"
    assert show_effect(2.0, "counts") == "+2"
    assert show_effect(-15234.0, "values") == "-15230"  # no exponent, as predictions have none
    assert show_effect([-1e-5, 0.0], "labels") == "0.0, 0.0 points"  # and no sign of nothing
