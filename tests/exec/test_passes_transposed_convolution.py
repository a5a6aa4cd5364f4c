"""Transposed convolutions with constant weights as convolutions, against float64."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax import op
from relax_mlir.transform import PassPipeline

PASS = PassPipeline("relax-transposed-convolution-to-convolution")


def _reference(
    x: np.ndarray, w: np.ndarray, strides: list[int], padding: list[int], extra: list[int]
) -> np.ndarray:
    """Every element of the data adds a multiple of the kernel where it lands."""
    dims = len(strides)
    taps = w.shape[:dims]
    full = [(n - 1) * s + k + e for n, s, k, e in
            zip(x.shape[1:-1], strides, taps, extra, strict=True)]  # fmt: skip
    y = np.zeros((x.shape[0], *full, w.shape[-1]))
    for place in itertools.product(*map(range, x.shape[1:-1])):
        at = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, strides, taps, strict=True))
        y[(slice(None), *at)] += np.einsum("ni,...io->n...o", x[(slice(None), *place)], w)
    cut = [slice(low, y.shape[1 + i] - padding[dims + i]) for i, low in enumerate(padding[:dims])]
    return y[(slice(None), *cut)]


def _check(
    sizes: list[int],
    taps: list[int],
    strides: list[int],
    padding: list[int],
    extra: list[int],
    channels: tuple[int, int] = (5, 18),
) -> None:
    dims = len(sizes)
    numbers = np.random.default_rng(sum(sizes) + sum(taps))
    x = numbers.standard_normal((2, *sizes, channels[0])).astype(np.float32)
    w = numbers.standard_normal((*taps, *channels)).astype(np.float32)
    letters = "DHW"[-dims:]
    data = relax.Var("x", relax.TensorStructInfo(list(x.shape), "float32"))
    convolve = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            value = convolve[dims](
                data, relax.const(w), strides=strides, padding=padding, output_padding=extra,
                data_layout=f"N{letters}C", kernel_layout=f"{letters}IO",
            )  # fmt: skip
            result = builder.emit_output(builder.emit(op.nn.relu(builder.emit(value))))
        builder.emit_func_output(result)
    module = PASS(builder.get())
    assert "_transpose" not in module.script()
    main = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())["main"]
    expected = np.maximum(_reference(x.astype(float), w, strides, padding, extra), 0)
    np.testing.assert_allclose(main(x).numpy(), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("taps", "stride", "padding", "extra"),
    [
        (4, 2, 1, 0),
        (3, 2, 1, 1),
        (2, 2, 0, 0),
        (3, 1, 1, 0),
        (5, 3, 0, 2),
        (2, 3, 0, 1),
        (1, 2, 0, 0),
    ],
)
def test_images(taps: int, stride: int, padding: int, extra: int) -> None:
    _check([6, 5], [taps] * 2, [stride] * 2, [padding] * 4, [extra] * 2)


@pytest.mark.parametrize("dims", [1, 3])
def test_lines_and_volumes(dims: int) -> None:
    _check([4] * dims, [3] * dims, [2] * dims, [1] * (2 * dims), [1] * dims)


@pytest.mark.parametrize("seed", range(6))
def test_random_shapes(seed: int) -> None:
    pick = random.Random(seed)
    taps = [pick.randint(1, 5) for _ in range(2)]
    strides = [pick.randint(1, 4) for _ in range(2)]
    padding = [pick.randint(0, taps[i % 2] - 1) for i in range(4)]
    extra = [pick.randint(0, s - 1) for s in strides]
    sizes = [pick.randint(2, 7) for _ in range(2)]
    _check(sizes, taps, strides, padding, extra, (pick.randint(1, 9), pick.randint(1, 20)))
