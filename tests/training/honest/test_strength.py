"""Which strength is preferred, what counts as evidence, and problems of different strengths put together."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from sklar.training.engine.progress import Part, Progress
from sklar.training.engine.run import Run
from sklar.training.honest.decisions import HeldOut
from sklar.training.honest.settings import HonestSettings, Schedule, SelectorSettings
from sklar.training.honest.strength import (
    Candidate,
    begin_strengths,
    choose_strengths,
    joined,
    pool,
    preferred,
    shows_something,
)
from sklar.training.penalty_path import PathChoice
from tests.training.small import SETTINGS, small_parts

RNG = np.random.default_rng(0)
PRICE = 0.01


def held_out(loss, size=2.0, n=400, evidence=0.0):
    noise = np.random.default_rng(1).standard_normal(n)
    path = {"penalty": [PRICE], "loss": [loss], "error": [0.0], "mean_features": [size]}
    return HeldOut(
        PathChoice(0, path["penalty"][0], path),
        loss + 0.5 * noise + 0.02 * RNG.standard_normal(n),
        np.full(n, size),
        evidence + RNG.standard_normal(n),
        torch.zeros(1, n, 2),
    )


def candidates(*pairs):
    selector, predictors = small_parts()
    return [Candidate(strength, selector, predictors, [one]) for strength, one in pairs]


@pytest.mark.parametrize(
    ("weak", "best"),
    [
        (held_out(0.50), 0),  # as good: the strongest
        (held_out(0.45), 1),  # clearly better
        (held_out(0.55), 0),
        (held_out(0.50, size=1.0), 1),  # as good from fewer features, which have a price
        (held_out(0.53, size=1.0), 0),
        (held_out(0.502, size=1.7), 1),  # as good in loss and price, from fewer features
        (held_out(0.5005, size=1.95), 0),  # hardly fewer
    ],
)
def test_the_strongest_that_is_not_clearly_worse_in_loss_and_price(weak, best):
    assert preferred(candidates((1.0, held_out(0.50)), (0.1, weak)), [0], HonestSettings()) == best


def test_a_gain_of_next_to_nothing_does_not_count_however_sure():
    strong = held_out(0.50)
    weak = strong._replace(losses=strong.losses - 0.001)  # for every row: no error at all
    settings = HonestSettings()
    careless = replace(settings, decisions=replace(settings.decisions, least_gain=0.0))
    assert preferred(candidates((1.0, strong), (0.1, weak)), [0], settings) == 0
    assert preferred(candidates((1.0, strong), (0.1, weak)), [0], careless) == 1


def test_rankers_take_the_least_loss():
    settings = HonestSettings(selector=SelectorSettings(k=2))
    assert preferred(candidates((1.0, held_out(0.50)), (0.1, held_out(0.498))), [0], settings) == 1
    assert preferred(candidates((1.0, held_out(0.50)), (0.1, held_out(0.502))), [0], settings) == 0


def test_without_held_out_rows_or_a_choice_there_is_nothing_to_prefer():
    selector, predictors = small_parts()
    assert preferred([Candidate(s, selector, predictors, []) for s in (1.0, 0.1)], [0], HonestSettings()) == 0
    assert shows_something([], 0.01)


def test_evidence_beyond_chance():
    (nothing, some) = candidates((1.0, held_out(0.5)), (1.0, held_out(0.5, evidence=0.5)))
    assert not shows_something(nothing.held_out, 1e-3)
    assert shows_something(some.held_out, 1e-3)


def test_the_false_alarm_rate_is_what_it_says():
    """2,000 draws without evidence: 2% and 5 binomial deviations, a false alarm in less than one of a million."""
    draws = np.random.default_rng(3).standard_normal((2000, 60))
    path = PathChoice(0, 1.0, {"penalty": [1.0], "loss": [0.0], "error": [0.0], "mean_features": [0.0]})
    alarms = [shows_something([HeldOut(path, one, one, one, torch.zeros(1, 60, 2))], 0.02) for one in draws]
    assert abs(np.mean(alarms) - 0.02) < 5 * (0.02 * 0.98 / 2000) ** 0.5


def test_splits_of_one_table_are_pooled():
    first, second = candidates((0.1, held_out(0.4)), (0.1, held_out(0.6)))
    both = pool([first, second])
    assert len(both.held_out) == 2
    assert both.record([0, 1], True)["loss"] == pytest.approx(0.5, abs=0.1)
    assert both.record([0], False) == {**first.record([0], False)}


def test_fewer_features_are_worth_more_errors_half_way():
    """A paired difference of 1.5 standard errors, from fewer features: not as good at the end, good enough to go on."""
    even = 0.5 + 0.02 * (-1.0) ** np.arange(400)  # the difference to 0.5 has a standard error of 0.001
    full, weak = (
        held_out(0.5)._replace(losses=np.full(400, 0.5)),
        held_out(0.5, size=1.7)._replace(losses=even + 0.0045),
    )
    settings = HonestSettings()
    assert preferred(candidates((1.0, full), (0.1, weak)), [0], settings) == 0
    assert preferred(candidates((1.0, full), (0.1, weak)), [0], settings, settings.decisions.equal_half_way) == 1


@pytest.mark.parametrize(("half_way", "chosen"), [([0, 0], [0, 0]), ([0, 1], [0, 1])])
def test_a_weaker_strength_that_is_not_ahead_half_way_is_given_up(half_way, chosen, monkeypatch):
    """One that is ahead goes on; at the end, the weaker one is made to look better for both problems."""
    answers, asked = iter([*half_way, 1]), []
    monkeypatch.setattr("sklar.training.honest.strength.preferred", lambda *given: asked.append(given) or next(answers))
    selector, predictors = small_parts()
    settings = HonestSettings(
        selector.settings, predictors.settings, Schedule().scaled(0.005), strengths=(1.0, 0.1), penalty=0.01
    )
    with Progress([Part("all", 10**6)], file=io.StringIO()) as bar:
        tried, which = choose_strengths(selector, predictors, torch.full((2, 1), -4.0), settings, Run(bar))
        assert bar.n == 2 * (settings.schedule.trial_steps + settings.schedule.path_steps)  # as planned
    assert which == chosen
    assert [given[3:] for given in asked] == [(settings.decisions.equal_half_way,)] * 2 + [()] * (len(asked) - 2)
    assert [one.strength for one in tried] == [1.0, 0.1]


@pytest.mark.parametrize(
    ("most", "excess", "best"),
    [
        (None, (0.0, 0.2), 1),  # it has no price: the least loss
        (0.01, (0.0, 0.0), 1),
        (0.01, (0.0, 0.05), 1),  # persuades by less than it gains
        (0.01, (0.0, 0.15), 0),  # by more
        (0.01, (0.2, 0.15), 1),
        (0.01, (0.2, -0.3), 1),
    ],
)
def test_what_a_ranker_gains_by_persuasion_does_not_count(most, excess, best):
    """The weak one loses 0.1 less."""
    noise = np.random.default_rng(3).standard_normal(400)
    strong, weak = (held_out(loss)._replace(excess=noise - noise.mean()) for loss in (0.5, 0.4))
    strong, weak = (one._replace(excess=one.excess + over) for one, over in zip((strong, weak), excess, strict=True))
    settings = HonestSettings(replace(SETTINGS, k=1, max_excess=most))
    assert preferred(candidates((1.0, strong), (0.1, weak)), [0], settings) == best


def test_rankers_compare_at_the_end_alone(monkeypatch):
    asked = []
    monkeypatch.setattr("sklar.training.honest.strength.preferred", lambda *given: asked.append(given) or 1)
    selector, predictors = small_parts(replace(SETTINGS, k=1))
    settings = HonestSettings(
        selector.settings, predictors.settings, Schedule().scaled(0.005), strengths=(1.0, 0.1), penalty=0.0
    )
    with Progress([Part("all", 10**6)], file=io.StringIO()) as bar:
        tried, which = choose_strengths(selector, predictors, torch.full((2, 1), -4.0), settings, Run(bar))
        assert bar.n == 2 * (settings.schedule.trial_steps + settings.schedule.rank_path_steps)
    assert which == [1, 1]
    assert [given[1:] for given in asked] == [([0], settings), ([1], settings)]
    assert [one.strength for one in tried] == [1.0, 0.1]


def test_every_problem_takes_its_own_candidate():
    selector, predictors = small_parts()
    settings = HonestSettings(
        selector.settings, predictors.settings, Schedule().scaled(0.005), strengths=(1.0, 0.1), penalty=0.01
    )
    grid = torch.full((2, 1), -4.0)
    tried = begin_strengths(selector, predictors, grid, settings, Run())
    assert [one.strength for one in tried] == [1.0, 0.1]
    mixed, judges = joined(tried, [0, 1])
    for problem, best in enumerate((0, 1)):
        torch.testing.assert_close(
            mixed.network.first.weight[problem], tried[best].selector.network.first.weight[problem]
        )
        n_folds = predictors.folds.n_folds
        mine = slice(problem * n_folds, (problem + 1) * n_folds)
        torch.testing.assert_close(judges.judge.last.weight[mine], tried[best].predictors.judge.last.weight[mine])
    assert mixed.strength.tolist() == pytest.approx([1.0, 0.1])
    same, _ = joined(tried, [1, 1])
    assert same is tried[1].selector
    assert replace(selector, strength=selector.strength).strength.tolist() == [1.0, 1.0]  # the start stays as it was
