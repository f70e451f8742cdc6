"""TreeSHAP: values that add up, are those of the package `shap`, and follow the row."""

import numpy as np
import pytest

from sklar.paper.baselines import REGISTRY

pytest.importorskip("lightgbm", reason="the extra [baselines] is not installed")


def rows(n=600, seed=0):
    """The target is x0 where x3 > 0, else x1."""
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return X, np.where(X[:, 3] > 0, X[:, 0], X[:, 1])


def target_of(value, n_classes):
    return value if n_classes is None else np.argsort(np.argsort(value)) * n_classes // len(value)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_contributions_add_up(n_classes):
    """The efficiency axiom: the values and the trees' mean add up to the raw score, class by class."""
    X, value = rows()
    baseline = REGISTRY["treeshap"](n_trees=20, random_state=0).fit(X, target_of(value, n_classes))
    scaled = baseline.scaling_.apply(X)
    total, raw = baseline.contributions(scaled).sum(axis=2), baseline._raw(scaled)
    np.testing.assert_allclose(total, raw[:, 1:] * 2 if n_classes == 2 else raw, atol=1e-9)


def test_the_same_as_the_package_shap():
    shap = pytest.importorskip("shap")
    X, value = rows()
    baseline = REGISTRY["treeshap"](n_trees=20, random_state=0).fit(X, value)
    scaled = baseline.scaling_.apply(X[:20])
    theirs = shap.TreeExplainer(baseline.booster_).shap_values(scaled)
    np.testing.assert_allclose(baseline.scores(X[:20]), np.abs(theirs), atol=1e-9)


def test_of_several_classes_the_predicted_one_counts():
    X, value = rows()
    baseline = REGISTRY["treeshap"](n_trees=20, random_state=0).fit(X, target_of(value, 3))
    values = baseline.contributions(baseline.scaling_.apply(X))[np.arange(len(X)), baseline.predict(X), :-1]
    np.testing.assert_allclose(baseline.scores(X), np.abs(values))
    np.testing.assert_array_equal(baseline.predict_proba(X).argmax(axis=1), baseline.predict(X))


def test_it_follows_the_row():
    X, value = rows(2000)
    baseline = REGISTRY["treeshap"](k=1, random_state=0).fit(X, value)
    asked = np.array([[2.0, 0, 0, 2], [0, 2, 0, -2]])
    assert baseline.select(asked).argmax(axis=1).tolist() == [0, 1]
    assert baseline.score(X, value) > 0.9


def test_a_missing_value_can_matter():
    X, _ = rows()
    X[::2, 2] = np.nan
    baseline = REGISTRY["treeshap"](k=1, n_trees=20, random_state=0).fit(X, np.isnan(X[:, 2]).astype(int))
    assert baseline.select(X)[:, 2].all()
    assert baseline.score(X, np.isnan(X[:, 2]).astype(int)) == 1
