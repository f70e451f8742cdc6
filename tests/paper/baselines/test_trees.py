"""Trees: 100/0 on Syn1-3 (the Tree row of Table 1 of the INVASE paper), and boosting without XGBoost."""

import numpy as np
import pytest

from sklar.datasets import make_synthetic
from sklar.metrics import false_discovery_rate, true_positive_rate
from sklar.paper.baselines import REGISTRY
from sklar.paper.baselines.trees import WIDEST_TO_SHUFFLE


@pytest.mark.parametrize(("name", "k"), [("syn1", 2), ("syn2", 3), ("syn3", 4)])
def test_tree_on_syn1_to_3(name, k):
    """Source: the Tree row of Table 1 of the INVASE paper: 100/0 on Syn1, Syn2 and Syn3, k given."""
    X, y, relevant = make_synthetic(name, n_samples=10_000, random_state=0)
    masks = REGISTRY["tree"](n_trees=60, random_state=0).fit(X, y).select(X, k=k)
    assert true_positive_rate(relevant, masks) == 100
    assert false_discovery_rate(relevant, masks) == 0


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_forest_and_boosting_on_syn2(name):
    X, y, relevant = make_synthetic("syn2", n_samples=2000, random_state=0)
    baseline = REGISTRY[name](n_trees=30, k=3, random_state=0).fit(X, y)
    assert (baseline.select(X) == relevant).all()
    assert baseline.score(X, y) > 0.8


def test_boosting_uses_xgboost_where_installed():
    pytest.importorskip("xgboost", reason="the extra [baselines] is not installed")
    X, y, _ = make_synthetic("syn2", n_samples=200, random_state=0)
    assert REGISTRY["boosting"](n_trees=3, random_state=0).fit(X, y).engine_ == "xgboost"


@pytest.mark.parametrize("regression", [False, True])
def test_boosting_without_xgboost(without_packages, regression):
    without_packages("xgboost")
    X, y, relevant = make_synthetic("syn2", n_samples=2000, random_state=0)
    target = X[:, :3].sum(axis=1) if regression else y
    baseline = REGISTRY["boosting"](n_trees=30, k=3, random_state=0).fit(X, target)
    assert baseline.engine_ == "scikit-learn"
    assert (baseline.select(X) == relevant).all()
    assert baseline.score(X, target) > 0.8


def test_wide_tables_are_scored_by_split_gains_without_xgboost(without_packages):
    """Shuffling hundreds of features would take hours; the gains find the same one."""
    without_packages("xgboost")
    X = np.random.default_rng(0).standard_normal((300, WIDEST_TO_SHUFFLE + 1))
    baseline = REGISTRY["boosting"](n_trees=3, random_state=0).fit(X, X[:, 40] > 0)
    assert baseline.engine_ == "scikit-learn"
    scores = baseline.scores(X[:1])[0]
    assert scores.argmax() == 40
    assert (scores >= 0).all()
