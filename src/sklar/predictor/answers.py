"""A predictor of the user's, after `fit`: it answers about any features of a row, as the networks' predictors do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sklar.model.honest_model import mean_output
from sklar.model.selection import GateModel
from sklar.predictor.conversion import TreeModel
from sklar.predictor.inputs import ShownInputs

LEAST = 1e-12  # probability, or expected count, whose logarithm is taken


@dataclass(frozen=True)
class UserPredictor:
    """Fitted estimators, one an output (one in all for classes), and what they read."""

    inputs: ShownInputs
    kind: str  # of the target, one of `target.KINDS`
    models: tuple[Any, ...]  # estimators, or their trees (`TreeModel`), which a file can hold
    name: str  # of the estimator, for messages
    with_networks: bool = False  # whether what is predicted is the mean of this and of the networks

    def output(self, network: GateModel, x: Tensor, mask: Tensor) -> Tensor:
        """In place of a network's output: inputs (1, n, D), open gates (1, n, d) -> logits or values (1, n, out)."""
        found = torch.from_numpy(self.outputs(x[0].cpu().numpy(), mask[0].cpu().numpy() > 0))
        found = found[None].to(x.device, x.dtype)
        if not self.with_networks:
            return found
        both = torch.cat([network.output(x, mask), found])
        return mean_output(both, network.architecture)

    def outputs(self, x: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """The same in numpy, of (n, D) and bool (n, d): (n, out)."""
        shown = self.inputs.hidden(self.inputs.values(x), masks)
        return np.column_stack([said(model, shown, self.kind) for model in self.models])

    @property
    def is_plain(self) -> bool:
        """Whether a file can hold it."""
        return all(isinstance(model, TreeModel) for model in self.models)


def said(model: Any, x: np.ndarray, kind: str) -> np.ndarray:
    """The outputs of one estimator for rows (n, C): logits (n, classes), or (n,)."""
    if kind == "classes":
        return np.log(np.maximum(model.predict_proba(x), LEAST))
    if kind == "labels":
        p = np.clip(model.predict_proba(x)[:, 1], LEAST, 1 - LEAST)
        return np.log(p) - np.log1p(-p)
    value = np.asarray(model.predict(x), dtype=np.float64)
    return np.log(np.maximum(value, LEAST)) if kind == "counts" else value
