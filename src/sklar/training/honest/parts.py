"""The parts of a fit, in their order, with their steps and what a step of each costs: for those who wait."""

from __future__ import annotations

from sklar.model.gates import Gates
from sklar.training.engine.progress import Part
from sklar.training.honest.rehearsal import tries_one_set
from sklar.training.honest.settings import HonestSettings
from sklar.training.honest.strength import steps_on

# A step of the selector in steps of the predictors alone (CPU: 4.8 with 11 features, 3.7 with Adult's 108 inputs).
SELECTOR_COST = 4.0


def parts_of(settings: HonestSettings, n_rows: int, gates: Gates, n_models: int = 1) -> list[Part]:
    """The parts of a fit to so many rows."""
    strengths, schedule, k = settings.strengths, settings.schedule, settings.selector.k
    splits = schedule.splits_for(n_rows)
    rehearses = splits > 1 and len(strengths) > 1 and settings.held_fraction > 0
    rehearsals: list[Part] = []
    if rehearses:
        # Side by side, a step is of all splits; in turn, there are as many steps more.
        in_turn, at_once = (1, splits) if gates.plain else (splits, 1)
        rehearsals = in_turn * _along_the_path(settings, gates, len(strengths), at_once, ", rehearsal")
        if tries_one_set(settings, gates, n_rows):
            rehearsals += in_turn * _predictors(settings, gates, at_once, " of one set, rehearsal")
    to_choose = 1 if rehearses else len(strengths)
    final = Part("selector, all rows", steps_on(settings, to_choose).final, n_models * SELECTOR_COST)
    asked, beside = (settings.penalty == "auto", schedule.wide_steps) if k is None else (k > 1, schedule.count_steps)
    others = [Part("selector, other prices", beside, n_models * SELECTOR_COST)]
    return [
        *_readings(settings, gates),
        *rehearsals,
        *_along_the_path(settings, gates, to_choose, n_models, ""),
        final,
        *(others if settings.any_penalty and asked else []),
    ]


def steps_of(settings: HonestSettings, n_rows: int, gates: Gates) -> int:
    """The steps that a fit takes, those of each reading, strength and split together."""
    return sum(part.steps for part in parts_of(settings, n_rows, gates))


def _readings(settings: HonestSettings, gates: Gates) -> list[Part]:
    """The trials of `predictor_choice`; none where all is given."""
    tried = len(settings.regularisations_for(gates)) + len(settings.bins_for(gates)) - 1
    return [Part("predictors, trials", tried * settings.schedule.reading_steps)] if tried > 1 else []


def _along_the_path(settings: HonestSettings, gates: Gates, strengths: int, cost: float, what: str) -> list[Part]:
    """Predictors that warm up, and selectors of each strength."""
    path = strengths * (settings.schedule.trial_steps + steps_on(settings, strengths).path)
    return [*_predictors(settings, gates, cost, what), Part(f"selector{what}", path, cost * SELECTOR_COST)]


def _predictors(settings: HonestSettings, gates: Gates, cost: float, what: str) -> list[Part]:
    schedule = settings.schedule
    settle = schedule.settle_steps if gates.n > schedule.screened_to(settings.selector.k) else 0
    return [Part(f"predictors{what}", schedule.warm_steps + settle, cost)]
