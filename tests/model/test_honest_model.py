"""The model that honest training leaves."""

import torch

from sklar.model.honest_model import HonestArchitecture, HonestModel
from tests.helpers import seeded


def model_with(**words):
    return HonestModel(
        HonestArchitecture(n_features=4, n_outputs=3, n_factors=2, n_folds=3, **words), seeded()
    ).double()


def test_the_prediction_is_the_mean_of_the_folds_probabilities():
    model, x = model_with(), torch.randn(1, 6, 4, generator=seeded(1), dtype=torch.float64)
    mask = (torch.rand(1, 6, 4, generator=seeded(2)) < 0.5).double()
    each = model.predictors(x.expand(3, -1, -1), mask.expand(3, -1, -1)).softmax(-1)
    torch.testing.assert_close(model.output(x, mask).softmax(-1)[0], each.mean(0))


def test_the_correlation_is_one_for_all_rows():
    model = model_with()
    with torch.no_grad():
        model.loadings.normal_(generator=seeded(3))
    x = torch.randn(1, 6, 4, dtype=torch.float64, generator=seeded(4))
    covariance = model.covariance(model.gates(x)).dense()
    torch.testing.assert_close(covariance, model.loadings @ model.loadings.T + torch.eye(4, dtype=torch.float64))


def test_masks_drawn_follow_the_scores():
    model, n = model_with(), 20_000
    x = torch.zeros(1, n, 4, dtype=torch.float64)
    choice = model.gates(x)
    shares = (model.sample(choice, (1, n), seeded(5)) > 0.5).double().mean(1)[0]
    error = (torch.sigmoid(choice.scores[0, 0]) / n) ** 0.5
    assert ((shares - torch.sigmoid(choice.scores[0, 0])).abs() < 6 * error).all()  # 6 deviations: below 1e-8


def test_out_of_fold_is_what_the_predictor_of_the_own_fold_says():
    model = model_with()
    x = torch.randn(1, 6, 4, dtype=torch.float64, generator=seeded(6))
    mask, folds = torch.ones_like(x), torch.tensor([[0, 1, 2, 2, 1, 0]])
    each = model.predictors(x.expand(3, -1, -1), mask.expand(3, -1, -1))
    expected = torch.stack([each[fold, row] for row, fold in enumerate(folds[0].tolist())])
    torch.testing.assert_close(model.out_of_fold(x, mask, folds)[0], expected)
