"""Whether one feature can stand for another: masks with one in the place of the other, judged by what rows lose.

What is asked is a claim about rows, so rows answer: those that are shown the one and not the other lose something when
they are shown the other instead, and something when they are shown neither. Where the first is a small part of the
second, the other feature does. Each is what they lose at the best confidence (see `best_confidence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

# Of masks (n, d), one a row, at the best confidence for some rows, bool (n,): (n,)
Losses = Callable[[np.ndarray, np.ndarray], np.ndarray]
Pair = tuple[int, int]

MOST_ROWS = 10_000  # that judge: enough for shares of a feature's worth to within a percent or two
LEAST_ROWS = 30  # that a replacement is judged on
MOST_TOGETHER = 0.05  # of the rows that are shown one of two features may be shown both
ERRORS = 2.0  # standard errors by which a replacement must be cheap enough: 1 in 40 that is not would pass
MOST_LOST = 0.2  # of what two features are worth, where one of them stands for both
MOST_OF_ONE = 0.5  # of what a feature is worth to the rows that are shown it: no more may clearly be lost there

LINKED = 0.5  # |correlation| of values, or minus that of gates, from which features are candidates
MOST_PAIRS = 100  # of candidates that are judged, the closest first


class Replacement(NamedTuple):
    """What rows lose that are shown another feature in the place of one, in units of the loss."""

    feature: Any  # a name, or a number while training
    by: Any
    cost: float  # mean, of rows that are shown `feature` and not `by`
    error: float  # its standard error
    worth: float  # what the same rows lose when they are shown neither
    worth_error: float
    most_lost: float  # share of their worth, with confidence, were all rows shown `by` that are shown either
    n_rows: int

    @property
    def borne_out(self) -> float:
        """The least share of the worth that its own rows put the cost below, by `ERRORS` standard errors.

        Infinity where the worth is not as clearly above 0. `most_lost` is of more rows: those that are shown `by`
        anyway lose nothing, and among many of them a few that lose all hardly count.
        """
        if self.n_rows == 0:  # an exact copy
            return 0.0
        if self.worth <= ERRORS * self.worth_error:
            return np.inf
        return (self.cost + ERRORS * self.error) / self.worth

    def is_dear(self, share: float) -> bool:
        """Whether the cost is clearly above a share of the worth."""
        return self.cost - ERRORS * self.error > share * self.worth

    @property
    def said(self) -> str:
        """The cost in words, as a share of the worth; no row need judge an exact copy."""
        if self.n_rows == 0:
            return "says exactly the same"
        lost, error = (100 * part / self.worth for part in (self.cost, self.error))
        return f"costs {max(lost, 0):.0f} ± {error:.0f} % of its worth"

    def __str__(self) -> str:
        """In words."""
        return f"{self.by} for {self.feature} {self.said}"


class Rows(NamedTuple):
    """The masks of rows, and what rows lose that are shown others."""

    masks: np.ndarray  # bool (n, d)
    losses: Losses
    weight: np.ndarray | None = None  # what rows count, (n,)


def replacements(rows: Rows, pairs: Iterable[Pair], forced: Iterable[int] = ()) -> list[Replacement]:
    """The replacements that hold, of pairs of features that might stand for each other.

    A pair holds where hardly any row is shown both, and each alone is worth most of what the two are worth to the rows
    that are shown one. Two features that no row is shown are judged in the place of a third that both stand for.
    """
    asked = {pair for pair in pairs if not set(pair) & set(forced)}
    held = {pair: found for pair in sorted(asked) if (found := _of_pair(rows, pair))}
    shown = rows.masks.sum(axis=0) >= LEAST_ROWS
    for pair in sorted(asked - held.keys()):
        if not shown[list(pair)].any():
            thirds = [i for i in np.flatnonzero(shown) if all(tuple(sorted((i, j))) in held for j in pair)]
            if thirds and (found := _instead_of(rows, int(thirds[0]), pair)):
                held[pair] = found
    return [one for found in held.values() for one in found]


def candidates(masks: np.ndarray, closeness: np.ndarray) -> list[Pair]:
    """The closest pairs (d, d) of features that may stand for each other: those that rows are shown, and the others."""
    shown = masks.sum(axis=0) >= LEAST_ROWS
    pairs = [(int(i), int(j)) for i, j in np.argwhere(np.triu(closeness, 1) > LINKED)]
    pairs.sort(key=lambda pair: -closeness[pair])
    asked, unseen = ([p for p in pairs if shown[list(p)].any() == seen] for seen in (True, False))
    return asked[:MOST_PAIRS] + unseen[:MOST_PAIRS]


def _of_pair(rows: Rows, pair: Pair) -> list[Replacement]:
    """Each of a pair in the place of the other; empty where that loses too much, or rows are shown both."""
    first, second = (rows.masks[:, i] for i in pair)
    either = first | second
    if either.sum() < LEAST_ROWS or (first & second).sum() > MOST_TOGETHER * either.sum():
        return []
    without = _shown(rows.masks, either, pair)
    loss, neither = (rows.losses(masks, either) for masks in (rows.masks, without))
    found = []
    for feature, by in (pair, pair[::-1]):
        other = rows.losses(_shown(without, either, (), by), either)
        most = _most_lost(rows, either, other - loss, neither - loss)
        where = rows.masks[:, feature] & ~rows.masks[:, by]
        if most > 1:
            return []
        if where.sum() >= LEAST_ROWS:
            found.append(_judged(rows, where, (feature, by), other - loss, neither - loss, most))
    dear = any(one.is_dear(MOST_OF_ONE) for one in found)
    return [] if dear else [one for one in found if one.worth > 0]


def _shown(masks: np.ndarray, where: np.ndarray, out: Sequence[int], into: int | None = None) -> np.ndarray:
    """The masks with some features hidden, and one shown, in the rows `where`."""
    changed = masks.copy()
    changed[np.ix_(where, np.array(out, dtype=int))] = False
    if into is not None:
        changed[where, into] = True
    return changed


def _instead_of(rows: Rows, third: int, pair: Pair) -> list[Replacement]:
    """Two features in the place of a third, against each other."""
    where = rows.masks[:, third]
    without = _shown(rows.masks, where, [third])
    neither = rows.losses(without, where)
    losses = {feature: rows.losses(_shown(without, where, (), feature), where) for feature in pair}
    found = []
    for feature, by in (pair, pair[::-1]):
        cost, worth = losses[by] - losses[feature], neither - losses[feature]
        most = _most_lost(rows, where, cost, worth)
        if most > 1:
            return []
        found.append(_judged(rows, where, (feature, by), cost, worth, most))
    return found


def _judged(
    rows: Rows, where: np.ndarray, pair: Pair, cost: np.ndarray, worth: np.ndarray, most_lost: float
) -> Replacement:
    """A replacement, from what all rows lose with the other feature, and with neither."""
    weight = None if rows.weight is None else rows.weight[where]
    means = (mean_and_error(part[where], weight) for part in (cost, worth))
    return Replacement(*pair, *next(means), *next(means), most_lost, int(where.sum()))


def _most_lost(rows: Rows, where: np.ndarray, cost: np.ndarray, worth: np.ndarray) -> float:
    """The least share of the worth that the cost is below, in steps of 1 %: by `ERRORS` standard errors; else infinity.

    The worth must itself be as clearly above 0.
    """
    weight = None if rows.weight is None else rows.weight[where]
    cost, worth = cost[where], worth[where]
    mean, error = mean_and_error(worth, weight)
    if mean <= ERRORS * error:
        return np.inf
    for percent in range(101):
        mean, error = mean_and_error(cost - percent / 100 * worth, weight)
        if mean + ERRORS * error <= 0:
            return percent / 100
    return np.inf


def agreed(members: Sequence[Sequence[Replacement]]) -> tuple[Replacement, ...]:
    """The replacements of pairs that all of several models bear out, each as the model says whose rows do so least.

    Models may show different ones of a pair, and then judge different directions.
    """
    pairs = [{frozenset((one.feature, one.by)) for one in member} for member in members]
    common = set.intersection(*pairs)
    dearest: dict[tuple[Any, Any], Replacement] = {}
    for one in (one for member in members for one in member if frozenset((one.feature, one.by)) in common):
        known = dearest.setdefault((one.feature, one.by), one)
        least = max(known, one, key=lambda each: each.borne_out)
        dearest[one.feature, one.by] = least._replace(most_lost=max(known.most_lost, one.most_lost))
    return tuple(dearest.values())


def mean_and_error(values: np.ndarray, weight: np.ndarray | None) -> tuple[float, float]:
    """The mean over rows (n,) by weight, and its standard error."""
    share = np.full(len(values), 1 / len(values)) if weight is None else weight / weight.sum()
    mean = float(share @ values)
    return mean, float(np.sqrt((share * (values - mean)) @ (share * (values - mean))))
