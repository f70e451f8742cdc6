"""A second selector for every price, or ranker for every k, beside a fit that stays as it is."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sklar import CopulaRankerClassifier, CopulaSelectorClassifier
from sklar.datasets import make_synthetic
from sklar.training.honest import settings as honest_settings
from sklar.training.honest.fit import fit_honest
from sklar.training.honest.prices import widened
from sklar.training.honest.settings import HonestSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

RANKER = HonestSettings(
    SelectorSettings(n_factors=2, k=3, max_excess=0.01),
    PredictorSettings(batch_size=200, k=3),
    schedule=Schedule().scaled(0.02),
    penalty=0.0,
)


def ranked(settings=RANKER):
    x = torch.randn(400, 5, generator=seeded())
    return x, fit_honest(x[None], (x[:, 0] > x[:, 1]).long()[None], Task(2), settings)


def test_steps_of_the_grid_go_on():
    grid = 0.001 * torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    wide = widened(grid.log(), 2, torch.tensor([0.1]).log())
    torch.testing.assert_close(wide.exp(), 0.001 * torch.tensor([[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]]))


def test_without_noise_the_penalties_still_reach_a_share_of_the_loss():
    grid = 0.0001 * torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    wide = widened(grid.log(), 4, torch.tensor([1.0]).log()).exp()
    torch.testing.assert_close(wide[:, :4], grid)
    assert wide[0, -1] == pytest.approx(0.128)


@pytest.mark.parametrize(("cls", "words"), [(CopulaSelectorClassifier, {}), (CopulaRankerClassifier, {"k": 3})])
def test_it_leaves_no_trace_in_the_fit(cls, words, monkeypatch):
    X, y, _ = make_synthetic("syn4", n_samples=400, random_state=0)
    model = cls(max_epochs=20, selector_sparsity=1.0, random_state=0, **words)
    both = model.fit(X, y).fitted_
    from_params = honest_settings.HonestSettings.from_params.__func__

    def without(cls, *args):
        return honest_settings.replace(from_params(cls, *args), any_penalty=False)

    monkeypatch.setattr(honest_settings.HonestSettings, "from_params", classmethod(without))
    alone = model.fit(X, y).fitted_
    assert alone.priced is None
    assert both.priced is not None
    ours = dict(both.network.named_parameters())
    for name, theirs in alone.network.named_parameters():
        assert torch.equal(ours[name], theirs)
    assert both.penalty == alone.penalty
    rows = both.read(X)
    np.testing.assert_array_equal(both.outputs(rows), alone.outputs(rows))


@pytest.mark.parametrize(("strengths", "weakest"), [((1.0, 0.1), 0.1), ((0.7,), 0.7)])
def test_fewer_features_are_chosen_with_the_weakest_strength(strengths, weakest):
    _, fit = ranked(replace(RANKER, strengths=strengths))
    assert float(fit.priced.selector.strength) == pytest.approx(weakest)
    assert fit.priced.selector.settings.k == 3


@pytest.mark.parametrize(("held", "max_excess"), [(True, 0.01), (False, None)])
def test_rows_that_no_ranker_learned_from_say_which_one_answers(held, max_excess):
    _, fit = ranked(replace(RANKER, selector=replace(RANKER.selector, max_excess=max_excess)))
    folds, told = fit.screened.predictors.folds, fit.priced.model().with_k(1, told=True)
    part = slice(folds.n_train, None) if held else slice(folds.n_train)
    x, y = folds.x[0, :, part], folds.y[0, :, part]
    with torch.no_grad():
        mask = told.mask(x.flatten(0, 1)[None]).view_as(x).to(x.dtype)
        losses = Task(2).row_loss(told.predictors(x, mask), y)  # a fold's predictor never saw its rows
    assert fit.paths[0]["k"] == [1, 2, 3]
    assert fit.paths[0]["loss"][0] == pytest.approx(float(losses.mean()), rel=1e-4)
