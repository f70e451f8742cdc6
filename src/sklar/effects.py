"""Direction and size: which way, and how much, each selected feature of a row moved its prediction.

    effect_i = f(x, z) - f(x, z without i)   where z_i = 1, else 0

with f in the outcome's units: the probability of a class, the predicted value or count, the logarithm of the hazard
ratio. The model's own predictor (or the user's) answers, which has learned from masks with features hidden at random.
Effects need not add up to f(x, z) - f(x, nothing shown): where two features work together both get their common
effect, and where one can stand for the other neither does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.fitted import FittedModel
from sklar.model.selection import GateModel
from sklar.table.cells import show_value


class Effects(NamedTuple):
    """Effects of the features of n rows."""

    values: np.ndarray  # (n, d), or (n, d, targets) of several targets; columns of a group have the group's
    base: np.ndarray  # f with nothing shown: (n,) or (n, targets)


def effects(fitted: FittedModel, rows: Any, label: int | None = None) -> Effects:
    """The effects in rows that were read; of classes on P(class number `label`), or of the predicted one (None).

    Examples
    --------
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> fitted = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0]).fitted_
    >>> values, base = effects(fitted, fitted.read(X))
    >>> values.shape, base.shape, bool((values[~fitted.masks(fitted.read(X))] == 0).all())
    ((100, 3), (100,), True)
    """
    schema, n_answers = fitted.schema, 1 if fitted.target.kind == "classes" else fitted.network.architecture.n_outputs
    values, base = np.zeros((*rows.shape, n_answers)), np.empty((rows.shape[0], n_answers))
    for part, network, x in fitted.blocks(rows, fitted.network.architecture.n_features * n_answers):
        drops, nothing = _drops(fitted, network, x, label)
        values[part][:, schema.columns] = drops[:, schema.gates]
        base[part] = nothing
    return Effects(values[..., 0], base[:, 0]) if n_answers == 1 else Effects(values, base)


def _drops(fitted: FittedModel, model: GateModel, x: Tensor, label: int | None) -> tuple[np.ndarray, np.ndarray]:
    """f(x, z) - f(x, z without i) where z_i = 1, else 0: (b, w, C); and f(x, nothing shown): (b, C)."""
    mask = model.mask(x).to(x.dtype)  # (1, b, w)
    full = fitted.output_of(model, x, mask)[0]  # (b, out)
    asked = None
    if fitted.target.kind == "classes":
        asked = full.argmax(-1) if label is None else torch.full((len(full),), label, device=x.device)

    def answers(outputs: Tensor, rows: Tensor | slice = slice(None)) -> np.ndarray:
        said = in_units(fitted, outputs.cpu().numpy())
        return said if asked is None else np.take_along_axis(said, asked[rows].cpu().numpy()[:, np.newaxis], 1)

    shown = answers(full)
    drops = np.zeros((*mask.shape[1:], shown.shape[1]))
    for gate in mask[0].any(0).nonzero().flatten().tolist():
        where = mask[0, :, gate].nonzero().flatten()
        without = mask[:, where].clone()
        without[..., gate] = 0
        here = where.cpu().numpy()
        drops[here, gate] = shown[here] - answers(fitted.output_of(model, x[:, where], without)[0], where)
    return drops, answers(fitted.output_of(model, x, torch.zeros_like(mask))[0])


def in_units(fitted: FittedModel, outputs: np.ndarray) -> np.ndarray:
    """Outputs (n, out) as probabilities, expected values or counts, or log hazard ratios: (n, out)."""
    target = fitted.target
    if target.is_classified:
        return target.probabilities(outputs)
    said = target.predictions(outputs)
    return said[:, np.newaxis] if said.ndim == 1 else said


def show_effect(effect: Any, kind: str) -> str:
    """An effect for a reader: points of probability, or what is predicted.

    Examples
    --------
    >>> show_effect(0.123, "classes"), show_effect(-31415.9, "values"), show_effect([0.2, -0.0001], "labels")
    ('+12.3 points', '-31420', '+20.0, 0.0 points')
    """
    several = effect if isinstance(effect, list | tuple) else [effect]
    if kind in ("classes", "labels"):
        return ", ".join(_signed(one, f"{100 * abs(one):.1f}") for one in several) + " points"
    shown = ", ".join(_signed(one, show_value(float(abs(one)))) for one in several)
    return f"{shown} log hazard" if kind == "risk" else shown


def _signed(value: float, shown: str) -> str:
    """Its size as it is shown, with the sign; none where that is 0."""
    return shown if float(shown) == 0 else f"{'-' if value < 0 else '+'}{shown}"
