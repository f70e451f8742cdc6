"""Agreement of selections, and which features count as one."""

from types import SimpleNamespace

import pytest

from sklar.stability import jaccard, stand_ins


def test_jaccard():
    assert jaccard([[1, 1, 0]], [[0, 1, 1]]) == pytest.approx(100 / 3)
    assert jaccard([[0, 0]], [[0, 0]]) == 100.0


def test_a_group_counts_as_one_feature():
    first, second = [[1, 0, 1, 0]], [[0, 1, 0, 1]]
    assert jaccard(first, second) == 0.0
    assert jaccard(first, second, [[0, 1]]) == pytest.approx(100 / 3)
    assert jaccard(first, second, [[0, 1], [2, 3]]) == 100.0
    assert jaccard([[1, 1, 0, 0]], [[0, 1, 0, 0]], [[0, 1]]) == 100.0


class Says:
    """A model that lists these groups."""

    schema = SimpleNamespace(names=("a", "b", "c", "d", "e"))

    def __init__(self, *groups):
        self.groups = groups

    def interchangeable(self):
        return self.groups


def test_groups_are_those_that_any_model_bears_out_and_no_column_is_in_two():
    assert stand_ins([Says(["a", "b"]), Says(["c", "e"])]) == [[0, 1], [2, 4]]
    assert stand_ins([Says(["a", "b"]), Says(["b", "c", "d"])]) == [[1, 2, 3]]
    assert stand_ins([Says(), Says()]) == []
