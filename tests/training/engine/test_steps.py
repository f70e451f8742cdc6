"""The loop over steps, and honest training as a GPU replays it."""

import pytest
import torch
from torch import nn

from sklar.training.engine.optim import RateSchedule
from sklar.training.engine.steps import scheduled


def test_every_optimiser_has_the_rate_of_its_schedule():
    weight, rates = nn.Parameter(torch.ones(1)), []
    first, second = torch.optim.SGD([weight], lr=9.0), torch.optim.SGD([weight], lr=9.0)
    schedules = [(first, RateSchedule(1.0)), (second, RateSchedule(0.5, warm_up=2, floor=1.0))]
    for k in scheduled(10, schedules):
        rates.append((k, [optimiser.param_groups[0]["lr"] for optimiser in (first, second)]))
    assert rates == [(k, [schedule.at(k, 10) for _, schedule in schedules]) for k in range(10)]


@pytest.mark.gpu
@pytest.mark.parametrize("covariance", ["low-rank", "independent"])
def test_honest_training_is_captured_and_replayed(covariance):
    from sklar.training.honest.folds import deal
    from sklar.training.honest.scoring import PenaltyRange
    from sklar.training.honest.selector import train_selector
    from sklar.training.honest.settings import PredictorSettings, SelectorSettings
    from tests.training.small import parts_of, undecided

    device = torch.device("cuda")
    generator = torch.Generator(device).manual_seed(0)
    x = torch.randn(1, 2000, 12, generator=generator, device=device)
    folds = deal(x, (x[..., 0] > 0).long(), 4, 0.2, generator)
    selector, predictors = parts_of(folds, SelectorSettings(covariance=covariance), PredictorSettings(), generator)
    price = torch.full((1,), -4.0, device=device)
    trained = train_selector(selector, predictors, PenaltyRange(price, price), 300, folds.n_train)
    shown = trained.masks(x, price, undecided(trained)).mean(1)[0]
    assert torch.isfinite(trained.network.scores.weight).all()
    assert shown[0] > 0.9
    assert shown[1:].mean() < 0.3
