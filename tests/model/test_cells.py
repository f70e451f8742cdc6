"""What opening gates adds to a first layer, as rows of a table of weights: against the dense product."""

import pytest
import torch

from sklar.model.cells import Cells
from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.piecewise import Piecewise
from tests.helpers import seeded

GATE_OF_INPUT = torch.tensor([0, 0, 0, 1, 2, 2])  # three categories, a number, a number that may be missing


def example(cut):
    generator = seeded(1)
    x = torch.randn(2, 7, 6, generator=generator, dtype=torch.float64)
    x[..., :3] = torch.nn.functional.one_hot(torch.randint(0, 3, (2, 7), generator=generator), 3)
    x[:, :2] = 0.0  # a category that is not known, and numbers that are 0
    pieces = Piecewise.of(x, torch.tensor(cut), 4) if cut else None
    return x, MaskedPredictor(3, 5, 2, 2, seeded(), GATE_OF_INPUT, pieces).double()


@pytest.mark.parametrize("cut", [[], [3], [3, 4]])
def test_opening_every_gate_of_every_row(cut):
    x, judge = example(cut)
    cells = judge.cells(x)
    cell = torch.arange(2 * 7 * 3)
    steps = judge.sum_of_steps(x, cell // 3, cell % 3, torch.ones(42, dtype=torch.float64), cell, cells)
    for gate in range(3):
        shut, opened = torch.zeros(2, 7, 3).double(), torch.zeros(2, 7, 3).double()
        opened[..., gate] = 1.0
        expected = judge.before_activation(x, opened) - judge.before_activation(x, shut)
        torch.testing.assert_close(steps.view(2, 7, 3, -1)[:, :, gate], expected)


@pytest.mark.parametrize("cut", [[], [3, 4]])
def test_only_what_is_not_zero_is_summed_up(cut):
    x, judge = example(cut)
    cells = judge.cells(x)
    assert isinstance(cells, Cells)
    assert cells.sizes.sum() == len(cells.number) == len(cells.factor)
    nothing = cells.sizes.view(2, 7, 3)[:, 0]  # masks alone, and three rows of every number that is cut
    assert torch.equal(nothing, torch.tensor([1, 1 + 3 * (3 in cut), 1 + 3 * (4 in cut)]).expand(2, 3))


def test_known_cells_change_no_bit():
    x, judge = example([3])
    x, judge = x.float(), judge.float()
    index = torch.tensor([2, 0]).expand(2, 7, 2)
    mask = (torch.rand(2, 7, 3, generator=seeded(2)) < 0.5).float()
    assert torch.equal(judge.flip_step(x, mask, index), judge.flip_step(x, mask, index, judge.cells(x)))


def test_one_input_a_gate_needs_none():
    assert MaskedPredictor(3, 5, 2).cells(torch.zeros(1, 2, 3)) is None
