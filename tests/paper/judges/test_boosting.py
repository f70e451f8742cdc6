"""Boosted trees by either package: log-probabilities, values and variances, from rows with NaN."""

import sys

import numpy as np
import pytest

from sklar.paper.judges.boosting import Boosting, Rows, boosted

HOW = Boosting(rounds=60, rounds_without_held_out=40)


@pytest.fixture(params=["lightgbm", "scikit-learn"], autouse=True)
def engine(request, monkeypatch):
    if request.param == "lightgbm":
        pytest.importorskip("lightgbm")
    else:
        monkeypatch.setitem(sys.modules, "lightgbm", None)


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    return x, np.nan_to_num(x[:, 0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("stops", [False, True])
def test_classes(n_classes, stops):
    x, value = rows()
    y = np.digitize(value, [0.1] if n_classes == 2 else [-0.3, 0.3])
    held = Rows(x[400:], y[400:]) if stops else None
    log_p = boosted("classes", n_classes, Rows(x[:400], y[:400]), held, HOW, 0)(x[400:])
    assert log_p.shape == (200, n_classes)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, atol=1e-9)
    assert np.mean(log_p.argmax(axis=1) == y[400:]) > 0.95


def test_values_and_variances():
    x, value = rows()
    found = boosted("values", 1, Rows(x[:400], 5 * value[:400]), None, HOW, 0)(x[400:])
    assert np.corrcoef(found, value[400:])[0, 1] > 0.95
    squares = np.where(value > 0, 4.0, 0.1)
    variances = boosted("variances", 1, Rows(x[:400], squares[:400]), None, HOW, 0)(x[400:])
    assert (variances > 0).all()
    assert variances[value[400:] > 0.2].mean() > 3 > 0.5 > variances[value[400:] < -0.2].mean()
