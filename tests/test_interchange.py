"""Groups in which every pair holds."""

from sklar.interchange import Interchangeable, apart, exact, interchangeable_groups
from sklar.training.replacement import Replacement


def link(feature, by, most_lost=0.1):
    return Replacement(feature, by, 0.1, 0.01, 1.0, 0.01, most_lost, 100)


def test_a_chain_is_two_groups():
    assert interchangeable_groups("abc", [link("a", "b"), link("b", "c")]) == [["a", "b"], ["b", "c"]]


def test_a_group_holds_every_pair_and_tells_what_each_costs():
    pairs = [link("c", "a"), link("a", "b"), link("b", "a"), link("c", "b"), link("d", "a")]
    groups = interchangeable_groups("abcd", pairs)
    assert groups == [["a", "b", "c"], ["a", "d"]]
    assert groups[0].replacements == pairs[:4]
    assert groups[1].replacements == pairs[4:]


def test_what_loses_more_than_allowed_in_one_direction_is_no_pair():
    pairs = [link("a", "b", 0.1), link("b", "a", 0.3)]
    assert interchangeable_groups("ab", pairs, most_lost=0.2) == []
    assert interchangeable_groups("ab", pairs, most_lost=0.3) == [["a", "b"]]


def test_a_direction_is_told_only_if_its_own_rows_bear_it_out():
    """Many rows are shown `b` and say that `a` would do; the few that are shown `a` cannot say whether `b` would."""
    many, few = link("b", "a"), Replacement("a", "b", 0.0112, 0.0132, 0.008, 0.0496, 0.02, 78)
    (group,) = interchangeable_groups("ab", [many, few], most_lost=0.2)
    assert (group, group.replacements) == (["a", "b"], [many])
    assert interchangeable_groups("ab", [few], most_lost=1.0) == []


def test_a_pair_is_none_where_one_direction_is_clearly_dear():
    """Half of the rows lose 30 % of the worth, which is 15 % of all; the other way round nothing is lost."""
    there, back = link("a", "b"), Replacement("b", "a", 0.3, 0.01, 1.0, 0.01, 0.16, 100)
    assert interchangeable_groups("ab", [there, back], most_lost=0.2) == []
    (group,) = interchangeable_groups("ab", [there, back], most_lost=0.5)
    assert group.replacements == [there, back]


def test_copies_stand_for_what_their_original_stands_for():
    groups = interchangeable_groups("abcd", [link("b", "c")], copies=[["b", "a"], ["d", "x"]][:1])
    assert groups == [["a", "b", "c"]]
    assert groups[0].replacements == [link("b", "c"), *exact(["b", "a"])]


def test_groups_that_share_no_member():
    assert apart([["a", "b"], ["b", "c", "d"], ["a", "e"]]) == [["b", "c", "d"], ["a", "e"]]


def test_a_group_is_a_list_of_names():
    group = Interchangeable(["a", "b"], [link("a", "b")])
    assert group == ["a", "b"]
    assert str(group) == "a, b (b for a costs 10 ± 1 % of its worth)"
