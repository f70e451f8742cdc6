"""The arms of the benchmark of copies: which gates and which rule for substitutes each has."""

import importlib.util
from pathlib import Path

import pytest

from sklar.training.honest import deciding, substitutes

FILE = Path(__file__).parents[2] / "benchmarks" / "dependence.py"
SPEC = importlib.util.spec_from_file_location("dependence", FILE)
dependence = importlib.util.module_from_spec(SPEC)
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(FILE.parent))  # it imports its neighbours
    SPEC.loader.exec_module(dependence)

N_ROWS = 600


def both_kept(arm):
    """The share of rows that need one of two copies at .99 and keep both, in percent."""
    (row,) = dependence.measure([("redundant 0.99 global", 0)], arm, N_ROWS, "cpu")
    assert row["at_least_one"] > 90
    return row["more_than_one"]


@pytest.mark.slow
def test_the_rule_alone_drops_copies_that_independent_gates_keep():
    shares = {arm: both_kept(arm) for arm in dependence.ARMS}
    assert shares[dependence.ALONE] > 50
    assert shares[dependence.COPULA] < 5
    assert shares[dependence.FREE_RULE] < 5


@pytest.mark.parametrize("arm", dependence.ARMS)
def test_an_arm_changes_training_only_while_it_lasts(arm):
    before = deciding.find_substitutes, substitutes.costs_little
    with dependence.gates_of(arm) as covariance:
        during = deciding.find_substitutes, substitutes.costs_little
    assert covariance == ("low-rank" if arm == dependence.COPULA else "independent")
    assert (during[0] is not before[0]) == (arm in (dependence.RULE, dependence.FREE_RULE))
    assert (during[1] is not before[1]) == (arm == dependence.FREE_RULE)
    assert (deciding.find_substitutes, substitutes.costs_little) == before
