"""Every kind of column, weight and target where training steps are captured as CUDA graphs."""

import numpy as np
import pandas as pd
import pytest

import sklar
from tests.helpers import quick, toy_rows

WORDS = {"objective": "honest", "device": "cuda", "max_epochs": 40, "batch_size": 200}


def messy(n=300):
    X, value = toy_rows(n)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.loc[::3, "b"] = np.nan
    return frame.assign(kind=np.where(value > 0, "u", "v")), value


def times(value):
    y = np.empty(len(value), dtype=[("seen", bool), ("days", float)])
    y["seen"], y["days"] = np.arange(len(value)) % 3 > 0, np.exp(-value)
    return y


CASES = {
    "mixed columns": ("CopulaSelectorClassifier", {}, lambda v: v > 0, None),
    "known features": (
        "CopulaSelectorRegressor",
        {"groups": [["a", "b"]], "forced": ["c"], "forbidden": ["e"], "costs": {"d": 3}, "min_features": 1},
        lambda v: v,
        None,
    ),
    "weights": ("CopulaSelectorRegressor", {}, lambda v: v, np.linspace(0.5, 2, 300)),
    "balanced": ("CopulaSelectorClassifier", {"class_weight": "balanced"}, lambda v: v > 1, None),
    "labels": ("CopulaSelectorClassifier", {}, lambda v: np.column_stack([v > 0, v > 1]), None),
    "values": ("CopulaSelectorRegressor", {}, lambda v: np.column_stack([v, -v]), None),
    "counts": ("CopulaSelectorRegressor", {"loss": "poisson"}, lambda v: np.round(np.exp(v / 2)), None),
    "times": ("CopulaSelectorRegressor", {"loss": "cox"}, times, None),
    "a forced ranker": ("CopulaRankerClassifier", {"forced": ["e"], "k": 2}, lambda v: v > 0, None),
}


@pytest.mark.gpu
@pytest.mark.parametrize("penalty", [0.02, "auto"])
@pytest.mark.parametrize("case", CASES)
def test_it_fits_and_answers(case, penalty):
    name, words, target, weight = CASES[case]
    X, value = messy()
    words = words if "Ranker" in name else {"penalty": penalty, **words}
    model = quick(getattr(sklar, name), **{**WORDS, **words}).fit(X, target(value), sample_weight=weight)
    on_gpu = np.asarray(model.predict(X), dtype=float)
    assert np.isfinite(on_gpu).all()
    np.testing.assert_allclose(np.asarray(model.set_params(device="cpu").predict(X), dtype=float), on_gpu, rtol=1e-6)


@pytest.mark.gpu
def test_wide_mixed_tables_are_screened():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"w{j}": rng.choice(["u", "v", None], 300) for j in range(40)})
    model = quick(sklar.CopulaSelectorClassifier, **{**WORDS, "penalty": 0.02}).fit(X, X["w7"] == "u")
    assert 7 in model.union_


@pytest.mark.gpu
def test_few_rows_of_more_features_rehearse_one_set():
    X, value = toy_rows(60, 70)
    model = quick(sklar.CopulaSelectorClassifier, **{**WORDS, "penalty": "auto"}).fit(X, value > 0)
    assert any(record["part"] == "one set" for record in model.history_)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.gpu
def test_what_predicts_is_chosen_beside_networks_on_the_device():
    X, value = toy_rows(600)
    model = quick(sklar.CopulaSelectorRegressor, **{**WORDS, "penalty": 0.02}).fit(X, value)
    assert any(record["part"] == "predictor" for record in model.history_)
    on_gpu = model.predict(X)
    np.testing.assert_allclose(model.set_params(device="cpu").predict(X), on_gpu, rtol=1e-5)
