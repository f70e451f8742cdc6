"""Selections in the shape that shap's plots read: what hiding each selected feature takes from the prediction.

    values[i] = z_i (f(x, z) - f(x, z without i)),   base_values = f(x, nothing shown)

with f the probability of a class, or the predicted value: the effects of `sklar.effects`. Features that were not
selected are exactly 0. What a waterfall shows as f(x) is base plus sum, not the prediction in general.

    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
    >>> explanation = selector.to_shap(X)
    >>> explanation.shape, bool((explanation.values[~selector.select(X)] == 0).all())
    ((100, 3), True)
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sklar.effects import effects
from sklar.fitted import FittedModel
from sklar.table.cells import said
from sklar.table.scaling import EVERY
from sklar.table.sparse import dense


def shap_explanation(fitted: FittedModel, X: Any, label: Any = None) -> Any:
    """See `CopulaEstimator.to_shap`."""
    Explanation = _explanation_class()
    column, schema = _column(fitted, label), fitted.schema
    rows = fitted.read(X)
    values, base = effects(fitted, rows, column)
    share = np.ones(schema.n_columns)
    share[schema.columns] = 1 / np.bincount(schema.gates)[schema.gates]  # columns of a group share one gate
    data = np.asarray(dense(rows, EVERY))
    return Explanation(values=values * share, base_values=base, data=data, feature_names=list(schema.names))


def _explanation_class() -> Any:
    try:
        with warnings.catch_warnings():  # of what shap itself imports
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            import shap
    except ImportError as error:
        raise ImportError("to_shap needs the package 'shap': pip install \"sklar[baselines]\"") from error
    return shap.Explanation


def _column(fitted: FittedModel, label: Any) -> int | None:
    """Which class is explained; None is the predicted one, or the value."""
    target, n_outputs = fitted.target, fitted.network.architecture.n_outputs
    if target.kind not in ("classes", "values"):
        raise ValueError(f"to_shap knows classes and values; this model predicts {target.kind}")
    if target.classes is None:
        if label is not None:
            raise ValueError(f"a regressor has no classes; leave label out (got {said(label)})")
        if n_outputs > 1:
            raise ValueError(f"to_shap explains one target; this model predicts {n_outputs}")
        return None
    classes = target.classes.tolist()
    if label is None:
        return 1 if len(classes) == 2 else None
    if label not in classes:
        raise ValueError(
            f"label must be one of the model's classes ({', '.join(map(str, classes))}); got {said(label)}"
        )
    return classes.index(label)
