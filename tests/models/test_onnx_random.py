"""ONNX's random operators: shapes, dtypes, distributions, and what seeds repeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.errors import Error
from relax_mlir.relax.frontend.onnx import from_onnx
from relax_mlir.runtime import seed

onnx = pytest.importorskip("onnx")
pytestmark = [pytest.mark.onnx, pytest.mark.filterwarnings("ignore:Field 'shape' of 'type'")]

FLOAT, DOUBLE, HALF = 1, 11, 10
INT32, INT64, BOOL = 6, 7, 9


def model(op_type: str, arrays: list[np.ndarray], outputs: int = 1, **attributes: Any) -> Any:
    """One node; inputs are not constants."""
    helper, names = onnx.helper, [f"o{n}" for n in range(outputs)]
    infos = [
        helper.make_tensor_value_info(f"i{n}", helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in enumerate(arrays)
    ]
    node = helper.make_node(op_type, [info.name for info in infos], names, **attributes)
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in names]
    graph = helper.make_graph([node], "g", infos, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


def machine(made: Any) -> Any:
    executable = relax_mlir.compile(from_onnx(made), "llvm")
    return relax.VirtualMachine(executable, relax_mlir.cpu())["main"]


def run(op_type: str, *arrays: np.ndarray, **attributes: Any) -> np.ndarray:
    return machine(model(op_type, list(arrays), **attributes))(*arrays).numpy()


def test_normal() -> None:
    seed(0)
    found = run("RandomNormal", shape=[50, 400], mean=2.0, scale=3.0)
    assert found.shape == (50, 400) and found.dtype == np.float32
    assert abs(found.mean() - 2) < 0.1 and abs(found.std() - 3) < 0.1


def test_uniform() -> None:
    seed(0)
    found = run("RandomUniform", shape=[50, 400], low=-1.0, high=3.0, dtype=DOUBLE)
    assert found.shape == (50, 400) and found.dtype == np.float64
    assert found.min() >= -1 and found.max() < 3
    np.testing.assert_allclose(np.quantile(found, [0.25, 0.5, 0.75]), [0, 1, 2], atol=0.05)


@pytest.mark.parametrize("op_type", ["RandomNormalLike", "RandomUniformLike"])
def test_like(op_type: str) -> None:
    x = np.zeros((3, 0, 2), "float64")
    assert run(op_type, x).shape == (3, 0, 2)
    assert run(op_type, x).dtype == np.float64
    assert run(op_type, x.astype("int32"), dtype=HALF).dtype == np.float16


def test_bernoulli() -> None:
    seed(1)
    given = np.repeat(np.array([0.0, 0.3, 1.0], "float32")[:, None], 5000, axis=1)
    found = run("Bernoulli", given)
    assert found.dtype == np.float32 and set(np.unique(found)) == {0.0, 1.0}
    np.testing.assert_allclose(found.mean(axis=1), [0, 0.3, 1], atol=0.03)
    assert run("Bernoulli", given, dtype=BOOL).dtype == np.bool_


def test_multinomial() -> None:
    seed(2)
    weights = np.array([[0.1, 0.2, 0.7], [1.0, 0.0, 1.0]])
    with np.errstate(divide="ignore"):
        given = np.log(weights).astype("float32")
    found = run("Multinomial", given, sample_size=6000, dtype=INT64)
    assert found.shape == (2, 6000) and found.dtype == np.int64
    parts = np.stack([(found == c).mean(axis=1) for c in range(3)], axis=1)
    np.testing.assert_allclose(parts, weights / weights.sum(1, keepdims=True), atol=0.03)
    assert run("Multinomial", given).dtype == np.int32


def test_a_seed_of_the_model_repeats_and_one_of_the_process() -> None:
    fixed = machine(model("RandomNormal", [], shape=[8], seed=1.5))
    np.testing.assert_array_equal(fixed().numpy(), fixed().numpy())
    other = machine(model("RandomNormal", [], shape=[8], seed=2.5))
    assert (other().numpy() != fixed().numpy()).any()
    free = machine(model("RandomNormal", [], shape=[8]))
    seed(3)
    first, second = free().numpy(), free().numpy()
    assert (first != second).any()
    seed(3)
    np.testing.assert_array_equal(free().numpy(), first)


def test_dropout_in_training() -> None:
    x = np.full((100, 100), 3.0, "float32")
    made = model("Dropout", [x], outputs=2)
    node = made.graph.node[0]
    node.input.extend(["ratio", "training"])
    made.graph.initializer.extend(
        [
            onnx.numpy_helper.from_array(np.array(0.25, "float32"), "ratio"),
            onnx.numpy_helper.from_array(np.array(True), "training"),
        ]
    )
    result, mask = (part.numpy() for part in machine(made)(x))
    assert abs(mask.mean() - 0.75) < 0.03
    np.testing.assert_allclose(result, np.where(mask, 4.0, 0.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("op_type", "attributes", "message"),
    [
        ("RandomNormal", {}, "needs the attribute 'shape'"),
        ("RandomUniform", {"shape": [2], "dtype": INT32}, "random numbers of int32"),
        ("Multinomial", {"dtype": FLOAT}, "classes as float32"),
    ],
)
def test_what_is_refused(op_type: str, attributes: dict[str, Any], message: str) -> None:
    given = [np.zeros((1, 2), "float32")] if op_type == "Multinomial" else []
    with pytest.raises(Error, match=message):
        from_onnx(model(op_type, given, **attributes))
