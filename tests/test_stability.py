"""Agreement of selections, and which features count as one."""

import numpy as np
import pytest

import sklar
from sklar.stability import jaccard, recoded, stand_ins
from tests.helpers import quick


def test_jaccard():
    assert jaccard([[1, 1, 0]], [[0, 1, 1]]) == pytest.approx(100 / 3)
    assert jaccard([[0, 0]], [[0, 0]]) == 100.0


def test_a_group_counts_as_one_feature():
    first, second = [[1, 0, 1, 0]], [[0, 1, 0, 1]]
    assert jaccard(first, second) == 0.0
    assert jaccard(first, second, [[0, 1]]) == pytest.approx(100 / 3)
    assert jaccard(first, second, [[0, 1], [2, 3]]) == 100.0
    assert jaccard([[1, 1, 0, 0]], [[0, 1, 0, 0]], [[0, 1]]) == 100.0


@pytest.fixture
def table():
    """A degree as text and as its years, a copy with noise, and two columns on their own."""
    rng = np.random.default_rng(0)
    years = rng.integers(8, 16, 300).astype(float)
    number, other = rng.standard_normal((2, 300))
    return {
        "degree": np.array([f"level {int(y)}" for y in years], dtype=object),
        "years": years,
        "number": number,
        "noisy copy": number + 0.3 * rng.standard_normal(300),
        "other": other,
    }


def test_columns_that_recode_each_other_are_found(table):
    model = quick(sklar.CopulaSelectorRegressor).fit(table, table["years"] + table["number"]).fitted_
    linked = recoded(model, model.read(table))
    pairs = {tuple(sorted(map(int, pair))) for pair in np.argwhere(linked) if pair[0] != pair[1]}
    assert pairs == {(2, 3)} or pairs == {(0, 1), (2, 3)}
    assert (0, 1) in pairs


def test_groups_are_chains_of_what_any_model_links(table):
    model = quick(sklar.CopulaSelectorRegressor).fit(table, table["years"]).fitted_

    class Linking:
        schema = model.schema

        def interchangeable(self, threshold, rows):
            return [["other", "number"]]

    groups = stand_ins([model, Linking()], model.read(table))
    assert [2, 3, 4] in groups
