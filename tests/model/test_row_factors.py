"""Correlations of single rows, and which features a substitute beats there."""

import torch

from sklar.model.honest_model import HonestArchitecture, HonestModel
from sklar.model.row_factors import RowFactors, beaten, row_loadings
from tests.helpers import seeded


def test_at_the_start_all_rows_share_the_loadings():
    network = RowFactors(4, 8, 3, 2, seeded())
    s = network(torch.randn(2, 10, 4, generator=seeded(1)))
    assert torch.equal(s, torch.ones(2, 10, 3))
    loadings = torch.randn(2, 5, 3, generator=seeded(2))
    assert torch.equal(row_loadings(loadings, s), loadings.unsqueeze(1).expand(-1, 10, -1, -1))


def test_a_row_keeps_the_better_of_two_where_they_exclude_each_other_there():
    loadings = torch.tensor([[[3.0], [-3.0], [0.0]]])  # R = -.9 where s is 1, -.08 where it is .1
    s = torch.tensor([[[1.0], [0.1], [1.0], [1.0]]])
    scores = torch.tensor([[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0], [2.0, 1.0, 1.0], [1.0, -2.0, 1.0]]])
    pairs = torch.zeros(1, 3, 3, dtype=torch.bool)
    pairs[0, 0, 1] = pairs[0, 1, 0] = True
    lost = beaten(scores > 0, scores, loadings, s, pairs)
    nothing = [False, False, False]
    assert lost[0].tolist() == [[True, False, False], nothing, [False, True, False], nothing]
    assert not beaten(scores > 0, scores, loadings, s, torch.zeros_like(pairs)).any()


def with_row_part(d=4, d_hidden=3):
    """A model whose gates 0 and 1 exclude each other where x3 > 0."""
    model = HonestModel(HonestArchitecture(d, 2, n_factors=1, choice_hidden=8, row_hidden=d_hidden), seeded()).double()
    with torch.no_grad():
        model.choice.scores.weight.zero_()
        model.choice.scores.bias.copy_(torch.tensor([1.0, 2.0, 1.0, -1.0]))
        model.loadings.copy_(torch.tensor([[4.0], [-4.0], [0.0], [0.0]]))
        model.contested[0, 1] = model.contested[1, 0] = True
        for layer in (model.row_factors.first, model.row_factors.last):
            layer.weight.zero_()
            layer.bias.zero_()
        model.row_factors.first.weight[0, 3, 0] = 100.0
        model.row_factors.last.weight[0, 0, 0] = 1.0
        model.row_factors.last.bias[:] = -6.0
    return model.eval()


def test_a_model_decides_row_by_row():
    model = with_row_part()
    x = torch.zeros(1, 2, 4, dtype=torch.float64)
    x[0, :, 3] = torch.tensor([1.0, -1.0])
    assert model.mask(x)[0].tolist() == [[False, True, True, False], [True, True, True, False]]
    assert torch.equal(model.gate_scores(x)[0, 0], model.gate_scores(x)[0, 1])
    correlation = model.covariance(model.gates(x)).correlation()[0, :, 0, 1]
    assert correlation[0] < -0.9
    assert correlation[1] > -0.1
    shared = model.shared()
    assert shared.covariance(shared.gates(x)).correlation()[0, 1] < -0.9
    assert shared.row_factors is None
    assert model.row_factors is not None
