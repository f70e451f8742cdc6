"""A fitted estimator as one ONNX graph: table -> scaling -> scores -> mask -> prediction, as in the model itself."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from sklar.export.onnx_graph import Graph
from sklar.export.storage import replace_file
from sklar.model.ensemble import SHUT, EnsembleModel
from sklar.model.honest_model import HonestModel
from sklar.model.selection import GateModel, SelectionModel
from sklar.table.scaling import FURTHEST_DEVIATION


def write_onnx(estimator: Any, path: str | PathLike[str]) -> None:
    """Write the graph; see `Exports.to_onnx`."""
    refuse_what_does_not_fit(estimator)
    model, graph = estimator.model_, Graph()
    x = _scaled(graph, estimator)
    mask = _decided(graph, model, _scores(graph, model, x))
    shown = graph.cast(mask, TensorProto.DOUBLE)
    outputs = _outputs(graph, model, x, shown, hasattr(estimator, "classes_"))
    _predictions(graph, estimator, graph("Squeeze", outputs, graph.whole(0)))
    width = estimator.n_features_in_
    whole = graph("Squeeze", graph.spread(shown, estimator.union_, width, 0.0), graph.whole(0))
    graph.output(graph.cast(whole, TensorProto.BOOL), "mask", TensorProto.BOOL, "n", width)
    told = {"features": json.dumps(estimator._names(), ensure_ascii=False)}
    if hasattr(estimator, "classes_"):
        told["classes"] = json.dumps([str(label) for label in estimator.classes_], ensure_ascii=False)
    replace_file(Path(path), graph.model(width, told).SerializeToString())


def refuse_what_does_not_fit(estimator: Any) -> None:
    """Raise for a model whose answers the graph could not equal."""
    encoding, a = getattr(estimator, "encoding_", None), estimator.model_.architecture
    if encoding is not None and not encoding.is_plain:
        raise ValueError("to_onnx takes tables of numbers; this model has text columns or missing values")
    said = [word for word in ("gate_of_input", "forced", "min_features") if getattr(a, word, None)]
    if said:
        raise ValueError(f"to_onnx cannot express groups, forced columns or min_features (the model's {said[0]}) yet")
    if getattr(a, "output_kind", "") not in ("", "classes", "values"):
        raise ValueError(f"to_onnx knows classes and values; this model predicts {a.output_kind}")
    if isinstance(estimator.model_, EnsembleModel) and a.k is not None:
        raise ValueError("to_onnx takes a ranker of one model; with several, ties of mean places have no fixed order")


def _scaled(graph: Graph, estimator: Any) -> str:
    """The columns that the model reads, as it reads them: (1, n, w)."""
    union, scaling = estimator.union_, estimator.scaling_
    x = graph.cast(graph.take("X", union), TensorProto.DOUBLE)
    x = graph("Sub", x, graph.constant(scaling.centre[union]))
    x = graph("Div", x, graph.constant(scaling.spread[union]))
    x = graph("Clip", x, graph.constant(-FURTHEST_DEVIATION), graph.constant(FURTHEST_DEVIATION))
    return graph("Unsqueeze", x, graph.whole(0))


def _scores(graph: Graph, model: GateModel, x: str) -> str:
    """ChoiceNet; of several models the median (of the lower half, where two are): (1, n, w)."""
    if isinstance(model, EnsembleModel):
        width, count = model.architecture.n_features, len(model.members)
        scores = [graph.spread(_vote(graph, m, graph.take(x, c)), c, width, SHUT) for m, c in model._parts()]
        lower = graph.whole((count + 1) // 2)
        lowest = graph("TopK", graph("Concat", *scores, axis=0), lower, of=2, axis=0, largest=0, sorted=1)
        return graph("Gather", lowest, graph.whole((count - 1) // 2), axis=0)
    assert isinstance(model, HonestModel | SelectionModel)
    choice, activation = model.choice, model.architecture.activation
    h = graph.activation(graph.linear(x, choice.first), activation)
    h = graph.activation(graph.linear(h, choice.second), activation)
    return graph.linear(h, choice.scores)


def _vote(graph: Graph, member: GateModel, x: str) -> str:
    """A member's scores, negative for what it does not select beside a substitute: (1, n, w)."""
    scores = _scores(graph, member, x)
    against = graph("And", graph("Greater", scores, graph.constant(0.0)), graph("Not", _decided(graph, member, scores)))
    return graph("Where", against, graph("Neg", scores), scores)


def _decided(graph: Graph, model: GateModel, scores: str) -> str:
    """The mask without noise: bool (1, n, w)."""
    if model.architecture.k is not None:
        top = graph("TopK", scores, graph.whole(model.architecture.k), take=1, of=2, axis=-1)
        ones = graph("ConstantOfShape", graph("Shape", top), value=_filled(1.0))
        zeros = graph("ConstantOfShape", graph("Shape", scores), value=_filled(0.0))
        return graph.cast(graph("ScatterElements", zeros, top, ones, axis=-1), TensorProto.BOOL)
    mask = graph("Greater", scores, graph.constant(0.0))
    groups = getattr(model, "substitutes", None)
    if groups is None or not groups.any():
        return mask
    return graph("And", mask, graph("Not", _beaten(graph, mask, scores, groups.cpu().numpy())))


def _beaten(graph: Graph, mask: str, scores: str, groups: np.ndarray) -> str:
    """Whether a selected feature of the same group has a higher score (see `best_of_groups`): bool (1, n, w)."""
    members = np.flatnonzero(groups.any(axis=0))
    own = graph.take(scores, members)  # (1, n, m)
    higher = graph("Greater", graph("Unsqueeze", own, graph.whole(2)), graph("Unsqueeze", own, graph.whole(3)))
    shown = graph("Unsqueeze", graph.take(mask, members), graph.whole(2))
    rivals = graph("And", shown, graph.constant(groups[np.ix_(members, members)], np.bool_))
    beats = graph.cast(graph("And", higher, rivals), TensorProto.DOUBLE)  # (1, n, m, m)
    lost = graph("ReduceMax", beats, graph.whole(3), keepdims=0)
    return graph.cast(graph.spread(lost, members, len(groups), 0.0), TensorProto.BOOL)


def _outputs(graph: Graph, model: GateModel, x: str, mask: str, classes: bool) -> str:
    """Probabilities, or standardised values, from the selected features alone: (1, n, out)."""
    if isinstance(model, EnsembleModel):
        parts = [_outputs(graph, m, graph.take(x, c), graph.take(mask, c), classes) for m, c in model._parts()]
        return _mean(graph, graph("Concat", *parts, axis=0))
    shown = graph("Mul", x, mask)
    if isinstance(model, HonestModel):
        masked = model.predictors
        h = graph("Concat", shown, graph("Sub", mask, graph.constant(0.5)), axis=-1)
        h = graph("Relu", graph.linear(h, masked.first))
        out = graph.linear(graph("Relu", graph.linear(h, masked.second)), masked.last)  # (F, n, out)
    else:
        assert isinstance(model, SelectionModel)
        net, activation = model.predict, model.architecture.activation
        h = graph.normalised(graph.activation(graph.linear(shown, net.first), activation), net.first_norm)
        h = graph.normalised(graph.activation(graph.linear(h, net.second), activation), net.second_norm)
        out = graph.linear(h, net.last)
    return _mean(graph, graph("Softmax", out, axis=-1) if classes else out)


def _mean(graph: Graph, outputs: str) -> str:
    """Over folds or models: probabilities as such, which is what the model does through logarithms."""
    return graph("ReduceMean", outputs, graph.whole(0), keepdims=1)


def _predictions(graph: Graph, estimator: Any, outputs: str) -> None:
    """Name the answers: classes and their probabilities, or values in the target's units."""
    width = estimator.model_.architecture.n_outputs
    if not hasattr(estimator, "classes_"):
        spread, centre = graph.constant(estimator.target_spread_), graph.constant(estimator.target_centre_)
        values = graph("Add", graph("Mul", outputs, spread), centre)
        shape: tuple[int | str, ...] = ("n", width)
        if width == 1:
            values, shape = graph("Squeeze", values, graph.whole(1)), ("n",)
        graph.output(values, "prediction", TensorProto.DOUBLE, *shape)
        return
    best = graph("ArgMax", outputs, axis=-1, keepdims=0)
    labels, kind = _labels(estimator.classes_)
    graph.output(graph("Gather", graph.constant(labels, labels.dtype), best), "prediction", kind, "n")
    graph.output(outputs, "probabilities", TensorProto.DOUBLE, "n", width)


def _labels(classes: np.ndarray) -> tuple[np.ndarray, int]:
    """The classes in a type that a graph can hold: whole numbers, truth values, numbers or text."""
    known = {
        "i": (np.int64, TensorProto.INT64),
        "u": (np.int64, TensorProto.INT64),
        "b": (np.bool_, TensorProto.BOOL),
        "f": (np.float64, TensorProto.DOUBLE),
    }
    dtype, kind = known.get(classes.dtype.kind, (object, TensorProto.STRING))
    return classes.astype(dtype), kind


def _filled(value: float) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array([value]))
