"""Gates of several inputs: every short cut gives what the long way gives."""

import numpy as np
import pytest
import torch

from sklar.model.blocks import correlated_blocks
from sklar.model.gates import Gates, group_size, inputs_of, largest_by_gate, renumbered, sum_by_gate, to_inputs
from sklar.model.masked_predictor import MaskedPredictor
from tests.helpers import seeded

OF_INPUT = torch.tensor([0, 0, 1, 2, 2, 2, 3])  # 7 inputs, 4 gates


def predictor(replicas=2):
    return MaskedPredictor(4, 8, 3, replicas, seeded(), OF_INPUT).double()


def rows_and_masks(n=6, replicas=2):
    x = torch.randn(replicas, n, 7, generator=seeded(1)).double()
    return x, (torch.rand(replicas, n, 4, generator=seeded(2)) < 0.5).double()


def test_a_gate_opens_all_its_inputs():
    gates = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert to_inputs(gates, OF_INPUT).tolist() == [1, 1, 2, 3, 3, 3, 4]
    assert sum_by_gate(torch.arange(7.0), OF_INPUT, 4).tolist() == [1, 2, 12, 6]
    assert largest_by_gate(torch.tensor([3.0, 1, -2, -5, -4, -6, 0]), OF_INPUT, 4).tolist() == [3, -2, -4, 0]
    assert group_size(OF_INPUT, 4).tolist() == [2, 1, 3, 1]


def test_gates_can_be_kept_in_any_order():
    keep = torch.tensor([2, 0])
    assert inputs_of(OF_INPUT, keep).tolist() == [3, 4, 5, 0, 1]
    assert renumbered(OF_INPUT, keep).tolist() == [0, 0, 0, 1, 1]
    kept = Gates.of(4, OF_INPUT.tolist(), forced=[0], cost=[1, 2, 3, 4]).only(keep)
    assert kept.of_input.tolist() == [0, 0, 0, 1, 1]
    assert (kept.forced.tolist(), kept.cost.tolist()) == ([False, True], [3, 1])


def test_what_says_nothing_is_not_looked_up():
    gates = Gates.of(3, [0, 1, 2], cost=[1, 1, 1])
    assert gates.plain
    assert gates.n_inputs == 3
    assert Gates.of(4, OF_INPUT.tolist()).only(torch.tensor([1, 3])).of_input is None


def test_a_flip_is_the_difference_of_two_first_layers():
    judge, (x, mask) = predictor(), rows_and_masks()
    index = torch.tensor([3, 0, 2]).expand(2, 6, 3)
    steps = judge.flip_step(x, mask, index)
    for k, gate in enumerate([3, 0, 2]):
        flipped = mask.clone()
        flipped[..., gate] = 1 - flipped[..., gate]
        torch.testing.assert_close(
            steps[:, :, k], judge.before_activation(x, flipped) - judge.before_activation(x, mask)
        )


def test_a_flip_of_inputs_that_are_all_0_is_that_of_the_mask():
    judge, (x, mask) = predictor(), rows_and_masks()
    index = torch.tensor([2, 1]).expand(2, 6, 2)
    sign = 1 - 2 * mask.gather(-1, index)
    of_mask = judge.first.weight[:, judge.n_inputs :][:, [2, 1]].unsqueeze(1)
    torch.testing.assert_close(judge.flip_step(0 * x, mask, index), sign.unsqueeze(-1) * of_mask)


@pytest.mark.parametrize("of_input", [OF_INPUT, None])
def test_changes_of_several_gates_add_up(of_input):
    """Groups of changes: two gates of row 1, one of row 8 (the third of the second replica)."""
    x, mask = rows_and_masks()
    judge = predictor() if of_input is not None else MaskedPredictor(7, 5, 2, 2, seeded()).double()
    if of_input is None:
        mask = torch.ones_like(x) * (x > 0)
    changed, row, gate = mask.clone(), torch.tensor([1, 1, 8]), torch.tensor([0, 2, 3])
    sign = 1 - 2 * mask.flatten(0, 1)[row, gate]
    changed.flatten(0, 1)[row, gate] += sign
    added = judge.sum_of_steps(x, row, gate, sign, torch.tensor([0, 2]))
    expected = (judge.before_activation(x, changed) - judge.before_activation(x, mask)).flatten(0, 1)
    torch.testing.assert_close(added, expected[[1, 8]])
    assert expected.abs().sum(-1).nonzero().flatten().tolist() == [1, 8]


def test_a_hidden_gate_hides_all_its_inputs():
    judge, (x, mask) = predictor(), rows_and_masks()
    mask[..., 2] = 0
    other = x.clone()
    other[..., 3:6] = 99.0
    torch.testing.assert_close(judge(x, mask), judge(other, mask))


def test_a_narrow_predictor_is_the_wide_one_with_the_others_hidden():
    judge, (x, mask) = predictor(), rows_and_masks()
    keep = torch.tensor([2, 0])
    narrow = judge.only(keep.expand(2, -1)).double()
    shown = torch.zeros_like(mask)
    shown[..., keep] = mask[..., keep]
    torch.testing.assert_close(narrow(x[..., inputs_of(OF_INPUT, keep)], mask[..., keep]), judge(x, shown))


def test_blocks_of_gates_join_where_any_of_their_inputs_is_correlated():
    x = np.random.default_rng(0).standard_normal((500, 7))
    x[:, 6] = x[:, 4] + 0.1 * x[:, 6]  # gate 3 copies an input of gate 2
    assert correlated_blocks(x, of_input=OF_INPUT.numpy()) == ((0,), (1,), (2, 3))
