"""Convolutions of bytes and of bfloat16, by dot-product instructions where the CPU has them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax import op
from tests.exec.convolution_cases import Case, reference

SAME3 = (1, 1, 1, 1)
SHAPES = {
    "same": Case((14, 13), 32, 48, (3, 3), padding=SAME3),
    "tail of channels": Case((9, 8), 12, 39, (3, 3), padding=(0, 1, 2, 0)),
    "stride": Case((15, 16), 16, 64, (3, 3), (2, 2), SAME3, batch=2),
    "dilated": Case((12, 12), 8, 32, (3, 3), (1, 1), (2, 2, 2, 2), (2, 2)),
    "pointwise, stride": Case((9, 9), 64, 32, (1, 1), (2, 2)),
    "grouped": Case((9, 9), 32, 64, (3, 3), padding=SAME3, groups=2),
    "narrow groups": Case((9, 9), 24, 48, (3, 3), (2, 1), SAME3, groups=6),
    "odd channels": Case((7, 7), 6, 16, (3, 3), padding=SAME3),
    "few outputs": Case((7, 7), 16, 5, (3, 3), padding=SAME3),
    "depthwise": Case((9, 9), 32, 32, (3, 3), padding=SAME3, groups=32),
    "1-d": Case((40,), 16, 32, (5,), (1,), (2, 2), (1,)),
}


def _convolution(case: Case, data: str, weight: str, result: str) -> Any:
    x = relax.Var("x", relax.TensorStructInfo([case.batch, *case.sizes, case.channels], data))
    w = relax.Var("w", relax.TensorStructInfo(list(case.weight_shape), weight))
    convolve = op.nn.conv1d if len(case.sizes) == 1 else op.nn.conv2d
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w]):
        with builder.dataflow():
            value = convolve(
                x, w, strides=list(case.strides), padding=list(case.padding),
                dilation=list(case.dilation), groups=case.groups,
                data_layout=f"N{case.letters}C", kernel_layout=f"{case.letters}IO",
                out_dtype=result,
            )  # fmt: skip
            made = builder.emit_output(builder.emit(value))
        builder.emit_func_output(made)
    executable = relax_mlir.compile(builder.get(), "llvm")
    return relax.VirtualMachine(executable, relax_mlir.cpu())["main"]


@pytest.mark.parametrize("data", ["uint8", "int8"])
@pytest.mark.parametrize("name", SHAPES)
def test_bytes(name: str, data: str) -> None:
    case = SHAPES[name]
    random = np.random.default_rng(len(name))
    limits = np.iinfo(data)
    x = random.integers(limits.min, limits.max + 1, (case.batch, *case.sizes, case.channels))
    w = random.integers(-128, 128, case.weight_shape)
    main = _convolution(case, data, "int8", "int32")
    got = main(x.astype(data), w.astype("int8")).numpy()
    np.testing.assert_array_equal(got, reference(case, x, w))


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("result", ["bfloat16", "float32"])
def test_bfloat16(name: str, result: str) -> None:
    case = SHAPES[name]
    random = np.random.default_rng(len(name))
    x = random.standard_normal((case.batch, *case.sizes, case.channels))
    w = random.standard_normal(case.weight_shape) / 8
    x, w = x.astype(ml_dtypes.bfloat16), w.astype(ml_dtypes.bfloat16)
    got = _convolution(case, "bfloat16", "bfloat16", result)(
        relax_mlir.runtime.tensor(x), relax_mlir.runtime.tensor(w)
    )
    expected = reference(case, x, w)
    tolerance = (2**-8 if result == "bfloat16" else 1e-5) * np.abs(expected).max()
    np.testing.assert_allclose(got.numpy().astype(float), expected, rtol=0, atol=tolerance)
