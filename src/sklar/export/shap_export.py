"""Selections in the shape that shap's plots read: what hiding each selected feature takes from the prediction.

    values[i] = z_i (f(x, z) - f(x, z without i)),   base_values = f(x, nothing shown)

with f the probability of a class, or the predicted value. Features that were not selected are exactly 0. The values
need not add up to f(x, z) - f(x, nothing): where two features work together both get their common effect, where one can
stand for the other neither does. What a waterfall shows as f(x) is base plus sum, not the prediction in general.

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
import torch
from torch import Tensor

from sklar.fitted import FittedModel
from sklar.model.selection import GateModel
from sklar.table.cells import said
from sklar.table.scaling import EVERY
from sklar.table.sparse import dense


def shap_explanation(fitted: FittedModel, X: Any, label: Any = None) -> Any:
    """See `CopulaEstimator.to_shap`."""
    Explanation = _explanation_class()
    column, target, schema = _column(fitted, label), fitted.target, fitted.schema
    rows = fitted.read(X)
    values, base = np.zeros(rows.shape), np.empty(rows.shape[0])
    share = 1 / np.bincount(schema.gates)[schema.gates]  # columns of a group share one gate
    for part, network, x in fitted.blocks(rows, fitted.network.architecture.n_features):
        drops, nothing = _drops(network, x, column, target.is_classified)
        values[part][:, schema.columns] = drops[:, schema.gates] * share
        base[part] = nothing
    if not target.is_classified:
        values, base = values * target.spread, base * target.spread + target.centre
    data = np.asarray(dense(rows, EVERY))
    return Explanation(values=values, base_values=base, data=data, feature_names=list(schema.names))


def _explanation_class() -> Any:
    try:
        with warnings.catch_warnings():  # of what shap itself imports
            warnings.simplefilter("ignore", PendingDeprecationWarning)
            import shap
    except ImportError as error:
        raise ImportError("to_shap needs the package 'shap': pip install \"sklar[baselines]\"") from error
    return shap.Explanation


def _column(fitted: FittedModel, label: Any) -> int | None:
    """Which output is explained; None is that of the predicted class."""
    target, n_outputs = fitted.target, fitted.network.architecture.n_outputs
    if target.kind not in ("classes", "values"):
        raise ValueError(f"to_shap knows classes and values; this model predicts {target.kind}")
    if target.classes is None:
        if label is not None:
            raise ValueError(f"a regressor has no classes; leave label out (got {said(label)})")
        if n_outputs > 1:
            raise ValueError(f"to_shap explains one target; this model predicts {n_outputs}")
        return 0
    classes = target.classes.tolist()
    if label is None:
        return 1 if len(classes) == 2 else None
    if label not in classes:
        raise ValueError(
            f"label must be one of the model's classes ({', '.join(map(str, classes))}); got {said(label)}"
        )
    return classes.index(label)


def _drops(model: GateModel, x: Tensor, column: int | None, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """f(x, z) - f(x, z without i) where z_i = 1, else 0: (b, w); and f(x, nothing shown): (b,)."""

    def answers(rows: Tensor, mask: Tensor) -> Tensor:
        out = model.output(rows, mask)[0]
        return out.softmax(-1) if classes else out

    mask = model.mask(x).to(x.dtype)  # (1, b, w)
    full = answers(x, mask)  # (b, out)
    asked = full.argmax(-1) if column is None else torch.full((len(full),), column, device=x.device)
    drops = torch.zeros_like(mask[0])
    for gate in mask[0].any(0).nonzero().flatten().tolist():
        where = mask[0, :, gate].nonzero().flatten()
        without = mask[:, where].clone()
        without[..., gate] = 0
        change = full[where] - answers(x[:, where], without)
        drops[where, gate] = change.gather(1, asked[where, None])[:, 0]
    nothing = answers(x, torch.zeros_like(mask)).gather(1, asked[:, None])[:, 0]
    return drops.cpu().numpy(), nothing.cpu().numpy()
