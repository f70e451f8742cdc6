"""Which network answers at another penalty, or for fewer features."""

from types import SimpleNamespace

import pytest

from sklar.asked import at_penalty, told_k


def network(name, k=4, forced=()):
    return SimpleNamespace(
        architecture=SimpleNamespace(k=k, forced=forced),
        at_penalty=lambda moved: SimpleNamespace(moved=moved),
        with_k=lambda k, told=False: (name, told, k),
    )


PENALTIES = {"penalty": [0.01, 0.1]}


def test_the_network_is_told_how_far_the_penalty_is_from_that_of_fit():
    assert at_penalty(network("priced"), PENALTIES, 0.01, 0.1).moved == pytest.approx(2.302585)


@pytest.mark.parametrize(
    ("priced", "penalty", "message"),
    [
        (None, 0.05, "this model knows one penalty"),
        (network("priced"), 0.2, "from 0.01 to 0.1"),
        (network("priced"), "auto", "a number from 0.01 to 0.1"),
    ],
)
def test_other_penalties_are_refused(priced, penalty, message):
    with pytest.raises(ValueError, match=message):
        at_penalty(priced, PENALTIES, 0.01, penalty)


def test_the_better_of_two_rankers_answers():
    path = {"k": [1, 2, 4], "loss": [0.3, 0.4, 0.2], "prefix_loss": [0.5, 0.3, 0.2]}
    fitted, priced = network("fitted"), network("told")
    assert told_k(fitted, priced, path, 1) == ("told", True, 1)
    assert told_k(fitted, priced, path, 2) == ("fitted", False, 2)
    assert told_k(fitted, None, {}, 3) == ("fitted", False, 3)


@pytest.mark.parametrize("k", [0, 1, 5, 2.5])
def test_other_numbers_of_features_are_refused(k):
    with pytest.raises(ValueError, match="k must be a whole number from 2 to 4, that of fit"):
        told_k(network("fitted", forced=(0, 3)), None, {}, k)
