"""Selections in the shape that shap's plots read: what hiding each selected feature takes from the prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.model.selection import GateModel
from sklar.table.scaling import EVERY
from sklar.table.sparse import dense


def shap_explanation(estimator: Any, X: Any, label: Any = None) -> Any:
    """See `Exports.to_shap`."""
    Explanation = _explanation_class()
    column = _column(estimator, label)
    rows = estimator._check_rows(X)
    values, base = np.zeros(rows.shape), np.empty(rows.shape[0])
    gates = getattr(estimator, "union_gates_", np.arange(len(estimator.union_)))  # columns of a group share one
    share = 1 / np.bincount(gates)[gates]
    for part, model, x in estimator._blocks(rows, estimator.model_.architecture.n_features):
        drops, nothing = _drops(model, x, column, hasattr(estimator, "classes_"))
        values[part][:, estimator.union_] = drops[:, gates] * share
        base[part] = nothing
    if not hasattr(estimator, "classes_"):
        values, base = values * estimator.target_spread_, base * estimator.target_spread_ + estimator.target_centre_
    data = np.asarray(dense(rows, EVERY))
    return Explanation(values=values, base_values=base, data=data, feature_names=estimator._names())


def _explanation_class() -> Any:
    try:
        import shap
    except ImportError as error:
        raise ImportError("to_shap needs the package 'shap': pip install \"sklar[baselines]\"") from error
    return shap.Explanation


def _column(estimator: Any, label: Any) -> int | None:
    """Which output is explained; None is that of the predicted class."""
    a = estimator.model_.architecture
    if getattr(a, "output_kind", "") not in ("", "classes", "values"):
        raise ValueError(f"to_shap knows classes and values; this model predicts {a.output_kind}")
    if not hasattr(estimator, "classes_"):
        if label is not None:
            raise ValueError(f"a regressor has no classes; leave label out (got {label!r})")
        if a.n_outputs > 1:
            raise ValueError(f"to_shap explains one target; this model predicts {a.n_outputs}")
        return 0
    classes = estimator.classes_.tolist()
    if label is None:
        return 1 if len(classes) == 2 else None
    if label not in classes:
        raise ValueError(f"label must be one of the model's classes ({', '.join(map(str, classes))}); got {label!r}")
    return classes.index(label)


def _drops(model: GateModel, x: Tensor, column: int | None, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """f(x, z) - f(x, z without i) where z_i = 1, else 0: (b, w); and f(x, nothing shown): (b,)."""

    def answers(rows: Tensor, mask: Tensor) -> Tensor:
        out = model.output(rows, mask)[0]
        return out.softmax(-1) if classes else out

    mask = model.decide(model.scores(x)).to(x.dtype)  # (1, b, w)
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
