"""From an estimator's parameters, and the number of rows, to constants."""

import dataclasses

import pytest

from sklar import CopulaRankerClassifier, CopulaSelectorClassifier
from sklar.training.honest import settings
from sklar.training.honest.settings import DecisionSettings, HonestSettings, Schedule


@pytest.mark.parametrize(("rows", "sufficiency"), [(1000, 0.0), (5000, 0.0), (7500, 0.5), (10_000, 1.0), (40_000, 1.0)])
def test_rows_are_few_or_enough(rows, sufficiency):
    assert DecisionSettings().row_sufficiency(rows) == sufficiency


@pytest.mark.parametrize(
    ("n_rows", "max_epochs", "share"),
    [(3000, None, 1.0), (9000, None, 1.0), (1500, None, 0.5), (10, None, 0.03), (3000, 12, 0.01), (1500, 1200, 1 / 2)],
)
def test_fewer_rows_and_epochs_take_fewer_steps(n_rows, max_epochs, share):
    full, found = Schedule(), Schedule().for_rows(n_rows, 1000, max_epochs)
    assert found == full.scaled(share)
    assert found.total == pytest.approx(share * full.total, abs=4)


def test_screening_begins_where_a_row_gets_a_large_share():
    assert Schedule().screened_to(None) == Schedule().screened_to(8) == 16
    assert Schedule().screened_to(20) == 40
    assert Schedule().steps_for(16, None) == Schedule().total - Schedule().settle_steps
    assert Schedule().steps_for(17, None) == Schedule().total


def test_unions_are_as_wide_as_the_rows_allow_or_as_was_given():
    schedule, given = Schedule(), Schedule().with_union_width(10)
    assert [schedule.union_width(n, None) for n in (1000, 1290, 10**6)] == [128, 129, 1024]
    assert schedule.union_width(60, 100) == 400  # never fewer than a row is to get
    assert [given.union_width(n, None) for n in (10, 10**6)] == [10, 10]
    assert given.screened_to(None) == 10


def test_an_estimators_defaults_are_the_constants():
    """Every estimator parameter at its default gives the default settings, but for the steps of the rows."""
    for maker, k in ((CopulaSelectorClassifier, None), (CopulaRankerClassifier, 4)):
        found = HonestSettings.from_params(maker().get_params(deep=False), 10_000, k)
        expected = HonestSettings(penalty=found.penalty)
        selector, predictor = (dataclasses.replace(part, k=k) for part in (expected.selector, expected.predictor))
        selector = dataclasses.replace(selector, max_excess=None if k is None else 0.01)
        assert found == dataclasses.replace(expected, selector=selector, predictor=predictor)
    assert HonestSettings.from_params(CopulaSelectorClassifier().get_params(deep=False), 9, None).penalty == "auto"


def test_parameters_that_are_given_win():
    params = CopulaSelectorClassifier(predict_hidden=7, learning_rate=0.5, penalty=0.25).get_params(deep=False)
    found = HonestSettings.from_params(params, 3000, None)
    assert (found.predictor.hidden, found.selector.learning_rate, found.penalty) == (7, 0.5, 0.25)
    assert found.selector.weight_decay == settings.DEFAULTS["weight_decay"]
