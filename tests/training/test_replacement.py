"""What a replacement costs, against what is known of the rows; which pairs hold."""

import numpy as np
import pytest

from sklar.training.replacement import Replacement, Rows, agreed, candidates, mean_and_error, replacements

N = 400
NOISE = np.random.default_rng(0).standard_normal(N)


def rows_of(masks, worth, alike=(), weight=None):
    """Rows lose what a feature is worth where it is hidden; of those alike one is enough, the best shown counts."""

    def losses(shown, where):
        assert where.dtype == bool
        assert where.any()
        gained = shown * np.asarray(worth, dtype=float)
        for group in alike:
            best = gained[:, group].max(axis=1)
            gained[:, group] = 0.0
            gained[:, group[0]] = best
        return 5 + 0.1 * NOISE - gained.sum(axis=1) * (1 + 0.1 * NOISE)

    return Rows(np.tile(np.array(masks, dtype=bool), (N, 1)), losses, weight)


def pairs_of(found):
    return {(one.feature, one.by) for one in found}


def test_a_copy_that_is_not_shown_costs_nothing():
    (one,) = replacements(rows_of([1, 0, 1], [1, 1, 1], alike=[[0, 1]]), [(0, 1), (0, 2)])
    assert (one.feature, one.by, one.n_rows, one.most_lost) == (0, 1, N, 0.0)
    assert (one.cost, one.error) == (0.0, 0.0)
    mean, error = mean_and_error(1 + 0.1 * NOISE, None)
    assert (one.worth, one.worth_error) == pytest.approx((mean, error))
    assert str(one) == "1 for 0 costs 0 ± 0 % of its worth"


def test_a_worse_copy_costs_what_it_is_worth_less():
    (one,) = replacements(rows_of([1, 0], [1, 0.7], alike=[[0, 1]]), [(0, 1)])
    assert one.cost / one.worth == pytest.approx(0.3)
    assert one.most_lost == 0.31  # the next percent: both vary together
    assert one.said == "costs 30 ± 0 % of its worth"


def test_what_rows_bear_out_is_two_errors_above_the_cost():
    one = Replacement(0, 1, 0.1, 0.02, 1.0, 0.1, 0.05, 50)
    assert one.borne_out == pytest.approx(0.14)
    assert one._replace(worth_error=0.6).borne_out == np.inf  # nor is it known what to lose
    assert one._replace(cost=0.0, error=0.0, worth=0.0, worth_error=0.0, n_rows=0).borne_out == 0  # an exact copy
    assert one.is_dear(0.05)
    assert not one.is_dear(0.07)


def test_few_rows_of_a_direction_bear_nothing_out():
    """Forty rows, whose losses vary most, are shown the first; the others the second, for which the first would do."""
    rows = rows_of([0, 1], [1, 1], alike=[[0, 1]])
    few = np.arange(N) < 40
    rows.masks[few] = [True, False]
    unsure = rows._replace(losses=lambda shown, where: rows.losses(shown, where) + 9 * NOISE * (few & ~shown[:, 0]))
    found = {(one.feature, one.by): one for one in replacements(unsure, [(0, 1)])}
    assert found[1, 0].borne_out < 0.2
    assert found[0, 1].borne_out > 1


def test_features_that_are_shown_together_never_hold():
    assert replacements(rows_of([1, 1], [1, 1], alike=[[0, 1]]), [(0, 1)]) == []


def test_what_says_nothing_stands_for_nothing():
    rows = rows_of([1, 0], [1, 0])
    assert replacements(rows, [(0, 1)]) == []
    worthless = rows_of([1, 0], [0, 0])
    assert replacements(worthless, [(0, 1)]) == []


def test_forced_features_are_not_asked_about():
    rows = rows_of([1, 0], [1, 1], alike=[[0, 1]])
    assert replacements(rows, [(0, 1)], forced=[0]) == []


def test_each_of_a_pair_must_do_for_the_rows_that_are_shown_the_other():
    """Half of the rows are shown each; the second is worth a tenth of the first."""
    rows = rows_of([1, 0], [1, 0.1], alike=[[0, 1]])
    rows.masks[::2] = [False, True]
    assert replacements(rows, [(0, 1)]) == []
    equal = rows_of([1, 0], [1, 1], alike=[[0, 1]])
    equal.masks[::2] = [False, True]
    assert pairs_of(replacements(equal, [(0, 1)])) == {(0, 1), (1, 0)}


def test_two_copies_that_no_row_is_shown_are_judged_in_the_place_of_a_third():
    rows = rows_of([1, 0, 0, 0], [1, 1, 1, 0], alike=[[0, 1, 2]])
    every = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    assert pairs_of(replacements(rows, every)) == {(0, 1), (0, 2), (1, 2), (2, 1)}


def test_losses_are_asked_for_at_the_confidence_of_the_rows_that_are_compared():
    """A quarter of the rows are shown one of two copies; the others neither."""
    rows = rows_of([1, 0, 1], [1, 1, 1], alike=[[0, 1]])
    rows.masks[N // 4 :] = [False, False, True]
    asked = []
    replacements(rows._replace(losses=lambda shown, where: asked.append(where) or rows.losses(shown, where)), [(0, 1)])
    assert asked
    assert all(np.array_equal(where, np.arange(N) < N // 4) for where in asked)


def test_rows_count_by_their_weight():
    half = np.where(np.arange(N) < N // 2, 1.0, 0.0)
    (whole,) = replacements(rows_of([1, 0], [1, 0.7], alike=[[0, 1]], weight=half), [(0, 1)])
    mean, _ = mean_and_error((1 + 0.1 * NOISE)[: N // 2], None)
    assert whole.worth == pytest.approx(mean)


def test_candidates_are_the_closest_those_that_are_shown_first(monkeypatch):
    monkeypatch.setattr("sklar.training.replacement.MOST_PAIRS", 1)
    masks = np.tile([True, False, False, False], (N, 1))
    closeness = np.array([[1, 0.6, 0.8, 0.1], [0, 1, 0.9, 0.95], [0, 0, 1, 0.2], [0, 0, 0, 1]])
    assert candidates(masks, closeness) == [(0, 2), (1, 3)]


def test_several_models_must_agree_and_the_dearest_counts():
    cheap, dear = (Replacement(0, 1, lost, 0.0, 1.0, 0.0, lost, 50) for lost in (0.1, 0.2))
    alone, back = Replacement(0, 2, 0.0, 0.0, 1.0, 0.0, 0.0, 50), dear._replace(feature=1, by=0)
    assert agreed([[cheap, alone], [dear, back]]) == (dear, back)
    unsure = cheap._replace(error=0.5)  # what the rows of one model do not bear out, none says
    assert agreed([[unsure], [dear]]) == (unsure._replace(most_lost=0.2),)
