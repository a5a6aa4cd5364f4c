"""Sizes that agree only for some values of their symbols: compared when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import relax_mlir  # noqa: E402
from relax_mlir import relax  # noqa: E402
from relax_mlir.relax.frontend.onnx import UnsupportedOnnxOperatorError, from_onnx  # noqa: E402

pytestmark = pytest.mark.onnx
LONGEST = 8
TABLE = np.arange(3.0 * LONGEST, dtype="float32").reshape(1, LONGEST, 3)


def _main(nodes: list[Any], shape: list[Any], output: list[Any]) -> Any:
    """`y` of `x` by nodes that may read the table `t`, the slice `t[:, :n]` and the shape of x."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    constants = {"t": TABLE, "one": np.array([1]), "two": np.array([2]), "zero": np.array([0])}
    graph = helper.make_graph(
        [
            helper.make_node("Shape", ["x"], ["shape"]),
            helper.make_node("Slice", ["shape", "one", "two"], ["n"]),
            helper.make_node("Slice", ["t", "zero", "n", "one"], ["cut"]),
            *nodes,
        ],
        "sizes",
        [helper.make_tensor_value_info("x", float32, shape)],
        [helper.make_tensor_value_info("y", float32, output)],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    executable = relax_mlir.compile(from_onnx(model))
    return relax.VirtualMachine(executable, relax_mlir.cpu())["main"]


NODES = {
    "Add": [("Add", ["x", "cut"], ["y"])],
    "Add the other way": [("Add", ["cut", "x"], ["y"])],
    "Expand": [("Expand", ["cut", "shape"], ["wide"]), ("Add", ["x", "wide"], ["y"])],
}


@pytest.mark.parametrize("name", NODES)
def test_a_table_cut_to_the_length_of_the_input(name: str) -> None:
    """As position embeddings are: min(8, n) rows of a table and n of the input."""
    nodes = [onnx.helper.make_node(*node) for node in NODES[name]]
    main = _main(nodes, ["b", "n", 3], ["b", "n", 3])
    for batch, length in ((2, 5), (1, LONGEST), (3, 1)):
        x = np.random.default_rng(length).standard_normal((batch, length, 3)).astype("float32")
        np.testing.assert_array_equal(main(x).numpy(), x + TABLE[:, :length])
    with pytest.raises(ValueError, match=r"expected 9 .*got 8|expected 8 .*got 9"):
        main(np.zeros((1, LONGEST + 1, 3), "float32"))


def test_sizes_of_other_symbols_are_refused() -> None:
    nodes = [
        onnx.helper.make_node("Slice", ["shape", "zero", "two"], ["both"]),
        onnx.helper.make_node("Expand", ["x", "both"], ["y"]),
    ]
    with pytest.raises(UnsupportedOnnxOperatorError, match="do not broadcast"):
        _main(nodes, ["b", "n", "m"], ["b", "n", "n"])
