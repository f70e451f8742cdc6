"""A row of weight w is as good as w rows."""

import pytest
import torch

from sklar.training.honest.row_means import deviation, mean_and_error
from tests.helpers import seeded


def test_weighted_means_and_errors_are_those_of_repeated_rows():
    values = torch.randn(1, 30, generator=seeded())
    times = torch.arange(30) % 3 + 1
    mean, _ = mean_and_error(values, times[None].float())
    assert float(mean) == pytest.approx(float(values[0].repeat_interleave(times).mean()), rel=1e-5)
    _, error = mean_and_error(values, torch.ones(1, 30))
    assert float(error) == pytest.approx(float(values.std(correction=0)) / 30**0.5, rel=1e-5)


def test_the_spread_of_the_loss_is_that_of_repeated_rows():
    values, times = torch.randn(1, 30, generator=seeded()), torch.arange(30) % 3 + 1
    repeated = values[0].repeat_interleave(times)
    torch.testing.assert_close(deviation(values, times[None].float()), repeated.std(correction=0)[None])
    torch.testing.assert_close(deviation(values, None), values.std(1))
