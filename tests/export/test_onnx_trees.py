"""Boosted trees in an ONNX graph answer as the arrays they were written from."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import sklar
from sklar.export.onnx_graph import Graph
from sklar.predictor.trees import LEAF, Trees
from tests.export.test_onnx_export import assert_same_answers
from tests.helpers import quick, toy_rows, toy_target

onnxruntime = pytest.importorskip("onnxruntime", reason="needs the [onnx] extra")
onnx = pytest.importorskip("onnx", reason="needs the [onnx] extra")


def summed(trees, x):
    from sklar.export.onnx_trees import tree_sums

    graph = Graph()
    graph.output(
        tree_sums(graph, trees, graph.cast("X", onnx.TensorProto.DOUBLE)), "sums", onnx.TensorProto.DOUBLE, "n", 2
    )
    session = onnxruntime.InferenceSession(graph.model(x.shape[1], {}).SerializeToString())
    return session.run(None, {"X": x})[0]


def test_splits_leaves_missing_values_and_outputs():
    """Two trees of two outputs: one splits twice, by NaN to either side; the other is a single leaf."""
    trees = Trees(
        feature=np.array([0, 1, LEAF, LEAF, LEAF, LEAF]),
        threshold=np.array([0.5, -1.0, 0, 0, 0, 0]),
        missing_left=np.array([True, False, False, False, False, False]),
        left=np.array([1, 3, 0, 0, 0, 0]),
        right=np.array([2, 4, 0, 0, 0, 0]),
        value=np.array([0.0, 0.0, 1.0, 2.0, 3.0, 10.0]),
        root=np.array([0, 5]),
        output=np.array([1, 0]),
        baseline=np.array([0.5, -0.5]),
    )
    values = [-2.0, -1.0, 0.5, 0.6, np.nan]
    x = np.array([[a, b] for a in values for b in values], dtype=np.float32)
    np.testing.assert_array_equal(summed(trees, x), trees(x.astype(np.float64)))
    assert len(np.unique(trees(x)[:, 1])) == 3  # every leaf was reached


@pytest.mark.parametrize("with_networks", [False, True])
@pytest.mark.parametrize(
    "cls", [sklar.CopulaSelectorClassifier, sklar.CopulaSelectorRegressor, sklar.CopulaRankerClassifier]
)
def test_the_graph_is_the_model_that_predicts_by_trees(cls, with_networks, tmp_path, monkeypatch):
    monkeypatch.setattr("sklar.predictor.boosting.MOST_ROUNDS", 5)
    X, value = toy_rows(200)
    y = np.digitize(value, [-1, 1]) if cls is sklar.CopulaRankerClassifier else toy_target(cls, value)
    model = quick(cls, objective="honest", max_epochs=5, predictor="trees").fit(X, y)
    model.fitted_ = replace(model.fitted_, predictor=replace(model.fitted_.predictor, with_networks=with_networks))
    assert_same_answers(model, tmp_path)


def test_what_is_no_boosted_trees_is_refused_by_name(tmp_path):
    X, value = toy_rows(60)
    model = quick(sklar.CopulaSelectorClassifier, predictor=RandomForestClassifier(2)).fit(X, value > 0)
    with pytest.raises(ValueError, match="RandomForestClassifier"):
        model.to_onnx(tmp_path / "m.onnx")
