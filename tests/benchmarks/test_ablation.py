"""Every idea that the ablation takes out is really out: what it patches is what training calls."""

import importlib.util
from pathlib import Path

import pytest
import torch

from sklar.datasets import make_synthetic
from sklar.paper.experiments.honest_stack import fit_honest_stack

SPEC = importlib.util.spec_from_file_location("ablation", Path(__file__).parents[2] / "benchmarks" / "ablation.py")
ablation = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ablation)

WHOLE, *IDEAS = ablation.IDEAS


def tiny_fit(idea):
    data = [make_synthetic("syn4", 200, random_state=seed) for seed in range(3)]
    params = {"max_epochs": 50, "batch_size": 100, "decisions.few_rows": 100, "decisions.false_alarms": 0.9999}
    with ablation.without(idea):
        return fit_honest_stack(data, params, torch.device("cpu"), seed=0).fit


def state(fit):
    return torch.cat([value.flatten().double() for p in range(3) for value in fit.model(p).state_dict().values()])


@pytest.fixture(scope="module")
def whole():
    return tiny_fit(WHOLE)


@pytest.mark.parametrize("idea", IDEAS)
def test_a_fit_without_the_idea_is_another_one(idea, whole):
    """Where an idea is left out by name only, nothing would change."""
    assert (whole.decisions.score_threshold > 0).any()  # or no fit could tell that levels are gone
    without = state(tiny_fit(idea))
    assert torch.isfinite(without).all()
    assert without.shape != state(whole).shape or not torch.equal(without, state(whole))


def test_afterwards_the_method_is_whole_again(whole):
    for idea in IDEAS:
        with ablation.without(idea):
            pass
    assert torch.equal(state(tiny_fit(WHOLE)), state(whole))
