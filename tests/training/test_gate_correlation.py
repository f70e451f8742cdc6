"""What the learned correlation of gates says about features; its gradient is tested with the others in gradients."""

import torch

from sklar.training.gate_correlation import GateCorrelation
from tests.helpers import seeded


def with_loadings(rows):
    correlation = GateCorrelation(1, len(rows), len(rows[0]), seeded())
    with torch.no_grad():
        correlation.loadings.copy_(torch.tensor([rows]))
    return correlation


def test_gates_that_exclude_each_other_are_of_features_that_stand_for_each_other():
    # R = l_i . l_j / sqrt((|l_i|^2 + 1)(|l_j|^2 + 1)): -.9 for the first two, +.9 for the third and the fourth
    substitutes = with_loadings([[3.0, 0.0], [-3.0, 0.0], [0.0, 3.0], [0.0, 3.0]]).substitutes()
    expected = torch.zeros(1, 4, 4, dtype=torch.bool)
    expected[0, 0, 1] = expected[0, 1, 0] = True
    assert torch.equal(substitutes, expected)


def test_a_chain_is_one_group():
    # three unit vectors 120 degrees apart, long: every pair at about -.5, here made a chain by the middle one
    chain = with_loadings([[6.0, 0.0], [-4.5, 4.5], [0.0, -6.0]])
    root = chain.root()[0]
    assert root[0] @ root[1] < -0.5
    assert root[1] @ root[2] < -0.5
    assert root[0] @ root[2] > -0.5
    assert chain.substitutes().sum() == 6
