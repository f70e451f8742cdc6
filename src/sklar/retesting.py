"""Which features stand for each other, judged by rows that a fit did not see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from sklar.fitted import FittedModel
from sklar.model.blocks import absolute_correlation
from sklar.table.sparse import dense
from sklar.training.best_confidence import losses_at_best_confidence
from sklar.training.replacement import MOST_ROWS, Rows, candidates, replacements
from sklar.training.tasks import Task


def retested(fitted: FittedModel, X: Any, y: Any) -> FittedModel:
    """The model with the replacements that rows X (n, d) and targets y (n,) bear out, at most 10,000 of them.

    Examples
    --------
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((400, 3))
    >>> X[:, 2] = X[:, 0] + 0.05 * X[:, 2]
    >>> selector = CopulaSelectorRegressor(penalty=0.02, max_epochs=100, random_state=0).fit(X[:300], X[:300, 0])
    >>> retested(selector.fitted_, X[300:], X[300:, 0]).interchangeable(0.5)
    [['x0', 'x2']]
    """
    rows, schema = fitted.read(X), fitted.schema
    judged = judged_rows(fitted, rows[:MOST_ROWS], np.asarray(y)[:MOST_ROWS], rows.shape[0] == len(y))
    inputs, of_input = schema.inputs(rows[:MOST_ROWS]), fitted.network.architecture.gate_of_input
    apart = -fitted.correlation(rows[:MOST_ROWS])[np.ix_(schema.first_columns, schema.first_columns)]
    closeness = np.maximum(absolute_correlation(inputs, np.array(of_input) if of_input else None), apart)
    found = replacements(judged, candidates(judged.masks, closeness), fitted.network.architecture.forced)
    names = [schema.names[column] for column in schema.first_columns]
    told = tuple(one._replace(feature=names[one.feature], by=names[one.by]) for one in found)
    return replace(fitted, replacements=told)


def judged_rows(fitted: FittedModel, rows: Any, y: np.ndarray, as_many: bool) -> Rows:
    """The masks of rows by gate, and what rows lose that are shown others."""
    numbers, task = _numbers(fitted, y, as_many)

    def losses(shown: np.ndarray, where: np.ndarray) -> np.ndarray:
        outputs = []
        for part, network, x in fitted.blocks(rows):
            mask = torch.from_numpy(shown[part]).to(x.device, x.dtype).unsqueeze(0)
            outputs.append(fitted.output_of(network, x, mask)[0].double().cpu())
        rows_of = torch.cat(outputs)[None], torch.from_numpy(numbers)[None], torch.from_numpy(where)[None]
        return losses_at_best_confidence(task, *rows_of)[0].numpy()

    return Rows(dense(fitted.masks(rows))[:, fitted.schema.first_columns], losses)


def _numbers(fitted: FittedModel, y: np.ndarray, as_many: bool) -> tuple[np.ndarray, Task]:
    """Targets as the network was taught them, and their loss."""
    target, n_outputs = fitted.target, fitted.network.architecture.n_outputs
    if target.kind not in ("classes", "values") or (target.kind == "values" and n_outputs > 1) or y.ndim != 1:
        raise ValueError(
            "rows judge replacements by one class or one value each; this y, or this model, has other targets"
        )
    if not as_many:
        raise ValueError("X and y must have as many rows as each other")
    if target.classes is None:
        return (y - target.centre) / target.spread, Task(None)
    unknown = y[~np.isin(y, target.classes)]
    if len(unknown):
        raise ValueError(f"y holds {unknown[0]!r}, which is not one of the model's classes")
    order = np.argsort(target.classes)
    return order[np.searchsorted(target.classes, y, sorter=order)], Task(n_outputs)
