"""Boosted trees as one operator of an ONNX graph: `TreeEnsemble` of the domain ai.onnx.ml, in float64.

The operator numbers splits and leaves apart; a tree that is one leaf becomes a split that ends in it either way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto, numpy_helper

from sklar.export.onnx_graph import TREES_DOMAIN, Graph
from sklar.predictor.answers import UserPredictor
from sklar.predictor.trees import LEAF, Trees

# The operator's codes.
SUM = 1  # of leaves
NO_TRANSFORM = 0  # of sums
AT_MOST = 0  # a split is x <= threshold


def tree_outputs(graph: Graph, predictor: UserPredictor, x: str, mask: str, classes: bool) -> str:
    """What trees make of numbers x (1, n, w) that the mask shows: probabilities, or values: (1, n, out)."""
    learned = graph.cast(graph.cast(x, TensorProto.FLOAT), TensorProto.DOUBLE)  # trees learned from float32
    seen = graph("Where", graph.cast(mask, TensorProto.BOOL), learned, graph.constant(np.nan))
    seen = graph("Squeeze", seen, graph.whole(0))
    parts = [_answers(graph, model.trees, seen, classes) for model in predictor.models]
    outputs = parts[0] if len(parts) == 1 else graph("Concat", *parts, axis=-1)
    return graph("Unsqueeze", outputs, graph.whole(0))


def _answers(graph: Graph, trees: Trees, seen: str, classes: bool) -> str:
    """Probabilities of all classes, of two from one sum, or values: (n, out)."""
    sums = tree_sums(graph, trees, seen)
    if not classes:
        return sums
    if len(trees.baseline) == 1:
        sums = graph("Pad", sums, graph.whole(0, 1, 0, 0), graph.constant(0.0))
    return graph("Softmax", sums, axis=-1)


def tree_sums(graph: Graph, trees: Trees, x: str) -> str:
    """What the trees sum up to for columns x (n, C), NaN where hidden: (n, out)."""
    splits, leaves = _splits(trees), np.flatnonzero(trees.feature == LEAF)
    place = np.full(len(trees.feature), -1)
    place[leaves] = np.arange(len(leaves))
    children = {side: _children(splits, getattr(splits, side), place) for side in ("left", "right")}
    sums = graph(
        "TreeEnsemble",
        x,
        domain=TREES_DOMAIN,
        n_targets=len(trees.baseline),
        aggregate_function=SUM,
        post_transform=NO_TRANSFORM,
        tree_roots=splits.number[trees.root].tolist(),
        nodes_featureids=splits.feature.tolist(),
        nodes_splits=numpy_helper.from_array(splits.threshold),
        nodes_modes=numpy_helper.from_array(np.full(len(splits.feature), AT_MOST, dtype=np.uint8)),
        nodes_missing_value_tracks_true=splits.missing_left.astype(int).tolist(),
        nodes_truenodeids=children["left"].number.tolist(),
        nodes_trueleafs=children["left"].is_leaf.astype(int).tolist(),
        nodes_falsenodeids=children["right"].number.tolist(),
        nodes_falseleafs=children["right"].is_leaf.astype(int).tolist(),
        leaf_targetids=_output_of_node(trees)[leaves].tolist(),
        leaf_weights=numpy_helper.from_array(trees.value[leaves]),
    )
    return graph("Add", sums, graph.constant(trees.baseline))


class _Splits(NamedTuple):
    """The nodes that split, roots that are leaves among them; children are nodes of the trees."""

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    number: np.ndarray  # of a node among the splits, (M,); of one that is none -1


class _Children(NamedTuple):
    """Where splits lead: to a leaf or another split, by its number among these."""

    number: np.ndarray
    is_leaf: np.ndarray


def _splits(trees: Trees) -> _Splits:
    alone = trees.root[trees.feature[trees.root] == LEAF]
    node = np.union1d(np.flatnonzero(trees.feature != LEAF), alone)
    number = np.full(len(trees.feature), -1)
    number[node] = np.arange(len(node))
    single = np.isin(node, alone)
    feature, left, right = (getattr(trees, name)[node] for name in ("feature", "left", "right"))
    return _Splits(
        np.where(single, 0, feature),
        trees.threshold[node].astype(np.float64),
        trees.missing_left[node],
        np.where(single, node, left),
        np.where(single, node, right),
        number,
    )


def _children(splits: _Splits, node: np.ndarray, place: np.ndarray) -> _Children:
    """`place` is that of each node among the leaves, -1 where it is none."""
    is_leaf = place[node] >= 0
    return _Children(np.where(is_leaf, place[node], splits.number[node]), is_leaf)


def _output_of_node(trees: Trees) -> np.ndarray:
    """The output that each node's tree adds to, (M,): the nodes of a tree follow its root."""
    order = np.argsort(trees.root)
    return trees.output[order][np.searchsorted(trees.root[order], np.arange(len(trees.feature)), side="right") - 1]
