"""Constant weights laid out as panels: products of random shapes, with what follows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir
from relax_mlir.relax import op
from relax_mlir.transform import PassPipeline

PACK = PassPipeline("relax-pack-constant-weights{panel=16 minimum=1}")


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def _module(lead: list[Any], depth: int, columns: int, transposed: bool) -> tuple[Any, Any, Any]:
    weight, bias = _normal(depth, columns), _normal(columns)
    x = relax.Var("x", relax.TensorStructInfo([*lead, depth], "float32"))
    y = relax.Var("y", relax.TensorStructInfo([*lead, columns], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, y]):
        with builder.dataflow():
            if transposed:
                right = builder.emit(op.permute_dims(relax.const(np.ascontiguousarray(weight.T))))
            else:
                right = relax.const(weight)
            product = builder.emit(op.add(builder.emit(op.matmul(x, right)), relax.const(bias)))
            scaled = builder.emit(op.multiply(product, relax.const(0.5, "float32")))
            result = builder.emit_output(
                builder.emit(op.nn.relu(builder.emit(op.subtract(y, scaled))))
            )
        builder.emit_func_output(result)
    return builder.get(), weight, bias


@pytest.mark.parametrize("lead", [(1,), (7,), (2, 5), (1, 13), (2, 3, 4)])
@pytest.mark.parametrize("columns", [48, 64, 160, 40])
def test_products_with_packed_weights(lead: tuple[int, ...], columns: int) -> None:
    module, weight, bias = _module(list(lead), 33, columns, transposed=len(lead) % 2 == 0)
    packed = PACK(module)
    assert ("R.einsum" in packed.script()) == (columns != 40)
    main = relax.VirtualMachine(relax_mlir.compile(packed, "llvm"), relax_mlir.cpu())["main"]
    x, y = _normal(*lead, 33), _normal(*lead, columns)
    expected = np.maximum(y - (x @ weight + bias) * np.float32(0.5), 0)
    np.testing.assert_allclose(main(x, y).numpy(), expected, rtol=1e-4, atol=1e-4)


def test_any_number_of_rows() -> None:
    n = tir.Var("n", "int64")
    module, weight, bias = _module([2, n], 17, 96, transposed=True)
    main = relax.VirtualMachine(relax_mlir.compile(PACK(module), "llvm"), relax_mlir.cpu())["main"]
    for rows in (0, 1, 6, 31):
        x, y = _normal(2, rows, 17), _normal(2, rows, 96)
        expected = np.maximum(y - (x @ weight + bias) * np.float32(0.5), 0)
        np.testing.assert_allclose(main(x, y).numpy(), expected, rtol=1e-4, atol=1e-4)


def test_large_weights_are_packed_when_compiling() -> None:
    """A weight beyond the second-level cache, whose panels are fetched ahead."""
    module, weight, bias = _module([37], 1024, 480, transposed=False)
    pipeline = relax.get_pipeline("default")
    assert "einsum" in pipeline(module).script()
    main = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())["main"]
    x, y = _normal(37, 1024), _normal(37, 480)
    expected = np.maximum(y - (x @ weight + bias) * np.float32(0.5), 0)
    np.testing.assert_allclose(main(x, y).numpy(), expected, rtol=1e-4, atol=1e-3)
