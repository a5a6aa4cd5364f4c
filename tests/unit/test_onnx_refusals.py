"""Models that are no models: the error names the node and what it lacks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from relax_mlir.errors import Error
from relax_mlir.relax.frontend.onnx import from_onnx

onnx = pytest.importorskip("onnx")
helper, TensorProto = onnx.helper, onnx.TensorProto

pytestmark = pytest.mark.onnx


def refusal(node: Any, shape: list[int], constants: dict[str, Any], dtype: int) -> str:
    """What importing a model of one node says."""
    values = [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()]
    info = helper.make_tensor_value_info("x", dtype, shape)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [info], [result], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with warnings.catch_warnings(), pytest.raises(Error) as caught:
        warnings.simplefilter("ignore")
        from_onnx(model)
    return str(caught.value)


def node(op_type: str, inputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op_type, inputs, ["y"], **attributes)


IMAGE = [1, 3, 8, 8]
CASES: list[tuple[Any, list[int], dict[str, Any], str]] = [
    (node("Cast", ["x"]), [2], {}, "'Cast' (node 'y'): needs the attribute 'to'"),
    (node("Cast", ["x"], to="f"), [2], {}, "the attribute 'to' is INT, not STRING"),
    (node("MaxPool", ["x"]), IMAGE, {}, "needs the attribute 'kernel_shape'"),
    (node("MaxPool", ["x"], kernel_shape=[2]), IMAGE, {}, "a tensor of rank 3, not of rank 4"),
    (node("MaxPool", ["x"], kernel_shape=[2, 2], strides=[1]), IMAGE, {},
     "strides has 1 numbers for 2 spatial axes"),
    (node("MaxPool", ["x"], kernel_shape=[2, 2], pads=[1, 1]), IMAGE, {},
     "pads has 2 numbers for 2 spatial axes"),
    (node("Reshape", ["", "s"]), [2], {"s": np.array([2])}, "needs its input 0, 'data'"),
    (node("Reshape", ["x", "s"]), [2], {"s": np.array([1, 0])}, "a 0 keeps the size"),
    (node("Slice", ["x", "s"]), [2], {"s": np.array([1])}, "takes 3 to 5 inputs, has 2"),
    (node("Slice", ["x", "s", "e"]), [4], {"s": np.array([1]), "e": np.array([3, 2])},
     "needs as many of each: 1 starts, 2 ends"),
    (node("Pad", ["x", "p"]), [2, 2], {"p": np.array([1, 1])}, "two pads for each of 2 axes"),
    (node("EyeLike", ["x"]), [2], {}, "a tensor of rank 2, not of rank 1"),
    (node("SpaceToDepth", ["x"], blocksize=2), [2], {}, "a tensor of rank 4, not of rank 1"),
    (node("ScatterND", ["x", "i", "x"], reduction="mean"), [2], {"i": np.array([[0], [1]])},
     "reduction='mean' is none of none, add"),
    (node("Concat", ["c", "c"], axis=2), [2], {"c": np.array([1])}, "its constants do not fit"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case[-1] for case in CASES])
def test_what_a_node_lacks_is_named(case: Any) -> None:
    made, shape, constants, message = case
    assert message in refusal(made, shape, constants, TensorProto.FLOAT)


def test_an_input_without_a_dtype() -> None:
    said = refusal(node("Relu", ["x"]), [2], {}, TensorProto.UNDEFINED)
    assert "'x': element type 0 is not known" in said
