"""Groups of features that stand for each other, from what rows said of every pair.

A group is one where every pair holds: that one feature stands for a second, and that for a third, says nothing of the
first and the third. A pair holds where rows lose little were all shown the one, and were all shown the other. Few of
them may decide one direction: only what these bear out by themselves is told, and a pair of which nothing is told is
none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from sklar.training.replacement import Replacement


class Interchangeable(list[str]):
    """The names of features that stand for each other; `replacements` says what each replacement costs.

    Examples
    --------
    >>> group = Interchangeable(["a", "b"], [Replacement("a", "b", 0.01, 0.002, 0.2, 0.01, 0.07, 500)])
    >>> group, str(group)
    (['a', 'b'], 'a, b (b for a costs 5 ± 1 % of its worth)')
    """

    def __init__(self, names: Iterable[str], replacements: Iterable[Replacement] = ()) -> None:
        super().__init__(names)
        self.replacements = list(replacements)

    def __str__(self) -> str:
        """The names, and the costs."""
        return f"{', '.join(self)} ({'; '.join(map(str, self.replacements))})"


def exact(copies: Sequence[str]) -> list[Replacement]:
    """Columns that say exactly the same, of which the model reads the first: the others cost nothing in its place."""
    return [Replacement(copies[0], other, 0.0, 0.0, 0.0, 0.0, 0.0, 0) for other in copies[1:]]


def interchangeable_groups(
    names: Sequence[str],
    replacements: Iterable[Replacement],
    copies: Sequence[Sequence[str]] = (),
    most_lost: float = 1.0,
) -> list[Interchangeable]:
    """The largest groups in which every pair loses at most a share of what a feature is worth, with what is told of it.

    A copy stands for whatever its original stands for.

    Examples
    --------
    >>> pairs = [Replacement("a", b, 0.01, 0.0, 0.2, 0.0, 0.1, 99) for b in "bc"]
    >>> interchangeable_groups("abcd", pairs, copies=[["c", "d"]])
    [['a', 'b'], ['a', 'c', 'd']]
    """
    replacements = list(replacements)
    found = [one for one in replacements if max(one.most_lost, one.borne_out) <= most_lost]
    clearly = (one for one in replacements if one.most_lost > most_lost or one.is_dear(most_lost))
    dear = {frozenset((one.feature, one.by)) for one in clearly}
    found += [one for group in copies for one in exact(group)]
    alike = {group[0]: list(group) for group in copies}
    linked: dict[str, set[str]] = defaultdict(set)
    for one in found:
        if frozenset((one.feature, one.by)) not in dear:
            ours, theirs = (alike.get(name, [name]) for name in (one.feature, one.by))
            for a, b in combinations(dict.fromkeys([*ours, *theirs]), 2):
                linked[a].add(b)
                linked[b].add(a)
    place = {name: j for j, name in enumerate(names)}
    groups = [sorted(group, key=place.__getitem__) for group in _cliques(linked)]
    groups.sort(key=lambda group: [place[name] for name in group])
    return [Interchangeable(group, [one for one in found if {one.feature, one.by} <= set(group)]) for group in groups]


def apart(groups: Iterable[Sequence[str]]) -> list[list[str]]:
    """Groups that share no member: the largest first, the others without what is taken."""
    taken: set[str] = set()
    result = []
    for group in sorted(groups, key=len, reverse=True):
        free = [name for name in group if name not in taken]
        if len(free) > 1:
            result.append(free)
            taken.update(free)
    return result


def _cliques(linked: dict[str, set[str]]) -> list[list[str]]:
    """Sets in which every pair is linked, and which nothing can be added to, so that every link is in one of them."""
    found: list[list[str]] = []
    covered: set[tuple[str, str]] = set()
    for first, second in ((a, b) for a in sorted(linked) for b in sorted(linked[a]) if a < b):
        if (first, second) not in covered:
            group, possible = [first, second], sorted(linked[first] & linked[second])
            for name in possible:
                if linked[name].issuperset(group):
                    group.append(name)
            found.append(group)
            covered.update((a, b) for a in group for b in group)
    return found
