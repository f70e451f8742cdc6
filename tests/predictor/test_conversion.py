"""Trees of other libraries answer as these libraries do."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from xgboost import XGBClassifier, XGBRegressor

from sklar.predictor.conversion import as_trees

FEW = {"n_estimators": 8, "n_jobs": 1}
CLASSIFIERS = [
    HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
    LGBMClassifier(**FEW, verbosity=-1),
    XGBClassifier(**FEW),
]
REGRESSORS = [
    HistGradientBoostingRegressor(max_iter=8),
    HistGradientBoostingRegressor(max_iter=8, loss="poisson"),
    LGBMRegressor(**FEW, verbosity=-1),
    LGBMRegressor(**FEW, verbosity=-1, objective="poisson"),
    XGBRegressor(**FEW),
    XGBRegressor(**FEW, objective="count:poisson"),
]


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 4)).astype(np.float32)
    x[:, 3] = rng.integers(0, 3, n)
    value = np.exp(x[:, 0] + (x[:, 3] > 1))
    x[rng.random(x.shape) < 0.3] = np.nan
    return x, value


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_classes(model, n_classes):
    x, value = rows()
    y = np.searchsorted(np.quantile(value, np.arange(1, n_classes) / n_classes), value)
    model = clone(model).fit(x, y)
    trees, others = as_trees(model, x), rows(seed=1)[0]
    np.testing.assert_allclose(trees.predict_proba(others), model.predict_proba(others), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: f"{type(model).__name__}-{model.get_params()}"[:60])
def test_values(model):
    x, value = rows()
    model = clone(model).fit(x, value)
    trees, others = as_trees(model, x), rows(seed=1)[0]
    np.testing.assert_allclose(trees.predict(others), model.predict(others), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_values_that_miss_only_later(model, complete):
    """A library's own rule for NaN where training had none, or a constant column."""
    x, value = rows()
    learned = np.nan_to_num(x) if complete else x * [1, 1, 0, 1]
    model = clone(model).fit(learned, value > 1)
    trees = as_trees(model, learned)
    np.testing.assert_allclose(trees.predict_proba(x), model.predict_proba(x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5),
        HistGradientBoostingClassifier(max_iter=8, categorical_features=[3], min_samples_leaf=5),
        XGBClassifier(**FEW, booster="dart", rate_drop=0.5),
        LGBMClassifier(**FEW, verbosity=-1, linear_tree=True),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_not_the_same_is_not_taken(model):
    x, value = rows()
    x[:, 3] = np.nan_to_num(x[:, 3])
    model.fit(x, (value > 1) ^ (x[:, 3] == 1))
    assert as_trees(model, x) is None
