"""The row's part of the correlation: its pair flips against the dense formula, and what it finds."""

from dataclasses import replace

import numpy as np
import torch

from sklar.datasets import make_redundant_in_part
from sklar.model.normalise import normalised_loadings
from sklar.model.row_factors import RowFactors, row_loadings
from sklar.training.honest import gradients, row_part
from sklar.training.honest.folds import deal
from sklar.training.honest.predictors import FoldPredictors
from sklar.training.honest.row_part import PairFlips, RowPartSettings, learn_row_part
from sklar.training.honest.scoring import Decisions, new_selector
from sklar.training.honest.screening import Screened
from sklar.training.honest.settings import DecisionSettings, PredictorSettings, SelectorSettings
from sklar.training.tasks import Task
from tests.helpers import seeded

CAUSE, PARTNER, SWITCH = 1, 6, 9


def parts(n=2000, warm=150):
    """Predictors that have warmed up, and a selector that selects x2 and x7 for all rows, whose gates exclude."""
    X, y, _, _ = make_redundant_in_part(n, random_state=0)
    folds = deal(torch.tensor(X).float()[None], torch.tensor(y)[None], 4, 0.2, seeded())
    predictors = FoldPredictors(folds, Task(2), PredictorSettings(hidden=32), seeded(), 0)
    predictors.warm_up(warm)
    settings = SelectorSettings(hidden=8, n_factors=2)
    screened = Screened(predictors, torch.arange(12)[None])
    selector = new_selector(folds.gates, screened, settings, torch.zeros(1, 1), 0)
    with torch.no_grad():
        selector.network.scores.weight.zero_()
        selector.network.scores.bias.fill_(-1.5)
        selector.network.scores.bias[..., [CAUSE, PARTNER]] = torch.tensor([1.6, 1.5])
        selector.correlation.loadings.zero_()
        selector.correlation.loadings[0, CAUSE, 0], selector.correlation.loadings[0, PARTNER, 0] = 5.0, -5.0
    return selector, predictors, torch.full((1,), -6.0)


def test_latents_at_their_thresholds_are_those_of_the_rows_own_correlation():
    selector, predictors, _ = parts(200, 1)
    with torch.no_grad():
        selector.correlation.loadings.normal_(0, 1.5, generator=seeded(7))
    x, y = predictors.folds.batch(3, 10, seeded())  # (1, 4, 3, 12)
    s = torch.rand(1, 12, 2, generator=seeded(1)) * 2
    pairs = torch.rand(1, 12, 12, generator=seeded(2)).topk(2).indices
    c = torch.randn(1, 12, 12, generator=seeded(3))
    flips = PairFlips(selector, predictors, x, y, s, pairs)
    found = flips.at_thresholds(c, seeded(4))
    generator = seeded(4)
    xi, eps = torch.randn(1, 12, 2, generator=generator), torch.randn(1, 12, 12, generator=generator)
    root, own = normalised_loadings(row_loadings(selector.correlation.patterned().detach(), s))  # (1, 12, 12, 2)
    correlation = root @ root.mT
    correlation.diagonal(dim1=-2, dim2=-1).fill_(1.0)
    q = (root @ xi.unsqueeze(-1)).squeeze(-1) + own.squeeze(-1) * eps
    expected = gradients.pair_at_threshold(q, c, correlation, pairs[..., :1], pairs[..., 1:])[..., 0, :]
    others = torch.ones_like(c, dtype=torch.bool).scatter(-1, pairs, False)  # the pair's own gates are set anyway
    torch.testing.assert_close(found[others], expected[others], rtol=1e-4, atol=1e-4)
    r = correlation.flatten(-2).gather(-1, (pairs[..., 0] * 12 + pairs[..., 1]).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(flips.correlation(), r)


def test_rows_say_where_one_of_two_is_enough():
    """Copies where x10 < 0: there nearly no row keeps both, elsewhere nearly all do."""
    selector, predictors, log_penalty = parts()
    none, settings = (
        Decisions.none(selector.alive),
        DecisionSettings(lost_by_substitutes=0.05),
    )  # they learned so little
    found, _ = learn_row_part(selector, predictors, log_penalty, none, settings, RowPartSettings(steps=200))
    assert found.contested[0].nonzero().tolist() == [[CAUSE, PARTNER], [PARTNER, CAUSE]]
    lengths = found.network.first.weight[0].norm(dim=-1)
    assert lengths.argmax() == SWITCH
    assert lengths[CAUSE] == lengths[PARTNER] == 0
    x = predictors.folds.x.flatten(1, 2)
    loadings = row_loadings(selector.correlation.patterned().detach()[:, [CAUSE, PARTNER]], found.network(x))
    root, _ = normalised_loadings(loadings)
    r, copies = (root @ root.mT)[0, :, 0, 1].numpy(), (x[0, :, SWITCH] < 0).numpy()
    assert np.mean(r[copies] < -0.8) > 0.9
    assert np.mean(r[~copies] < -0.8) < 0.05


def test_nothing_is_learned_where_gates_do_not_exclude_each_other():
    selector, predictors, log_penalty = parts(200, 1)
    decisions, settings = Decisions.none(selector.alive), DecisionSettings()
    alone = replace(selector, correlation=None)
    assert learn_row_part(alone, predictors, log_penalty, decisions, settings) == (None, decisions)
    with torch.no_grad():
        selector.correlation.loadings.zero_()
    assert learn_row_part(selector, predictors, log_penalty, decisions, settings) == (None, decisions)


def test_rows_decide_where_one_for_all_loses_and_not_where_it_does_not(monkeypatch):
    selector, predictors, log_penalty = parts(400, 1)
    everywhere = Decisions.none(selector.alive)
    everywhere.substitutes[0, CAUSE, PARTNER] = everywhere.substitutes[0, PARTNER, CAUSE] = True
    network = RowFactors(12, 4, 2, 1, seeded())
    monkeypatch.setattr(row_part, "_trained", lambda *_: network)
    monkeypatch.setattr(row_part, "beaten", lambda mask, *_: torch.zeros_like(mask))  # rows keep both
    losses = {2.0: 0.1, 1.0: 0.3}  # of rows that show both, and one

    def out_of_fold(mask):
        loss = torch.full(mask.shape[:3], losses.get(float(mask.sum(-1).max()), 0.5)).flatten(1)
        return loss + 0.01 * torch.randn(loss.shape, generator=seeded(1))

    monkeypatch.setattr(predictors, "out_of_fold_losses", out_of_fold)
    monkeypatch.setattr(predictors, "lost_by", lambda after, before: out_of_fold(after) - out_of_fold(before))
    found, decisions = learn_row_part(selector, predictors, log_penalty, everywhere, DecisionSettings())
    assert found.contested[0, CAUSE, PARTNER]
    assert not decisions.substitutes.any()
    losses[1.0] = 0.1
    assert learn_row_part(selector, predictors, log_penalty, everywhere, DecisionSettings()) == (None, everywhere)
