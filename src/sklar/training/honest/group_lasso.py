"""The group lasso of both networks' first layers, as proximal steps: a feature that is not worth its weights goes."""

from __future__ import annotations

import torch
from torch import Tensor

from sklar.model.gates import Gates, group_size, sum_by_gate, to_inputs
from sklar.model.masked_predictor import MaskedPredictor


def shrink_inputs(weight: Tensor, amount: float | Tensor, gates: Gates | None = None) -> None:
    """The proximal step of a group lasso: each feature's weights lose `amount` of their length.

    weight : (P, D, h); the m inputs of one gate are one group, and lose sqrt(m) times as much.
    """
    length = weight.norm(dim=-1, keepdim=True)
    if gates is not None and gates.of_input is not None:
        squares = sum_by_gate(length.squeeze(-1).square(), gates.of_input, gates.n)
        length = to_inputs(squares.sqrt() / group_size(gates.of_input, gates.n).sqrt(), gates.of_input).unsqueeze(-1)
    weight.mul_((1 - amount / length.clamp_min(1e-12)).clamp_min(0))


def shrink_features(predictor: MaskedPredictor, amount: float | Tensor) -> None:
    """The proximal step of a group lasso: a feature's weights, of value and mask together, lose `amount` of length.

    A feature of m values loses sqrt((m + 1) / 2) times as much: steps of Adam grow with the root of their number.
    """
    if predictor.gate_of_value is None:
        weight = predictor.first.weight.unflatten(1, (2, predictor.n_features))  # (R, 2, d, h)
        length = weight.square().sum((1, 3), keepdim=True).sqrt()
        weight.mul_((1 - amount / length.clamp_min(1e-12)).clamp_min(0))
        return
    weight, of_value = predictor.first.weight, predictor.gate_of_value
    squares = weight.square().sum(-1)  # (R, n_values + d)
    of_values = sum_by_gate(squares[:, : predictor.n_values], of_value, predictor.n_features)
    length = (of_values + squares[:, predictor.n_values :]).sqrt()
    amount = amount * ((group_size(of_value, predictor.n_features) + 1) / 2).sqrt()
    factor = (1 - amount / length.clamp_min(1e-12)).clamp_min(0)  # (R, d)
    weight.mul_(torch.cat([to_inputs(factor, of_value), factor], dim=1).unsqueeze(-1))
