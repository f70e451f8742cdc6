"""Which features, for which kind of rows: a shallow tree over the masks, as rules that a person can read.

A tree of few leaves predicts the masks of rows from their values. A leaf is a kind of rows, and its rule names their
most frequent features, as many as they get in the mean: "x11 < 0.02: x1, x2, x11". The rules describe the selection;
they do not make it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from sklar.fitted import FittedModel
from sklar.table.sparse import dense

MOST_CATEGORIES = 20  # of a column, that a rule may name: the most frequent
LEAST_SHARE = 0.02  # of the rows, that a rule is about
LEAST_GAIN = 0.03  # of the masks' variance, that a split must explain
MOST_MOVED = 0.002  # of the rows, that a rounded threshold may misplace
MOST_ROWS = 20_000  # that the tree is grown from, evenly spread


@dataclass(frozen=True)
class Rule:
    """The features that rows of one kind get."""

    conditions: tuple[str, ...]  # all of them hold; none: every row
    features: tuple[str, ...]  # as many as these rows get in the mean, the most frequent first
    share: float  # of all rows
    agreement: float  # of the rule's features with those of its rows: mean Jaccard index

    def __str__(self) -> str:
        """One line."""
        where = " and ".join(self.conditions) or "every row"
        what = ", ".join(self.features) or "no feature"
        return f"{where}: {what}   ({100 * self.share:.0f} % of the rows, agreement {100 * self.agreement:.0f} %)"


class Rules(tuple[Rule, ...]):
    """Rules of all rows, which exclude each other; `print` them, or take `to_list` for plain values."""

    def __str__(self) -> str:
        """A line a rule."""
        return "\n".join(map(str, self))

    def to_list(self) -> list[dict[str, Any]]:
        """As JSON can hold it."""
        return [{k: list(v) if isinstance(v, tuple) else v for k, v in asdict(rule).items()} for rule in self]


class _Question(NamedTuple):
    """An input of the tree: a number, or whether a column has a state."""

    values: np.ndarray  # (n,)
    below: str  # the condition at or below a threshold, which a number's leaves open: "{}"
    above: str

    def condition(self, threshold: float, is_above: bool) -> str:
        return (self.above if is_above else self.below).format(self.rounded(threshold))

    def rounded(self, threshold: float) -> str:
        """A threshold with as few digits, three or more, as leave next to no row on the other side of it."""
        below = self.values <= threshold
        for digits in range(3, 17):
            short = float(f"{threshold:.{digits}g}")
            if np.mean((self.values <= short) != below) <= MOST_MOVED:
                break
        return np.format_float_positional(short, trim="-") if 1e-4 <= abs(short) < 1e7 else f"{short:g}"


def rules(fitted: FittedModel, rows: Any, max_depth: int = 3) -> Rules:
    """The rules of rows that were read, from a tree at most so deep; those of most rows first.

    Examples
    --------
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> fitted = CopulaSelectorRegressor(penalty=0.01, max_epochs=5, random_state=0).fit(X, X[:, 0]).fitted_
    >>> round(sum(rule.share for rule in rules(fitted, fitted.read(X))), 6)
    1.0
    """
    if max_depth < 1:
        raise ValueError(f"max_depth must be at least 1; got {max_depth}")
    rows = rows[np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], MOST_ROWS)).round().astype(int)]
    asked, read = fitted.schema.columns, np.sort(fitted.schema.columns)  # others are never selected
    masks, names = dense(fitted.masks(rows), read).astype(float), [fitted.schema.names[j] for j in read]
    columns = zip(asked, dense(rows, asked).T, strict=True)
    questions = [question for j, values in columns for question in _questions(fitted, values, j)]
    varies = np.flatnonzero(masks.std(axis=0) > 0)
    if not len(varies) or not questions:
        return Rules([_rule(names, masks, ())])
    tree = DecisionTreeRegressor(
        max_depth=max_depth,
        min_samples_leaf=max(5, int(LEAST_SHARE * len(masks))) if len(masks) >= 10 else 1,
        min_impurity_decrease=LEAST_GAIN * float(masks[:, varies].var(axis=0).mean()),
        random_state=0,
    )
    inputs = np.column_stack([question.values for question in questions])
    leaves = tree.fit(inputs, masks[:, varies]).apply(inputs)
    found = [_rule(names, masks, conditions, leaves == leaf) for leaf, conditions in _leaves(tree, questions)]
    return Rules(sorted(found, key=lambda rule: -rule.share))


def _questions(fitted: FittedModel, values: np.ndarray, j: int) -> list[_Question]:
    """What the tree may ask about column j, whose values or codes (n,) are NaN where missing."""
    name, kept, missing = fitted.schema.names[j], fitted.schema.encoding.categories[j], np.isnan(values)
    if kept is None:
        filled = np.where(missing, np.nanmedian(values) if not missing.all() else 0.0, values)
        asked = [_Question(filled, *(f"{_escaped(name)} {sign} {{}}" for sign in ("<=", ">")))]
    else:
        codes, counts = np.unique(values[~missing].astype(int), return_counts=True)
        frequent = codes[np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]]
        named = [(code, kept[code] if 0 <= code < len(kept) else "other") for code in frequent]
        asked = [_indicator(values == code, f"{name} is {label}", f"{name} is not {label}") for code, label in named]
    if missing.any():
        asked.append(_indicator(missing, f"{name} is missing", f"{name} is known"))
    return asked


def _indicator(holds: np.ndarray, true: str, false: str) -> _Question:
    return _Question(holds.astype(float), _escaped(false), _escaped(true))


def _escaped(text: str) -> str:
    """Text without a place for a threshold."""
    return text.replace("{", "{{").replace("}", "}}")


def _leaves(tree: DecisionTreeRegressor, questions: list[_Question]) -> list[tuple[int, tuple[str, ...]]]:
    """Every leaf of a tree with the conditions on the way to it."""
    nodes, found = tree.tree_, []
    pending: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while pending:
        node, conditions = pending.pop()
        if nodes.children_left[node] < 0:
            found.append((node, conditions))
            continue
        asked, threshold = questions[nodes.feature[node]], nodes.threshold[node]
        for child, is_above in ((nodes.children_right[node], True), (nodes.children_left[node], False)):
            pending.append((int(child), (*conditions, asked.condition(threshold, is_above))))
    return found


def _rule(names: list[str], masks: np.ndarray, conditions: tuple[str, ...], inside: np.ndarray | None = None) -> Rule:
    """What rows `inside` get most often of masks (n, c) of features with these names."""
    own = masks if inside is None else masks[inside]
    shares = own.mean(axis=0)
    order = np.argsort(-shares, kind="stable")
    most = np.isin(np.arange(len(shares)), order[: round(float(shares.sum()))])
    both, either = own[:, most].sum(axis=1), np.maximum(own, most).sum(axis=1)
    features = tuple(names[j] for j in order if most[j])
    agreement = float(np.where(either > 0, both / np.maximum(either, 1), 1.0).mean())
    return Rule(conditions, features, len(own) / len(masks), agreement)
