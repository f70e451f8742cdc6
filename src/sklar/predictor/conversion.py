"""Boosted trees of scikit-learn, LightGBM and XGBoost as plain arrays (`trees`).

Each library describes its trees in its own way, and not all that it can do fits here (categorical or linear splits,
dart). So a conversion counts only if it answers as the library does; what does not is asked through the library, and
cannot be saved.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from sklar.predictor.trees import LEAF, Trees, joined

Nodes = dict[str, np.ndarray]
COMPARED_ROWS = 500


@dataclass(frozen=True)
class TreeModel:
    """Trees that answer as an estimator does."""

    trees: Trees
    link: str  # what the sums are of what is predicted: "identity", "log" or "logit"

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """P(class) of rows (n, C), from logits: (n, classes)."""
        sums = self.trees(x)
        return softmax(np.column_stack([np.zeros(len(x)), sums]) if sums.shape[1] == 1 else sums, axis=1)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Values of rows (n, C): (n,)."""
        sums = self.trees(x)[:, 0]
        return np.exp(sums) if self.link == "log" else sums


def as_trees(model: Any, x: np.ndarray) -> TreeModel | None:
    """The trees of a fitted estimator, if they answer as it does for rows (n, C); else None."""
    read = next((read for name, read in READERS.items() if name in _ancestors(model)), None)
    if read is None:
        return None
    x = x[:: max(1, len(x) // COMPARED_ROWS)]
    try:
        trees = read(model, x)
    except (AttributeError, KeyError, ValueError):  # a version that describes its trees otherwise
        return None
    links = ("logit",) if hasattr(model, "predict_proba") else ("identity", "log")
    found = [] if trees is None else [TreeModel(trees, link) for link in links]
    return next((one for one in found if _agree(one, model, x)), None)


def _agree(ours: TreeModel, model: Any, x: np.ndarray) -> bool:
    what = "predict_proba" if ours.link == "logit" else "predict"
    with np.errstate(over="ignore"):
        got, expected = getattr(ours, what)(x), getattr(model, what)(x)
    return got.shape == expected.shape and bool(np.allclose(got, expected, rtol=1e-4, atol=1e-5))


def _ancestors(model: Any) -> set[str]:
    return {f"{cls.__module__.split('.')[0]}.{cls.__name__}" for cls in type(model).__mro__}


def _hist_gradient_boosting(model: Any, x: np.ndarray) -> Trees | None:
    parts, output = [], []
    for iteration in model._predictors:
        for number, tree in enumerate(iteration):
            nodes = tree.nodes
            if nodes["is_categorical"].any():
                return None
            feature = np.where(nodes["is_leaf"], LEAF, nodes["feature_idx"])
            names = {"threshold": "num_threshold", "missing_left": "missing_go_to_left", "left": "left"}
            own = {name: nodes[theirs] for name, theirs in {**names, "right": "right", "value": "value"}.items()}
            parts.append({"feature": feature, **{name: np.asarray(value) for name, value in own.items()}})
            output.append(number)
    return joined(parts, output, np.asarray(model._baseline_prediction, dtype=float).ravel())


def _lightgbm(model: Any, x: np.ndarray) -> Trees | None:
    described = model.booster_.dump_model()
    n_outputs = described["num_tree_per_iteration"]
    parts = [_lightgbm_nodes(tree["tree_structure"]) for tree in described["tree_info"]]
    return joined(parts, [number % n_outputs for number in range(len(parts))], np.zeros(n_outputs))


def _lightgbm_nodes(root: dict[str, Any]) -> Nodes:
    """The nodes of a tree, each before its children."""
    rows: list[list[float]] = []  # feature, threshold, missing_left, left, right, value

    def add(node: dict[str, Any]) -> int:
        number = len(rows)
        if "split_feature" not in node:
            rows.append([LEAF, 0.0, 0, 0, 0, node["leaf_value"]])
            return number
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            raise ValueError("a split that is no threshold")
        threshold = float(node["threshold"])
        # where no row missed a value in training, NaN counts as 0
        missing_left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0
        rows.append([node["split_feature"], threshold, missing_left, 0, 0, 0.0])
        rows[number][3:5] = add(node["left_child"]), add(node["right_child"])
        return number

    add(root)
    return dict(
        zip(("feature", "threshold", "missing_left", "left", "right", "value"), np.array(rows, float).T, strict=True)
    )


def _xgboost(model: Any, x: np.ndarray) -> Trees | None:
    booster = model.get_booster()
    described = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    if described["name"] != "gbtree":
        return None
    trees, output = described["model"]["trees"], described["model"]["tree_info"]
    n_outputs = max(output, default=0) + 1
    sums = joined([_xgboost_nodes(tree) for tree in trees], output, np.zeros(n_outputs))
    margin = np.asarray(model.predict(x[:1], output_margin=True), dtype=float).reshape(1, -1)
    found = sums(x[:1])
    return replace(sums, baseline=(margin - found)[0]) if margin.shape == found.shape else None


def _xgboost_nodes(tree: dict[str, Any]) -> Nodes:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    leaf, condition = left < 0, np.array(tree["split_conditions"], dtype=np.float32)
    if any(tree["split_type"]):
        raise ValueError("a split that is no threshold")
    # x < t is x <= the float32 before t
    before = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)
    return {
        "feature": np.where(leaf, LEAF, tree["split_indices"]),
        "threshold": before,
        "missing_left": np.array(tree["default_left"], dtype=bool),
        "left": np.where(leaf, 0, left),
        "right": np.where(leaf, 0, right),
        "value": np.where(leaf, condition.astype(np.float64), 0.0),
    }


READERS: dict[str, Callable[[Any, np.ndarray], Trees | None]] = {
    "sklearn.HistGradientBoostingClassifier": _hist_gradient_boosting,
    "sklearn.HistGradientBoostingRegressor": _hist_gradient_boosting,
    "lightgbm.LGBMModel": _lightgbm,
    "xgboost.XGBModel": _xgboost,
}
