"""A second selector for every price, beside a fit that stays as it is."""

import numpy as np
import pytest
import torch

from sklar import CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.training.honest import settings as honest_settings
from sklar.training.honest.prices import widened


def test_steps_of_the_grid_go_on():
    grid = 0.001 * torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    wide = widened(grid.log(), 2, torch.tensor([0.1]).log())
    torch.testing.assert_close(wide.exp(), 0.001 * torch.tensor([[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]]))


def test_without_noise_the_penalties_still_reach_a_share_of_the_loss():
    grid = 0.0001 * torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    wide = widened(grid.log(), 4, torch.tensor([1.0]).log()).exp()
    torch.testing.assert_close(wide[:, :4], grid)
    assert wide[0, -1] == pytest.approx(0.128)


def test_it_leaves_no_trace_in_the_fit(monkeypatch):
    X, y, _ = make_synthetic("syn4", n_samples=400, random_state=0)
    both = CopulaSelectorClassifier(max_epochs=20, selector_sparsity=1.0, random_state=0).fit(X, y)
    monkeypatch.setattr(honest_settings.HonestSettings, "any_penalty", False)
    from_params = honest_settings.HonestSettings.from_params.__func__

    def without(cls, *args):
        return honest_settings.replace(from_params(cls, *args), any_penalty=False)

    monkeypatch.setattr(honest_settings.HonestSettings, "from_params", classmethod(without))
    alone = CopulaSelectorClassifier(max_epochs=20, selector_sparsity=1.0, random_state=0).fit(X, y)
    assert alone.fitted_.priced is None
    assert both.fitted_.priced is not None
    for ours, theirs in zip(both.fitted_.network.parameters(), alone.fitted_.network.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert both.penalty_ == alone.penalty_
    np.testing.assert_array_equal(both.predict_proba(X), alone.predict_proba(X))
