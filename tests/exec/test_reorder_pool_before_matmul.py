"""1x1 convolutions whose result is averaged, against numpy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.lowering.relax import reorder_pool_before_matmul
from relax_mlir.relax import op


def _main(
    shapes: dict[str, tuple[int, ...]], dtype: str, biased: bool, window: int, stride: int
) -> Any:
    parameters = [relax.Var(n, relax.TensorStructInfo(list(s), dtype)) for n, s in shapes.items()]
    x, w, b = parameters
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            value = builder.emit(op.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO"))
            if biased:
                value = builder.emit(op.add(value, b))
            pooled = op.nn.avg_pool2d(value, [window] * 2, strides=[stride] * 2, layout="NHWC")
            result = builder.emit_output(pooled)
        builder.emit_func_output(result)
    return relax.VirtualMachine(relax_mlir.compile(builder.get(), "llvm"), relax_mlir.cpu())["main"]


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(
    ("dtype", "size", "window", "stride"),
    [("float32", (8, 12), 2, 2), ("float32", (9, 11), 3, 2), ("float64", (7, 7), 2, 2)],
)
def test_averages_of_convolutions(
    dtype: str,
    size: tuple[int, int],
    window: int,
    stride: int,
    biased: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reordered: list[str] = []
    replace = reorder_pool_before_matmul.replace

    def counted(old: Any, new: Any) -> None:
        reordered.append(old.name)
        replace(old, new)

    monkeypatch.setattr(reorder_pool_before_matmul, "replace", counted)
    random = np.random.default_rng(0)
    shapes = {"x": (2, *size, 24), "w": (1, 1, 24, 10), "b": (10,)}
    x, w, b = (random.standard_normal(s).astype(dtype) for s in shapes.values())
    got = _main(shapes, dtype, biased, window, stride)(x, w, b).numpy()
    image = x.astype("float64") @ w[0, 0].astype("float64")
    windows = np.lib.stride_tricks.sliding_window_view(
        image + b if biased else image, (window, window), axis=(1, 2)
    )
    expected = windows[:, ::stride, ::stride].mean((4, 5))
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    assert reordered == ["relax.nn_avg_pool2d"]
