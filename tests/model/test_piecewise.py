"""Numbers cut at quantiles, against numpy's interpolation."""

import numpy as np
import pytest
import torch

from sklar.model.masked_predictor import MaskedPredictor
from sklar.model.piecewise import Piecewise, cut_inputs
from tests.helpers import seeded


def rows(n=200):
    """Two columns of numbers, one half of whose values are equal, one of two values, and their intervals."""
    x = torch.randn(1, n, 4, generator=seeded(0), dtype=torch.float64)
    x[..., 2] = x[..., 2].clamp_min(0)
    x[..., 3] = (x[..., 3] > 0).double()
    return x


def pieces_of(x, n_bins=4, each=1):
    return Piecewise.of(x, cut_inputs(x, None), n_bins, each).double()


def test_intervals_have_equally_many_rows():
    x = rows()
    pieces = Piecewise.of(x, torch.tensor([0]), 4).double()
    edges = torch.quantile(x[0, :, 0], torch.linspace(0, 1, 5, dtype=torch.float64))
    torch.testing.assert_close(pieces.lower[0, 0], edges[:-1], atol=1e-6, rtol=0)
    passed = pieces.passed(x[..., :1])[0, :, 0]
    inside = ((passed > 0) & (passed < 1)).sum(0)
    assert (inside - 50).abs().max() <= 1


def test_what_they_add_is_standardised():
    x = rows()
    values = pieces_of(x)(x)[0]
    scale = pieces_of(x).scale[0].flatten()
    torch.testing.assert_close(values.mean(0), torch.zeros(16, dtype=torch.float64), atol=1e-5, rtol=0)
    torch.testing.assert_close(values.std(0)[scale > 0], torch.ones(int((scale > 0).sum())).double(), atol=1e-5, rtol=0)
    assert values[:, scale == 0].abs().max() == 0  # intervals between equal quantiles


def test_weighted_sums_are_interpolated_between_their_values_at_the_edges():
    """numpy.interp is the oracle, also beyond the first and last edge."""
    x, weight = rows(), torch.randn(1, 16, 3, generator=seeded(1), dtype=torch.float64)
    pieces = pieces_of(x)
    new = 2 * torch.randn(1, 50, 4, generator=seeded(2), dtype=torch.float64)
    summed = (pieces(new).unflatten(-1, (4, 4)).unsqueeze(-1) * weight.view(1, 1, 4, 4, 3)).sum(3)  # (1, n, M, h)
    at_edges = pieces.at_edges(weight)
    for column in range(4):
        width = torch.where(pieces.inverse_width > 0, 1 / pieces.inverse_width, 0.0)[0, column]
        lower = pieces.lower[0, column]
        edges = torch.cat([lower, (lower + width)[-1:]]).numpy()
        for unit in range(3):
            wanted = np.interp(new[0, :, column].numpy(), edges, at_edges[0, column, :, unit].numpy())
            np.testing.assert_allclose(summed[0, :, column, unit].numpy(), wanted, atol=1e-6)
        edge, share = pieces.place(new[0, :, column].contiguous(), torch.full((50,), column))
        below, above = at_edges[0, column][edge], at_edges[0, column][edge + 1]
        torch.testing.assert_close(torch.lerp(below, above, share[:, None]), summed[0, :, column], atol=1e-6, rtol=0)


@pytest.mark.parametrize("of_input", [None, torch.tensor([0, 1, 1, 2])])
def test_a_predictor_of_pieces_flips_adds_up_and_narrows_as_masks_say(of_input):
    x = rows(30).float().repeat(2, 1, 1)
    pieces = Piecewise.of(x[:1], cut_inputs(x[:1], of_input), 4, each=2)
    d = 4 if of_input is None else 3
    net = MaskedPredictor(d, 5, 2, 2, seeded(3), of_input, pieces)
    mask = (torch.rand(2, 30, d, generator=seeded(4)) < 0.5).float()
    index = torch.rand(2, 30, d, generator=seeded(5)).argsort(-1)[..., :2]
    steps = net.flip_step(x, mask, index)
    before = net.before_activation(x, mask)
    for place in range(2):
        one = index[..., place : place + 1]
        flipped = mask.scatter(-1, one, 1 - mask.gather(-1, one))
        torch.testing.assert_close(steps[:, :, place], net.before_activation(x, flipped) - before, atol=1e-5, rtol=1e-5)
    row, gate = torch.tensor([1, 1, 40]), torch.tensor([0, 2, 1])
    sign = 1 - 2 * mask.flatten(0, 1)[row, gate]
    changed = mask.clone()
    changed.flatten(0, 1)[row, gate] += sign
    added = net.sum_of_steps(x, row, gate, sign, torch.tensor([0, 2]))
    wanted = (net.before_activation(x, changed) - before).flatten(0, 1)[[1, 40]]
    torch.testing.assert_close(added, wanted, atol=1e-5, rtol=1e-5)
    keep = torch.tensor([[0, 2]]).expand(2, -1)
    inputs = [0, 2] if of_input is None else [0, 3]
    only = mask * torch.tensor([1.0, 0, 1, 0][:d])
    torch.testing.assert_close(net.only(keep)(x[..., inputs], mask[..., [0, 2]]), net(x, only), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(net.part(slice(1, 2))(x[1:], mask[1:]), net(x, mask)[1:])


def test_many_rows_are_judged_in_blocks(monkeypatch):
    x = rows(30).float()
    net = MaskedPredictor(4, 5, 2, 1, seeded(3), None, Piecewise.of(x, torch.arange(4), 4))
    mask = torch.ones(1, 30, 4)
    whole = net(x, mask)
    monkeypatch.setattr("sklar.model.masked_predictor.MOST_VALUES", 20 * 7)
    with torch.no_grad():
        torch.testing.assert_close(net(x, mask), whole.detach())


def test_categories_are_not_cut():
    x = torch.cat([rows(), (torch.rand(1, 200, 1, generator=seeded(6)) > 0.5).double()], dim=-1)
    assert cut_inputs(x, torch.tensor([0, 1, 2, 3, 3])).tolist() == [0, 1, 2]
    assert cut_inputs(x, None).tolist() == [0, 1, 2, 3, 4]
