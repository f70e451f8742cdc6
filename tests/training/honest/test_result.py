"""The model of a fit scores and decides as training did."""

from dataclasses import replace

import torch

from sklar.training.honest.result import HonestFit
from sklar.training.honest.screening import Screened
from tests.helpers import seeded
from tests.training.small import small_parts, undecided, weighed_parts


def test_the_model_has_the_threshold_and_gates_as_sharp_as_at_the_end():
    selector, predictors, x = weighed_parts()
    with torch.no_grad():
        selector.network.scores.weight.normal_(generator=seeded(8))
    selector = replace(selector, sharpness=2.0)
    penalty, decisions = torch.zeros(1), undecided(selector)._replace(score_threshold=torch.full((1,), 0.5))
    screened = Screened(predictors, torch.arange(4)[None])
    model = HonestFit(screened, selector, decisions, penalty, [None], [[]], [True]).model()
    with torch.no_grad():
        found, scores = model.decide(model.scores(x)), selector.scores(x, penalty[:, None, None])
    torch.testing.assert_close(model.scores(x)[..., :3], 2 * (scores[..., :3] - 0.5))
    assert torch.equal(found.float(), selector.masks(x, penalty, decisions))
    assert found[..., 3].all()
    assert 0 < found[..., :3].float().mean() < 1


def test_the_model_reads_the_union_alone_and_has_shut_gates_and_substitutes():
    selector, predictors = small_parts()
    with torch.no_grad():
        selector.network.scores.weight.normal_(generator=seeded(8))
    shut, pairs = torch.zeros(2, 4, dtype=torch.bool), torch.zeros(2, 4, 4, dtype=torch.bool)
    shut[1, 0] = pairs[1, 2, 3] = pairs[1, 3, 2] = True
    decisions = undecided(selector)._replace(shut=shut, substitutes=pairs)
    screened = Screened(predictors, torch.tensor([[0, 2, 5, 7], [1, 2, 3, 9]]))
    fit = HonestFit(screened, selector, decisions, torch.full((2,), -3.0), [None, None], [[], []], [True, True])
    assert (fit.union(0), fit.union(1)) == ([0, 2, 5, 7], [1, 2, 3, 9])
    x = torch.randn(2, 50, 4, generator=seeded(3))
    masks = selector.masks(x, fit.log_penalty, decisions)
    for problem in range(2):
        model = fit.model(problem)
        with torch.no_grad():
            found = model.decide(model.scores(x[problem : problem + 1]))
        assert torch.equal(found[0].float(), masks[problem])
    assert not masks[1, :, 0].any()
    assert masks[0, :, 0].any()
