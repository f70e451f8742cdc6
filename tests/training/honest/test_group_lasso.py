"""Every feature loses the same length, and a gate's inputs are one feature."""

import pytest
import torch

from sklar.model.gates import Gates
from sklar.model.masked_predictor import MaskedPredictor
from sklar.training.honest.group_lasso import shrink_features, shrink_inputs
from tests.helpers import seeded

OF_INPUT = torch.tensor([0, 0, 1, 2, 2, 2, 3])


def test_shrinking_can_remove_an_input():
    weight = torch.tensor([[[3.0, 4.0], [0.03, 0.04]]])
    shrink_inputs(weight, 1.0)
    torch.testing.assert_close(weight, torch.tensor([[[2.4, 3.2], [0.0, 0.0]]]))


def test_shrinking_takes_the_same_length_from_every_feature():
    predictor = MaskedPredictor(3, 8, 2, 4, seeded())
    weight = predictor.first.weight.detach().clone().unflatten(1, (2, 3))
    with torch.no_grad():
        shrink_features(predictor, 0.1)
    length, after = (w.square().sum((1, 3)).sqrt() for w in (weight, predictor.first.weight.unflatten(1, (2, 3))))
    torch.testing.assert_close(after, (length - 0.1).clamp_min(0))


def test_the_inputs_of_a_gate_shrink_together():
    judge = MaskedPredictor(4, 8, 3, 1, seeded(), OF_INPUT).double()
    weight = judge.first.weight.detach().clone()[0]
    with torch.no_grad():
        shrink_features(judge, 0.1)
    after = judge.first.weight.detach()[0]
    for gate, size in enumerate([2, 1, 3, 1]):
        mine = torch.cat([torch.nonzero(OF_INPUT.eq(gate)).flatten(), torch.tensor([7 + gate])])
        lost = weight[mine].norm() - after[mine].norm()
        assert lost == pytest.approx(0.1 * ((size + 1) / 2) ** 0.5)
        torch.testing.assert_close(after[mine] / after[mine].norm(), weight[mine] / weight[mine].norm())


def test_the_selectors_inputs_shrink_together_too():
    weight = torch.randn(1, 7, 5, generator=seeded())
    after = weight.clone()
    shrink_inputs(after, 0.2, Gates.of(4, OF_INPUT.tolist()))
    for gate, size in enumerate([2, 1, 3, 1]):
        mine = OF_INPUT.eq(gate)
        assert weight[0, mine].norm() - after[0, mine].norm() == pytest.approx(0.2 * size**0.5, rel=1e-4)
