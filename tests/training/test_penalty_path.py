import numpy as np
import pytest

from sklar.training.penalty_path import choose_penalty, penalty_grid

PENALTIES = [0.1, 0.2, 0.3]


def test_the_grid_rises_with_what_there_is_to_explain():
    grid = penalty_grid(2.0)
    assert grid == sorted(grid)
    assert all(isinstance(value, float) for value in grid)
    np.testing.assert_allclose(grid, 2 * np.array(penalty_grid(1.0)))


def losses(*offsets, noise=0.0, n=400):
    """Rows that differ in how hard they are, and members by their offset plus noise of their own."""
    rng = np.random.default_rng(0)
    hard = rng.exponential(5.0, n)
    return np.stack([hard + offset + noise * rng.standard_normal(n) for offset in offsets])


@pytest.mark.parametrize(
    ("row_losses", "features", "chosen"),
    [
        (losses(0.0, 0.0, 0.0), [5, 3, 1], 2),  # equally good: the sparsest
        (losses(0.0, 0.0, 1.0), [5, 3, 1], 1),  # the sparsest is worse
        (losses(0.0, 0.5, 1.0), [5, 3, 1], 0),  # only the best is within its error
        (losses(1.0, 0.0, 1.0), [5, 3, 1], 1),  # the best is in the middle
        (losses(0.0, 0.02, 1.0, noise=1.0), [5, 3, 1], 1),  # within one standard error of the paired difference
    ],
)
def test_the_sparsest_within_one_standard_error_is_chosen(row_losses, features, chosen):
    choice = choose_penalty(PENALTIES, row_losses, np.array(features))
    assert choice.member == chosen
    assert choice.path["penalty"] == PENALTIES
    assert choice.path["mean_features"] == features
    np.testing.assert_allclose(choice.path["loss"], row_losses.mean(axis=1))


def test_the_error_is_of_the_paired_difference():
    """A small but certain loss is not hidden by rows that differ among themselves."""
    choice = choose_penalty(PENALTIES, losses(0.0, 0.05, 0.05), np.array([5, 3, 1]))
    assert choice.member == 0
    assert max(choice.path["error"]) < 1e-10


def test_records_are_the_table_row_by_row():
    choice = choose_penalty(PENALTIES, losses(0.0, 0.0, 1.0), np.array([5, 3, 1]))
    records = choice.records()
    assert [one["chosen"] for one in records] == [False, True, False]
    assert {one["part"] for one in records} == {"penalty"}
    for name, column in choice.path.items():
        assert [one[name] for one in records] == column


def test_a_choice_in_other_units_is_the_same_member():
    choice = choose_penalty(PENALTIES, losses(0.0, 0.5, 1.0), np.array([5, 3, 1]))
    other = choice.in_units([1.0, 2.0, 3.0])
    assert (other.member, other.penalty) == (choice.member, 1.0)
    assert other.path == {**choice.path, "penalty": [1.0, 2.0, 3.0]}
