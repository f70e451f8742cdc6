"""Replacements of a trained fit, judged by the predictors of each row's own fold."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sklar.training.best_confidence import losses_at_best_confidence
from sklar.training.honest.fit import fit_honest
from sklar.training.honest.replacing import find_replacements, judged_rows
from sklar.training.honest.settings import HonestSettings, PredictorSettings, Schedule, SelectorSettings
from sklar.training.tasks import Task

STEPS = Schedule(warm_steps=150, settle_steps=5, path_steps=60, final_steps=60, wide_steps=5)
SETTINGS = HonestSettings(
    SelectorSettings(hidden=12),
    PredictorSettings(hidden=16, batch_size=200),
    STEPS,
    strengths=(1.0,),
    penalty=0.02,
)


@pytest.fixture(scope="module")
def fit():
    """Two problems of five features: the second and the fifth are near-copies, of which a row gets one."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 600, 5))
    x[..., 4] = x[..., 1] + 0.05 * x[..., 4]
    y = x[..., 1] + x[..., 2]
    tensors = (torch.from_numpy(part.astype(np.float32)) for part in (x, y))
    fit = fit_honest(*tensors, Task(None), SETTINGS, seed=0)
    substitutes = torch.zeros_like(fit.decisions.substitutes)
    substitutes[:, 1, 4] = substitutes[:, 4, 1] = True
    return replace(fit, decisions=fit.decisions._replace(substitutes=substitutes))


def test_losses_are_those_out_of_fold(fit):
    """Of the second problem, which has predictors of its own, at the best confidence for a third of its rows."""
    predictors = fit.screened.predictors
    masks = torch.rand(2, 4, predictors.folds.n_train, 5, generator=torch.Generator().manual_seed(0)) < 0.5
    outputs, y = predictors.out_of_fold_outputs(masks.float()), predictors.folds.training[1].flatten(1)
    where = (torch.arange(y.shape[1]) % 3 == 0).expand_as(y)
    expected = losses_at_best_confidence(Task(None), outputs, y, where)[1]
    found = judged_rows(fit, 1).losses(masks[1].flatten(0, 1).numpy(), where[1].numpy())
    np.testing.assert_allclose(found, expected.double().numpy(), rtol=1e-5)


def test_the_copies_hold_in_both_problems_and_nothing_else(fit):
    for problem in range(2):
        masks = judged_rows(fit, problem).masks
        assert not (masks[:, 1] & masks[:, 4]).any()
        found = find_replacements(fit, problem)
        assert {frozenset((one.feature, one.by)) for one in found} == {frozenset((1, 4))}
        assert max(one.most_lost for one in found) < 0.2
