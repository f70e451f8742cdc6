"""What an estimator gives to training, and what it gets back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from sklar.model.ensemble import EnsembleModel
from sklar.model.gates import Gates
from sklar.model.selection import GateModel
from sklar.training.engine.loop import Record
from sklar.training.engine.renewal import Reader
from sklar.training.penalty_path import PenaltyPath
from sklar.training.replacement import Replacement, agreed


class TrainingData(NamedTuple):
    """Rows to learn from."""

    x: Tensor  # scaled, (n, D)
    y: Tensor  # encoded targets, (n,)
    weight: Tensor | None  # of the rows, (n,); None is 1
    gates: Gates
    more: Reader | None = None  # of the table that these rows are a sample of; None where they are all of it


class Trained(NamedTuple):
    """What training leaves an estimator with."""

    model: GateModel
    union: list[int]  # the features (gates) that the model reads
    penalty: float
    path: PenaltyPath
    history: list[Record]
    priced: GateModel | None = None  # what is asked at other penalties
    folds: tuple[np.ndarray, ...] = ()  # of each model with cross-fitted predictors, the fold of each row (n,)
    replacements: tuple[Replacement, ...] = ()  # of features (gates), that rows judged out of fold bear out


def with_defaults(params: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """An estimator's parameters, those at None replaced by the objective's default."""
    return {name: defaults.get(name) if value is None else value for name, value in params.items()}


def combined(members: list[Trained]) -> Trained:
    """One training as it is; several as an ensemble, with the means of their penalties and paths."""
    if len(members) == 1:
        return members[0]
    unions = [member.union for member in members]
    model, union = EnsembleModel.of([member.model for member in members], unions)
    of_price = [member.priced for member in members if member.priced is not None]
    priced = EnsembleModel.of(of_price, unions)[0] if of_price else None
    paths = [member.path for member in members if member.path]
    path = {key: np.mean([p[key] for p in paths], axis=0).tolist() for key in paths[0]} if paths else {}
    history: list[Record] = [{**record, "model": i} for i, member in enumerate(members) for record in member.history]
    penalty = float(np.mean([member.penalty for member in members]))
    replacements = agreed([member.replacements for member in members])
    folds = tuple(fold for member in members for fold in member.folds)
    return Trained(model, union, penalty, path, history, priced, folds, replacements)
