"""Boosted trees as plain arrays, so that a file can hold them and no library is needed to ask them.

A split sends a row left where x <= threshold, or, where x is NaN, as `missing_left` says. What a row ends in is summed
over the trees of each output, on top of a baseline.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

LEAF = -1  # the feature of a node that does not split
BLOCK_ENTRIES = 2**16  # rows x trees looked at together
MANY_ROWS = 500  # from which on rows go down one tree after the other


@dataclass(frozen=True)
class Trees:
    """T trees of M nodes in all; the children of a node come after it.

    Examples
    --------
    One tree: 1 where the first column is above 0.5 or hidden, else -1:

    >>> trees = Trees(
    ...     feature=np.array([0, LEAF, LEAF]), threshold=np.array([0.5, 0, 0]), missing_left=np.zeros(3, dtype=bool),
    ...     left=np.array([1, 0, 0]), right=np.array([2, 0, 0]), value=np.array([0.0, -1.0, 1.0]),
    ...     root=np.array([0]), output=np.array([0]), baseline=np.array([0.0]))
    >>> trees(np.array([[0.2], [0.7], [np.nan]]))[:, 0]
    array([-1.,  1.,  1.])
    """

    feature: np.ndarray  # int (M,); LEAF where there is no split
    threshold: np.ndarray  # (M,)
    missing_left: np.ndarray  # bool (M,)
    left: np.ndarray  # int (M,)
    right: np.ndarray  # int (M,)
    value: np.ndarray  # of leaves, (M,)
    root: np.ndarray  # int (T,)
    output: np.ndarray  # that a tree adds to, int (T,)
    baseline: np.ndarray  # (out,)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Sums of the trees for rows (n, C): (n, out)."""
        if len(x) >= MANY_ROWS:
            return self._tree_by_tree(x)
        result = np.empty((len(x), len(self.baseline)))
        size = max(1, BLOCK_ENTRIES // max(1, len(self.root)))
        for start in range(0, len(x), size):
            part = slice(start, start + size)
            result[part] = self._sums(x[part])
        return result

    def _sums(self, x: np.ndarray) -> np.ndarray:
        leaves = self.value[self._ends(x)]  # (n, T)
        sums = np.tile(self.baseline, (len(x), 1))
        for output, trees in enumerate(self._of_output):
            # one after the other, as libraries add them: the order of a sum decides its last bit
            added = np.concatenate([sums[:, [output]], leaves[:, trees]], axis=1)
            sums[:, output] = added.cumsum(axis=1)[:, -1]
        return sums

    def _tree_by_tree(self, x: np.ndarray) -> np.ndarray:
        """The same for many rows: all of them go down a tree, whose nodes stay in the cache, then down the next."""
        n, hidden = len(x), np.isnan(x)
        # NaN as a number that no threshold, or every one, is below; column after column, once in each way
        seen = np.concatenate([np.where(hidden, number, x).T.ravel() for number in (np.inf, -np.inf)])
        start = np.maximum(self.feature, 0) * n + np.where(self.missing_left, x.size, 0)
        sums, row = np.tile(self.baseline, (n, 1)), np.arange(n)
        for root, depth, output in zip(self.root, self._depths, self.output, strict=True):
            node = np.full(n, root)
            for _ in range(depth):
                left = seen.take(start.take(node) + row) <= self.threshold.take(node)
                node = self._children.take(2 * node + left)
            sums[:, output] += self.value.take(node)
        return sums

    @cached_property
    def _children(self) -> np.ndarray:
        """The right child and the left one of each node in turn, of a leaf itself: (2 M,)."""
        leaf, itself = self.feature == LEAF, np.arange(len(self.feature))
        return np.stack([np.where(leaf, itself, child) for child in (self.right, self.left)], axis=1).ravel()

    @cached_property
    def _depths(self) -> np.ndarray:
        """How many splits the longest way down each tree has: (T,)."""
        depths, node, tree = np.zeros(len(self.root), dtype=int), self.root, np.arange(len(self.root))
        while len(node := node[(splits := self.feature[node] != LEAF)]):
            tree = tree[splits]
            depths[np.unique(tree)] += 1
            node, tree = np.concatenate([self.left[node], self.right[node]]), np.tile(tree, 2)
        return depths

    def first(self, rounds: int) -> Trees:
        """The trees of the first rounds alone, the nodes of others left out."""
        n_trees = rounds * len(self.baseline)
        end = int(self.root[n_trees]) if n_trees < len(self.root) else len(self.feature)
        nodes = {name: getattr(self, name)[:end] for name in NODES}
        return replace(self, **nodes, root=self.root[:n_trees], output=self.output[:n_trees])

    def _ends(self, x: np.ndarray) -> np.ndarray:
        """The leaf of each row in each tree: int (n, T)."""
        shape = (len(x), len(self.root))
        node, row = np.broadcast_to(self.root, shape).flatten(), np.repeat(np.arange(len(x)), len(self.root))
        moving = np.flatnonzero(self.feature[node] != LEAF)
        while len(moving):
            at = node[moving]
            value = x[row[moving], self.feature[at]]
            left = np.where(np.isnan(value), self.missing_left[at], value <= self.threshold[at])
            after = np.where(left, self.left[at], self.right[at])
            node[moving] = after
            moving = moving[self.feature[after] != LEAF]
        return node.reshape(shape)

    @cached_property
    def _of_output(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.output == number) for number in range(len(self.baseline))]

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it, by name, as floats."""
        return {field.name: getattr(self, field.name).astype(np.float64) for field in fields(self)}

    @classmethod
    def from_arrays(cls, given: dict[str, np.ndarray], n_columns: int) -> Trees:
        """What `arrays` gave; raises ValueError, naming the array, where trees of these columns cannot be so."""
        whole = {name: _whole(name, given[name]) for name in WHOLE}
        whole["missing_left"] = _whole("missing_left", given["missing_left"]).astype(bool)
        trees = cls(**{**given, **whole})
        n_nodes, numbers = len(trees.feature), np.arange(len(trees.feature))
        for name in ("threshold", "missing_left", "left", "right", "value"):
            _require(name, len(getattr(trees, name)) == n_nodes, f"have an entry for each of the {n_nodes} nodes")
        _require("output", len(trees.output) == len(trees.root), "have an entry for each tree")
        _require("feature", _within(trees.feature, LEAF, n_columns), f"be {LEAF} or a column below {n_columns}")
        splits = trees.feature != LEAF
        for name in ("left", "right"):
            child = getattr(trees, name)[splits]
            after = bool((child > numbers[splits]).all()) and _within(child, 0, n_nodes)
            _require(name, after, "name a later node")  # so that every way down ends
        _require("root", _within(trees.root, 0, n_nodes), "name a node")
        _require("output", _within(trees.output, 0, len(trees.baseline)), "name an output")
        return trees


NODES = ("feature", "threshold", "missing_left", "left", "right", "value")
WHOLE = ("feature", "left", "right", "root", "output")
NAMES = tuple(field.name for field in fields(Trees))


def joined(parts: list[dict[str, np.ndarray]], output: list[int], baseline: np.ndarray) -> Trees:
    """Trees from the nodes of each (feature, threshold, missing_left, left, right, value), numbered from 0."""
    sizes = [len(part["feature"]) for part in parts]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    moved = [{**p, "left": p["left"] + s, "right": p["right"] + s} for p, s in zip(parts, starts, strict=True)]
    kinds = {"feature": np.int64, "left": np.int64, "right": np.int64, "missing_left": bool}
    nodes = {name: np.concatenate([part[name] for part in moved]).astype(kinds.get(name, np.float64)) for name in NODES}
    largest = np.finfo(np.float64).max  # a threshold beyond all numbers, which a file cannot hold
    nodes["threshold"] = np.clip(nodes["threshold"], -largest, largest)
    trees = Trees(**nodes, root=starts, output=np.array(output, dtype=np.int64), baseline=np.asarray(baseline, float))
    return Trees.from_arrays(trees.arrays(), int(trees.feature.max(initial=0)) + 1)


def together(members: list[Trees]) -> Trees:
    """The mean of what several sum up to, as one."""
    starts = np.concatenate([[0], np.cumsum([len(one.feature) for one in members])[:-1]]).astype(np.int64)
    moved = [
        replace(one, left=one.left + s, right=one.right + s, root=one.root + s, value=one.value / len(members))
        for one, s in zip(members, starts, strict=True)
    ]
    parts = {name: np.concatenate([getattr(one, name) for one in moved]) for name in (*NODES, "root", "output")}
    return Trees(**parts, baseline=np.mean([one.baseline for one in members], axis=0))


def _whole(name: str, values: np.ndarray) -> np.ndarray:
    _require(name, bool((values == np.round(values)).all() and (np.abs(values) < 2**53).all()), "hold whole numbers")
    return values.astype(np.int64)


def _within(values: np.ndarray, least: int, end: int) -> bool:
    return bool(((values >= least) & (values < end)).all())


def _require(name: str, holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{name} must {what}")
