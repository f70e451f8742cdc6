"""A fitted model as one ONNX graph: table -> scaling -> scores -> mask -> prediction, as in the model itself.

Input: `X`, float32 (n, d), all columns of `fit`. Outputs: `prediction` (n,), classes (whole numbers,
truth values, numbers or text) or values; for classifiers `probabilities`, float64 (n, classes); `mask`, bool (n, d).
Names of features and classes are in the metadata.

    >>> import tempfile, onnxruntime
    >>> from sklar import CopulaSelectorRegressor
    >>> X = np.random.default_rng(0).standard_normal((100, 3)).astype(np.float32)
    >>> selector = CopulaSelectorRegressor(penalty=0.01, max_epochs=2, random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     selector.to_onnx(f"{folder}/model.onnx")
    ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
    >>> prediction, mask = session.run(["prediction", "mask"], {"X": X})
    >>> bool((mask == selector.select(X)).all())
    True
"""

from __future__ import annotations

import json
from functools import reduce
from os import PathLike

import numpy as np

try:
    import onnx
    from onnx import TensorProto, numpy_helper
except ImportError as error:
    raise ImportError("to_onnx needs the package 'onnx': pip install \"sklar[onnx]\"") from error

from sklar.atomic import replace_file
from sklar.export.onnx_graph import Graph
from sklar.export.onnx_trees import tree_outputs
from sklar.fitted import FittedModel
from sklar.model.acquisition_model import AcquisitionModel
from sklar.model.binary_mask import FAR_BELOW
from sklar.model.ensemble import SHUT, EnsembleModel
from sklar.model.honest_model import HonestModel
from sklar.model.order import Order, told_counts
from sklar.model.piecewise import Piecewise
from sklar.model.row_factors import EXCLUDING
from sklar.model.selection import GateModel, SelectionModel
from sklar.table.scaling import FURTHEST_DEVIATION

LOWEST = -1e9  # below every score


def write_onnx(fitted: FittedModel, path: str | PathLike[str]) -> None:
    """Write the graph; see `CopulaEstimator.to_onnx`."""
    refuse_what_does_not_fit(fitted)
    graph, schema, target = Graph(), fitted.schema, fitted.target
    x = _scaled(graph, fitted)
    mask = _shown(graph, fitted.network, x)
    shown = graph.cast(mask, TensorProto.DOUBLE)
    outputs = _predicted(graph, fitted, x, shown)
    _predictions(graph, fitted, graph("Squeeze", outputs, graph.whole(0)))
    whole = graph("Squeeze", graph.spread(shown, schema.columns, schema.n_columns, 0.0), graph.whole(0))
    graph.output(graph.cast(whole, TensorProto.BOOL), "mask", TensorProto.BOOL, "n", schema.n_columns)
    metadata = {"features": json.dumps(schema.names, ensure_ascii=False)}
    if target.classes is not None:
        metadata["classes"] = json.dumps([str(label) for label in target.classes], ensure_ascii=False)
    replace_file(path, graph.model(schema.n_columns, metadata).SerializeToString())


def refuse_what_does_not_fit(fitted: FittedModel) -> None:
    """Raise for a model whose answers the graph could not equal."""
    a, kind = fitted.network.architecture, fitted.target.kind
    if fitted.predictor is not None and not fitted.predictor.is_plain:
        raise ValueError(
            f"to_onnx writes networks and boosted trees; this model predicts by {fitted.predictor.name}: fit without it"
        )
    if not fitted.schema.encoding.is_plain:
        raise ValueError("to_onnx takes tables of numbers; this model has text columns, dates or missing values")
    present = [name for name in ("gate_of_input", "forced", "min_features") if getattr(a, name)]
    if present:
        raise ValueError(
            f"to_onnx cannot express groups, forced columns or min_features yet (the model's {present[0]})"
        )
    if kind not in ("classes", "values"):
        raise ValueError(f"to_onnx knows classes and values; this model predicts {kind}")
    if isinstance(fitted.network, AcquisitionModel):
        raise ValueError("to_onnx takes rankers with chooses_from='row'; this one asks feature after feature")
    if isinstance(fitted.network, EnsembleModel) and a.k is not None:
        raise ValueError("to_onnx takes a ranker of one model; with several, ties of mean places have no fixed order")


def _scaled(graph: Graph, fitted: FittedModel) -> str:
    """The columns that the model reads, as it reads them: (1, n, w)."""
    read, scaling = fitted.schema.columns, fitted.schema.encoding.scaling
    x = graph.cast(graph.take("X", read), TensorProto.DOUBLE)
    x = graph("Sub", x, graph.constant(scaling.centre[read]))
    x = graph("Div", x, graph.constant(scaling.spread[read]))
    x = graph("Clip", x, graph.constant(-FURTHEST_DEVIATION), graph.constant(FURTHEST_DEVIATION))
    return graph("Unsqueeze", x, graph.whole(0))


def _shown(graph: Graph, model: GateModel, x: str) -> str:
    """The mask without noise: bool (1, n, w)."""
    if isinstance(model, HonestModel) and model.order is not None and model.is_prefix:
        return _prefix(graph, model, model.order, x)
    return _decided(graph, model, _scores(graph, model, x))


def _prefix(graph: Graph, model: HonestModel, order: Order, x: str) -> str:
    """The first k features of a longer ranking (see `model.order`): bool (1, n, w)."""
    k, most = model.architecture.k or 0, model.architecture.order_k
    scores, first = _one_of_each(graph, model, _scores(graph, model, x)), graph.linear(x, order.choice.first)
    left, parts, done = _largest(graph, scores, most), [], 0
    for count in [*told_counts(order.least, most), most]:
        if done < k:
            at_count = scores if count == most else _told(graph, model, order, first, count)
            worth = graph("Where", left, at_count, graph.constant(LOWEST))
            parts.append(_largest(graph, worth, min(count, k) - done))
            left, done = graph("And", left, graph("Not", parts[-1])), min(count, k)
    return reduce(lambda a, b: graph("Or", a, b), parts)


def _told(graph: Graph, model: HonestModel, order: Order, first: str, count: int) -> str:
    """Scores of a ranker that is told a number of features, from its first layer: (1, n, w)."""
    net, activation = order.choice, model.architecture.activation
    moved = graph("Add", first, graph.constant(order.shift(count).detach().cpu().numpy()))
    hidden = graph.activation(graph.linear(graph.activation(moved, activation), net.second), activation)
    return _one_of_each(graph, model, graph.linear(hidden, net.scores))


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
    alpha = graph.linear(h, choice.scores)
    return _row_decided(graph, model, x, alpha) if isinstance(model, HonestModel) else alpha


def _row_decided(graph: Graph, model: HonestModel, x: str, scores: str) -> str:
    """The scores, negative where a substitute is enough for the row (see `row_factors`): (1, n, w)."""
    if model.row_factors is None or model.contested is None:
        return scores
    loses, wins = np.nonzero(model.contested.cpu().numpy())
    loadings = model.loadings.detach().cpu().double().numpy()
    hidden = graph("Relu", graph.linear(x, model.row_factors.first))
    s = graph("Mul", graph("Sigmoid", graph.linear(hidden, model.row_factors.last)), graph.constant(2.0))
    square = graph("Mul", s, s)
    both = graph("MatMul", square, graph.constant((loadings[loses] * loadings[wins]).T))  # (1, n, M)
    sizes = [
        graph("Add", graph("MatMul", square, graph.constant((loadings[ends] ** 2).T)), graph.constant(1.0))
        for ends in (loses, wins)
    ]
    lowest = graph("Mul", graph("Sqrt", graph("Mul", *sizes)), graph.constant(EXCLUDING))
    rival = graph.take(scores, wins)
    higher = graph(
        "And", graph("Greater", rival, graph.take(scores, loses)), graph("Greater", rival, graph.constant(0.0))
    )
    lost = graph.cast(graph("And", higher, graph("Less", both, lowest)), TensorProto.DOUBLE)
    of_feature = graph("MatMul", lost, graph.constant(np.eye(len(loadings))[loses]))
    positive = graph("Greater", scores, graph.constant(0.0))
    beaten = graph("And", positive, graph("Greater", of_feature, graph.constant(0.0)))
    return graph("Where", beaten, graph("Neg", scores), scores)


def _vote(graph: Graph, member: GateModel, x: str) -> str:
    """A member's scores, negative for what it does not select beside a substitute: (1, n, w)."""
    scores = _scores(graph, member, x)
    against = graph("And", graph("Greater", scores, graph.constant(0.0)), graph("Not", _decided(graph, member, scores)))
    return graph("Where", against, graph("Neg", scores), scores)


def _decided(graph: Graph, model: GateModel, scores: str) -> str:
    """The mask without noise: bool (1, n, w)."""
    if model.architecture.k is not None:
        return _largest(graph, _one_of_each(graph, model, scores), model.architecture.k)
    mask, groups = graph("Greater", scores, graph.constant(0.0)), getattr(model, "substitutes", None)
    if groups is None or not groups.any():
        return mask
    return graph("And", mask, graph("Not", _beaten(graph, mask, scores, groups.cpu().numpy())))


def _largest(graph: Graph, scores: str, k: int) -> str:
    """True at the k largest: bool (1, n, w)."""
    top = graph("TopK", scores, graph.whole(k), take=1, of=2, axis=-1)
    ones = graph("ConstantOfShape", graph("Shape", top), value=_filled(1.0))
    zeros = graph("ConstantOfShape", graph("Shape", scores), value=_filled(0.0))
    return graph.cast(graph("ScatterElements", zeros, top, ones, axis=-1), TensorProto.BOOL)


def _one_of_each(graph: Graph, model: GateModel, scores: str) -> str:
    """A ranker's scores, below all others for features beside a better one of their group: (1, n, w)."""
    groups = getattr(model, "substitutes", None)
    if groups is None or not groups.any():
        return scores
    beaten = _beaten(graph, None, scores, groups.cpu().numpy())
    return graph("Where", beaten, graph("Sub", scores, graph.constant(FAR_BELOW)), scores)


def _beaten(graph: Graph, mask: str | None, scores: str, groups: np.ndarray) -> str:
    """Whether a selected (or any) feature of the same group has a higher score (see `best_of_groups`): (1, n, w)."""
    members = np.flatnonzero(groups.any(axis=0))
    own = graph.take(scores, members)  # (1, n, m)
    higher = graph("Greater", graph("Unsqueeze", own, graph.whole(2)), graph("Unsqueeze", own, graph.whole(3)))
    rivals = graph.constant(groups[np.ix_(members, members)], np.bool_)
    if mask is not None:
        rivals = graph("And", graph("Unsqueeze", graph.take(mask, members), graph.whole(2)), rivals)
    beats = graph.cast(graph("And", higher, rivals), TensorProto.DOUBLE)  # (1, n, m, m)
    lost = graph("ReduceMax", beats, graph.whole(3), keepdims=0)
    return graph.cast(graph.spread(lost, members, len(groups), 0.0), TensorProto.BOOL)


def _predicted(graph: Graph, fitted: FittedModel, x: str, mask: str) -> str:
    """Probabilities, or standardised values, by the networks, by trees, or the mean of both: (1, n, out)."""
    classes, predictor = fitted.target.is_classified, fitted.predictor
    if predictor is None:
        return _outputs(graph, fitted.network, x, mask, classes)
    by_trees = tree_outputs(graph, predictor, x, mask, classes)
    if not predictor.with_networks:
        return by_trees
    by_networks = _outputs(graph, fitted.network, x, mask, classes)
    return _mean(graph, graph("Concat", by_networks, by_trees, axis=0))


def _outputs(graph: Graph, model: GateModel, x: str, mask: str, classes: bool) -> str:
    """Probabilities, or standardised values, from the selected features alone: (1, n, out)."""
    if isinstance(model, EnsembleModel):
        parts = [_outputs(graph, m, graph.take(x, c), graph.take(mask, c), classes) for m, c in model._parts()]
        return _mean(graph, graph("Concat", *parts, axis=0))
    shown = graph("Mul", x, mask)
    if isinstance(model, HonestModel):
        masked = model.predictors
        if masked.pieces is not None:
            shown = graph("Concat", shown, _pieces(graph, masked.pieces, x, mask), axis=-1)
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


def _pieces(graph: Graph, pieces: Piecewise, x: str, mask: str) -> str:
    """How far shown numbers have come through their intervals, which all folds share: (1, n, M B)."""
    parts = (pieces.lower, pieces.inverse_width, pieces.mean, pieces.scale)
    lower, inverse, mean, scale = (graph.constant(part[0].numpy()) for part in parts)
    cut = pieces.cut.numpy()
    value, shown = (graph("Unsqueeze", graph.take(part, cut), graph.whole(3)) for part in (x, mask))
    passed = graph("Mul", graph("Sub", value, lower), inverse)
    passed = graph("Clip", passed, graph.constant(0.0), graph.constant(1.0))
    found = graph("Mul", graph("Mul", graph("Sub", passed, mean), scale), shown)
    return graph("Reshape", found, graph.whole(1, -1, pieces.n_values))


def _mean(graph: Graph, outputs: str) -> str:
    """Over folds or models: probabilities as such, which is what the model does through logarithms."""
    return graph("ReduceMean", outputs, graph.whole(0), keepdims=1)


def _predictions(graph: Graph, fitted: FittedModel, outputs: str) -> None:
    """Name the answers: classes and their probabilities, or values in the target's units."""
    width, target = fitted.network.architecture.n_outputs, fitted.target
    if target.classes is None:
        spread, centre = graph.constant(target.spread), graph.constant(target.centre)
        values = graph("Add", graph("Mul", outputs, spread), centre)
        shape: tuple[int | str, ...] = ("n", width)
        if width == 1:
            values, shape = graph("Squeeze", values, graph.whole(1)), ("n",)
        graph.output(values, "prediction", TensorProto.DOUBLE, *shape)
        return
    best = graph("ArgMax", outputs, axis=-1, keepdims=0)
    labels, kind = _labels(target.classes)
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
