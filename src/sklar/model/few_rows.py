"""An honest model's answers about a few rows, in numpy: there a call of torch costs more than the products themselves.

The networks are those of `honest_model`, in the same precision; `tests/model/test_few_rows.py` compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sklar.model.gates import OPEN
from sklar.model.honest_model import HonestModel, mean_output
from sklar.model.networks import StackedLinear

MOST_ROWS = 32  # with more, torch is quicker


class Layer(NamedTuple):
    """R linear layers: (R, n, n_in) -> (R, n, n_out)."""

    weight: np.ndarray
    bias: np.ndarray

    @classmethod
    def of(cls, layer: StackedLinear) -> Layer:
        """The weights of a torch layer, shared with it."""
        return cls(layer.weight.detach().numpy(), layer.bias.detach().numpy())

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """x W + b."""
        found = x @ self.weight
        found += self.bias
        return found


def relu(x: np.ndarray) -> np.ndarray:
    """In place."""
    return np.maximum(x, 0.0, out=x)


class FewRows:
    """The decisions and outputs of an honest model on a CPU."""

    def __init__(self, model: HonestModel) -> None:
        self.model, a = model, model.architecture
        choice, predictors = model.choice, model.predictors
        # one replica: plain matrices, which numpy multiplies without a loop over stacks
        self.scorer = [Layer(w[0], b[0]) for w, b in map(Layer.of, (choice.first, choice.second, choice.scores))]
        self.predictor = [Layer.of(layer) for layer in (predictors.first, predictors.second, predictors.last)]
        self.of_value = None if predictors.gate_of_value is None else predictors.gate_of_value.numpy()
        self.pieces = predictors.pieces
        self.forced = None if model.forced is None else model.forced.numpy()
        self.is_simple = a.k is None and not a.min_features and not bool(model.substitutes.any())

    @classmethod
    def of(cls, model: object) -> FewRows | None:
        """Of a model that numpy can be asked instead of; None of any other."""
        if type(model) is not HonestModel or model.architecture.activation != "relu":
            return None
        if model.architecture.row_hidden or model.is_prefix:
            return None
        return cls(model) if next(model.parameters()).device.type == "cpu" else None

    def scores(self, x: np.ndarray) -> np.ndarray:
        """alpha of rows (n, D): (n, d)."""
        first, second, last = self.scorer
        scores = last(relu(second(relu(first(x)))))
        if self.forced is not None:
            scores[:, self.forced] = OPEN
        return scores

    def mask(self, x: np.ndarray) -> np.ndarray:
        """Which features decide rows (n, D), without noise: bool (n, d)."""
        scores = self.scores(x)
        if self.is_simple:
            return scores > 0
        return self.model.decide(self.model.one_of_each(torch.from_numpy(scores).unsqueeze(0)))[0].numpy()

    def values(self, x: np.ndarray) -> np.ndarray:
        """What the predictors read of rows (n, D), which is the same for all of them: (n, n_values)."""
        if self.pieces is None:
            return x
        parts = (self.pieces.lower, self.pieces.inverse_width, self.pieces.mean, self.pieces.scale)
        lower, inverse, mean, scale = (part[0].numpy() for part in parts)
        passed = np.clip((x[:, self.pieces.cut.numpy(), None] - lower) * inverse, 0, 1)
        return np.concatenate([x, ((passed - mean) * scale).reshape(len(x), -1)], axis=1)

    def output(self, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The mean of the fold predictors from the features shown: (n, out)."""
        shown = mask if self.of_value is None else mask[:, self.of_value]
        inputs = np.concatenate([self.values(x) * shown, mask - 0.5], axis=1)
        first, second, last = self.predictor
        outputs: Tensor = torch.from_numpy(last(relu(second(relu(first(inputs))))))
        return mean_output(outputs, self.model.architecture)[0].numpy()
