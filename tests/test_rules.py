"""Rules say which features, for which kind of rows, against masks whose switch is known."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sklar.rules import rules


class Switch:
    """A model whose masks are given, on columns a, b, c."""

    def __init__(self, masks, categories=(None, None, None), names=("a", "b", "c")):
        encoding = SimpleNamespace(categories=categories)
        self.schema = SimpleNamespace(names=names, columns=np.arange(len(names)), encoding=encoding)
        self.masks_of = masks

    def masks(self, rows):
        return self.masks_of(rows)


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((500, 3))


def test_a_switch_is_found(rows):
    model = Switch(lambda x: np.column_stack([x[:, 2] > 0.3, x[:, 2] <= 0.3, np.ones(len(x), dtype=bool)]))
    low, high = rules(model, rows)
    assert low.features == ("b", "c") or low.features == ("c", "b")
    assert set(high.features) == {"a", "c"}
    (condition,) = low.conditions
    assert condition.startswith("c <= ")
    assert float(condition.split()[-1]) == pytest.approx(0.3, abs=0.05)
    assert (low.agreement, high.agreement) == (1.0, 1.0)
    assert low.share == pytest.approx((rows[:, 2] <= 0.3).mean())
    assert str(low).startswith(f"{condition}: ")


def test_a_threshold_is_rounded_no_further_than_the_values_allow(rows):
    rows[:, 2] = np.random.default_rng(1).integers(1980, 2011, 500)
    model = Switch(lambda x: np.column_stack([x[:, 2] > 1995, x[:, 2] <= 1995, np.zeros(len(x), dtype=bool)]))
    assert {condition for rule in rules(model, rows) for condition in rule.conditions} == {"c <= 1995.5", "c > 1995.5"}
    rows[:, 2] *= 1000
    model = Switch(lambda x: np.column_stack([x[:, 2] > 1.9955e6, x[:, 2] <= 1.9955e6, np.zeros(len(x), dtype=bool)]))
    assert {condition for rule in rules(model, rows) for condition in rule.conditions} == {
        "c <= 1995500",
        "c > 1995500",
    }


def test_names_may_have_braces(rows):
    model = Switch(lambda x: x[:, [2, 2, 2]] > 0, names=("a {usd}", "{}", "{0}"))
    conditions = [condition for rule in rules(model, rows) for condition in rule.conditions]
    assert {condition.rsplit(" ", 2)[0] for condition in conditions} == {"{0}"}


def test_one_mask_for_all_is_one_rule(rows):
    (rule,) = rules(Switch(lambda x: np.tile([True, False, False], (len(x), 1))), rows)
    assert (rule.conditions, rule.features, rule.share, rule.agreement) == ((), ("a",), 1.0, 1.0)
    assert str(rule).startswith("every row: a ")


def test_masks_of_chance_have_no_rule_of_their_own(rows):
    chance = np.random.default_rng(1).random((500, 3)) < 0.5
    assert len(rules(Switch(lambda x: chance[: len(x)]), rows)) == 1


def test_categories_and_missing_values_are_named(rows):
    rows[:, 0] = np.arange(500) % 3
    rows[::4, 1] = np.nan
    model = Switch(
        lambda x: np.column_stack([x[:, 0] == 1, np.isnan(x[:, 1]), np.zeros(len(x), dtype=bool)]),
        categories=(("red", "green {", "blue"), None, None),
    )
    conditions = {condition for rule in rules(model, rows) for condition in rule.conditions}
    assert conditions == {"a is green {", "a is not green {", "b is missing", "b is known"}


def test_rules_are_plain_values(rows):
    found = rules(Switch(lambda x: x > 0), rows)
    assert json.loads(json.dumps(found.to_list())) == found.to_list()
    assert sum(rule.share for rule in found) == pytest.approx(1)
    with pytest.raises(ValueError, match="max_depth"):
        rules(Switch(lambda x: x > 0), rows, max_depth=0)


def test_where_no_feature_is_in_most_rows_the_most_frequent_are_named(rows):
    chance = np.eye(3, dtype=bool)[np.random.default_rng(2).choice(3, 500, p=[0.45, 0.35, 0.2])]
    (rule,) = rules(Switch(lambda x: chance[: len(x)]), rows)
    assert rule.features == ("a",)
    assert rule.agreement == pytest.approx(chance[:, 0].mean())


def test_columns_that_the_model_does_not_read_change_nothing(rows):
    """Also of a sparse table, which may have very many of them."""
    from scipy.sparse import csr_array

    alone = rules(
        Switch(lambda x: np.column_stack([x[:, 1] > 0.3, x[:, 1] <= 0.3]), (None,) * 2, ("a", "c")), rows[:, 1:]
    )
    wide = np.column_stack([np.zeros(500), rows[:, 1], np.zeros(500), rows[:, 2]])
    model = Switch(lambda x: np.zeros((500, 4)), (None,) * 4, ("x", "a", "y", "c"))
    model.schema.columns = np.array([3, 1])
    for table in (wide, csr_array(wide)):
        model.masks_of = lambda x: np.insert(
            np.column_stack([wide[:, 3] > 0.3, wide[:, 3] <= 0.3]), [0, 1], False, axis=1
        )
        assert {str(rule) for rule in rules(model, table)} == {str(rule) for rule in alone}
