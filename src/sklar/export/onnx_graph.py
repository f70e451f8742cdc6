"""A small writer of ONNX graphs: call an operator by name, get the name of its result.

All numbers are float64, as in the estimators' answers, so that a mask cannot differ by rounding to float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 18
TREES_DOMAIN, TREES_OPSET = "ai.onnx.ml", 5  # boosted trees in float64
SELU_SCALE, SELU_ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


class Graph:
    """Nodes and constants, collected in the order of the computation."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """A constant's name; text has dtype object."""
        name = f"c{len(self.constants)}"
        array = np.asarray(value, dtype=dtype)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return name

    def whole(self, *values: int) -> str:
        """A constant list of whole numbers: axes, shapes, positions."""
        return self.constant(values, np.int64)

    def __call__(self, operator: str, *inputs: str, take: int = 0, of: int = 1, **attributes: Any) -> str:
        """Add a node; `take` says which `of` its outputs is meant."""
        results = [f"n{len(self.nodes)}_{number}" for number in range(of)]
        self.nodes.append(helper.make_node(operator, list(inputs), results, **attributes))
        return results[take]

    def cast(self, value: str, to: int) -> str:
        """The same in another type."""
        return self("Cast", value, to=to)

    def take(self, value: str, positions: Any) -> str:
        """Some entries of the last axis."""
        return self("Gather", value, self.constant(positions, np.int64), axis=-1)

    def spread(self, value: str, positions: Any, width: int, fill: float) -> str:
        """The last axis (of three) at a larger width: entry j at positions[j], `fill` elsewhere."""
        source = np.full(width, len(positions))
        source[np.asarray(positions)] = np.arange(len(positions))
        padded = self("Pad", value, self.whole(0, 0, 0, 0, 0, 1), self.constant(fill))
        return self.take(padded, source)

    def linear(self, x: str, layer: Any) -> str:
        """A StackedLinear: (R, n, in) -> (R, n, out)."""
        product = self("MatMul", x, self.constant(_numbers(layer.weight)))
        return self("Add", product, self.constant(_numbers(layer.bias)))

    def normalised(self, x: str, norm: Any) -> str:
        """A StackedBatchNorm after training, as one product and one sum."""
        gain = _numbers(norm.weight) / np.sqrt(_numbers(norm.variance) + norm.eps)
        shift = _numbers(norm.bias) - _numbers(norm.mean) * gain
        return self("Add", self("Mul", x, self.constant(gain)), self.constant(shift))

    def activation(self, x: str, name: str) -> str:
        """relu, or selu spelled out: runtimes have no Selu in float64."""
        if name == "relu":
            return self("Relu", x)
        zero = self.constant(0.0)
        rises = self("Mul", self("Max", x, zero), self.constant(SELU_SCALE))
        below = self("Sub", self("Exp", self("Min", x, zero)), self.constant(1.0))
        return self("Add", rises, self("Mul", below, self.constant(SELU_SCALE * SELU_ALPHA)))

    def output(self, value: str, name: str, kind: int, *shape: int | str) -> None:
        """Name a result as the graph's."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))

    def model(self, width: int, metadata: dict[str, str]) -> onnx.ModelProto:
        """The whole, checked; its input is X, float32 (n, width)."""
        table = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", width])
        graph = helper.make_graph(self.nodes, "sklar", [table], self.outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == TREES_DOMAIN for node in self.nodes):
            opsets.append(helper.make_opsetid(TREES_DOMAIN, TREES_OPSET))
        version = helper.find_min_ir_version_for(opsets)
        model = helper.make_model(graph, opset_imports=opsets, producer_name="sklar", ir_version=version)
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model, full_check=True)
        return model


def _numbers(tensor: Any) -> np.ndarray:
    return tensor.detach().cpu().numpy().astype(np.float64)
