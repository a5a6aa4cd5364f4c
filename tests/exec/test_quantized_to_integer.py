"""Products of quantized data and weights from their bytes, against float64."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax import op
from relax_mlir.transform import PassPipeline
from tests.exec.convolution_cases import Case as Shape
from tests.exec.convolution_cases import reference

PASS = PassPipeline("relax-quantized-to-integer{always=true}")
SAME3 = (1, 1, 1, 1)


@dataclass(frozen=True)
class Case:
    """A convolution of quantized NHWC data; `scales`, how many the weight has; `by_operator`,
    whether `dequantize` makes real numbers of them."""

    shape: Shape
    data: str = "uint8"
    weight: str = "int8"
    zero: int = 0
    weight_zero: int = 0
    scales: str = "one an output"
    floats: bool = True
    layout: str = "NHWC"
    by_operator: bool = False


CASES = {
    "activations": Case(Shape((9, 8), 16, 24, (3, 3), padding=SAME3)),
    "zero point": Case(Shape((9, 8), 16, 24, (3, 3), (2, 1), (0, 1, 2, 1)), zero=133),
    "signed": Case(Shape((9, 8), 16, 24, (3, 3), padding=SAME3), data="int8", zero=-5),
    "unsigned weight": Case(
        Shape((9, 8), 16, 24, (3, 3), padding=SAME3), weight="uint8", weight_zero=128
    ),
    "one scale": Case(Shape((9, 8), 16, 24, (3, 3)), zero=3, scales="one"),
    "stem": Case(Shape((15, 14), 3, 16, (7, 7), (2, 2), (3, 3, 3, 3)), zero=120),
    "odd channels": Case(Shape((5, 6), 7, 9, (1, 1), (2, 2)), zero=9),
    "grouped": Case(Shape((7, 6), 24, 16, (3, 3), padding=SAME3, groups=4), zero=7),
    "depthwise": Case(Shape((7, 6), 17, 17, (3, 3), padding=SAME3, groups=17), zero=7),
    "integers": Case(Shape((9, 8), 16, 24, (3, 3), padding=SAME3), zero=200, floats=False),
    "operators": Case(
        Shape((9, 8), 6, 24, (3, 3), padding=SAME3), zero=33, weight="uint8", weight_zero=128,
        by_operator=True,
    ),
    "channels first": Case(Shape((9, 8), 6, 24, (3, 3), padding=SAME3), zero=33, layout="NCHW"),
}


def _dequantized(value: Any, zero: int, scale: np.ndarray | None) -> Any:
    steps = op.astype(value, "int32")
    if zero:
        steps = op.subtract(steps, relax.const(zero, "int32"))
    if scale is None:
        return steps
    return op.multiply(op.astype(steps, "float32"), relax.const(scale))


def _random(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Data, weight, and their scales."""
    random = np.random.default_rng(len(str(case)))
    shape = case.shape
    limits = np.iinfo(case.data), np.iinfo(case.weight)
    x = random.integers(limits[0].min, limits[0].max + 1, (2, *shape.sizes, shape.channels))
    w = random.integers(limits[1].min, limits[1].max + 1, shape.weight_shape)
    count = 1 if case.scales == "one" else shape.outputs
    scales = (random.random(count) / 100 + 0.001).astype(np.float32)
    return x.astype(case.data), w.astype(case.weight), np.array(0.037, np.float32), scales


def _module(case: Case, x: np.ndarray, w: np.ndarray, scales: list[np.ndarray | None]) -> Any:
    shape, first = case.shape, case.layout == "NCHW"
    data = relax.Var("x", relax.TensorStructInfo(list(x.shape), case.data))
    weight_scale = scales[1]
    if first and weight_scale is not None:
        weight_scale = weight_scale.reshape(-1, 1, 1, 1)
    left = _dequantized(data, case.zero, scales[0])
    right = _dequantized(relax.const(w), case.weight_zero, weight_scale)
    if case.by_operator:
        left, right = (
            op.dequantize(value, relax.const(scale), relax.const(np.array(zero, kind)), 3)
            for value, scale, zero, kind in (
                (data, scales[0], case.zero, case.data),
                (relax.const(w), weight_scale, case.weight_zero, case.weight),
            )
        )
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            value = op.nn.conv2d(
                left, right, strides=list(shape.strides), padding=list(shape.padding),
                groups=shape.groups,
                data_layout=case.layout, kernel_layout="OIHW" if first else "HWIO",
            )  # fmt: skip
            result = builder.emit_output(builder.emit(value))
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize("name", CASES)
def test_convolutions(name: str) -> None:
    case = CASES[name]
    x, w, scale, scales = _random(case)
    shape = replace(case.shape, batch=2)
    expected = reference(shape, x.astype(int) - case.zero, w.astype(int) - case.weight_zero)
    if case.floats:
        expected = expected * float(scale) * scales.astype(float)
    if case.layout == "NCHW":
        x, w = x.transpose(0, 3, 1, 2).copy(), w.transpose(3, 2, 0, 1).copy()
        expected = expected.transpose(0, 3, 1, 2)
    module = PASS(_module(case, x, w, [scale, scales] if case.floats else [None, None]))
    (line,) = [line for line in module.script().splitlines() if "R.nn.conv2d(" in line]
    assert 'out_dtype="int32"' in line
    main = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())["main"]
    got = main(x).numpy()
    if case.floats:
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("floats", [True, False])
def test_matrix_products(floats: bool) -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 256, (5, 3, 24)).astype("uint8")
    w = random.integers(-128, 128, (24, 40)).astype("int8")
    scale, scales = np.float32(0.02), random.random(40).astype(np.float32)
    data = relax.Var("x", relax.TensorStructInfo([5, 3, 24], "uint8"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            left = _dequantized(data, 100, np.asarray(scale) if floats else None)
            value = op.matmul(left, _dequantized(relax.const(w), 0, scales if floats else None))
            result = builder.emit_output(builder.emit(value))
        builder.emit_func_output(result)
    module = PASS(builder.get())
    assert "R.matmul(x, " in module.script()
    main = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())["main"]
    expected = (x.astype(float) - 100) @ w.astype(float)
    if floats:
        expected = expected * float(scale) * scales
    np.testing.assert_allclose(main(x).numpy(), expected, rtol=1e-6, atol=1e-4)


def test_what_stays() -> None:
    """Weights that are no constants or no bytes, and data with a scale for each channel."""
    x, w, scale, scales = _random(CASES["activations"])
    case = CASES["activations"]
    each = np.full(case.shape.channels, 0.1, np.float32)
    wide = w.astype(np.int32) * 300
    weight_scale: list[np.ndarray | None] = [scale, scales]
    for module in (
        _module(case, x, w, [each, scales]),
        _module(case, x, wide, weight_scale),
        _module(Case(case.shape, weight_zero=1000), x, w, weight_scale),
    ):
        before = module.script()
        assert PASS(module).script() == before
