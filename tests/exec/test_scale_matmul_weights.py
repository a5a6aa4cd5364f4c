"""Products whose columns are scaled: what the default pipeline makes of them, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax import op


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("data", "scale", "columns"),
    [
        ((1, 14, 14, 24), (1, 1, 1, 24), 40),  # the weight is scaled
        ((3, 50, 7), (7,), 1),
        ((33, 17), (1, 17), 5),
        ((1, 7, 7, 40), (1, 1, 1, 40), 160),  # the data are
        ((64, 1), (1, 1), 3),
        ((40, 9), (40, 9), 4),
        ((2, 30, 9), (2, 1, 9), 4),
    ],
)
def test_scaled_columns(
    data: tuple[int, ...], scale: tuple[int, ...], columns: int, swapped: bool
) -> None:
    random = np.random.default_rng(columns)
    arrays = [random.standard_normal(shape).astype("float32") for shape in (data, scale)]
    weight = random.standard_normal((data[-1], columns)).astype("float32")
    x, s = (
        relax.Var(name, relax.TensorStructInfo(list(array.shape), "float32"))
        for name, array in zip("xs", arrays, strict=True)
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, s]):
        with builder.dataflow():
            factors = builder.emit(op.sigmoid(s))
            scaled = builder.emit(op.multiply(*((factors, x) if swapped else (x, factors))))
            product = builder.emit(op.matmul(scaled, relax.const(weight)))
            result = builder.emit_output(builder.emit(op.nn.relu(product)))
        builder.emit_func_output(result)
    executable = relax_mlir.compile(builder.get(), "llvm")
    got = relax.VirtualMachine(executable, relax_mlir.cpu())["main"](*arrays).numpy()
    wide = [array.astype("float64") for array in arrays]
    expected = np.maximum((wide[0] / (1 + np.exp(-wide[1]))) @ weight, 0)
    np.testing.assert_allclose(got, expected, atol=2e-5)
