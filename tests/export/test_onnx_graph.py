"""The writer of ONNX graphs, operator by operator, against numpy."""

import numpy as np
import pytest
import torch

pytest.importorskip("onnx", reason="needs the [onnx] extra")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the [onnx] extra")

from onnx import TensorProto  # noqa: E402

from sklar.export.onnx_graph import Graph  # noqa: E402
from sklar.model.networks import StackedBatchNorm, StackedLinear  # noqa: E402
from tests.helpers import seeded  # noqa: E402

X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


def run(build, *shape):
    """What the graph that `build(graph, x)` adds makes of X as (1, n, 3) in float64."""
    graph = Graph()
    x = graph("Unsqueeze", graph.cast("X", TensorProto.DOUBLE), graph.whole(0))
    graph.output(build(graph, x), "y", TensorProto.DOUBLE, *shape)
    session = onnxruntime.InferenceSession(graph.model(3, {}).SerializeToString())
    return session.run(["y"], {"X": X})[0]


def test_linear_layers_and_norms_are_those_of_torch():
    layer, norm = StackedLinear(1, 3, 4, seeded()).double(), StackedBatchNorm(1, 4).double().eval()
    norm.mean.fill_(0.3)
    norm.variance.fill_(2.0)
    found = run(lambda graph, x: graph.normalised(graph.linear(x, layer), norm), 1, "n", 4)
    with torch.no_grad():
        np.testing.assert_allclose(found, norm(layer(torch.from_numpy(X).double()[None])).numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["relu", "selu"])
def test_activations_are_those_of_torch(name):
    found = run(lambda graph, x: graph.activation(x, name), 1, "n", 3)
    np.testing.assert_allclose(found[0], getattr(torch, name)(torch.from_numpy(X).double()).numpy(), rtol=1e-12)


def test_entries_are_taken_and_spread():
    found = run(lambda graph, x: graph.spread(graph.take(x, [2, 0]), [1, 3], 5, -7.0), 1, "n", 5)[0]
    np.testing.assert_allclose(found[:, [1, 3]], X[:, [2, 0]])
    assert (found[:, [0, 2, 4]] == -7).all()
