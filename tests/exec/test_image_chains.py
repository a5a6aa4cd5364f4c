"""Chains of image operations in blocks of rows, against numpy in float64."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.driver import cpu_pipeline
from relax_mlir.lowering.linalg_to_vector import linalg_tile_image_chains
from relax_mlir.lowering.linalg_to_vector.convolution import tile_pooling
from relax_mlir.lowering.pipelines import find_pipeline
from relax_mlir.relax import op


@dataclass(frozen=True)
class Case:
    """1x1 convolution, relu6, then a window of `kind`, then a 1x1 convolution to `outputs` (none
    for 0) with the chain's input added where `residual`.

    kind: "depthwise" (with relu6), "max" or "avg".  padding: rows and columns, before and behind.
    rows: of a block; cores: threads.
    """

    kind: str
    size: tuple[int, int]
    channels: tuple[int, int]
    window: tuple[int, int]
    stride: int
    padding: tuple[int, int, int, int]
    outputs: int
    rows: int
    dilation: int = 1
    batch: int = 1
    cores: int = 1
    residual: bool = False
    dtype: str = "float32"

    @property
    def output_size(self) -> tuple[int, int]:
        spans = [(k - 1) * self.dilation + 1 for k in self.window]
        sizes = zip(self.size, self.padding[:2], self.padding[2:], spans, strict=True)
        height, width = ((n + low + high - k) // self.stride + 1 for n, low, high, k in sizes)
        return height, width


CASES = {
    "stride of two": Case("depthwise", (16, 16), (8, 32), (3, 3), 2, (1, 1, 1, 1), 24, 2),
    "stride of one": Case("depthwise", (12, 9), (8, 40), (3, 3), 1, (1, 1, 1, 1), 8, 4),
    "residual": Case(
        "depthwise", (10, 10), (16, 48), (3, 3), 1, (1, 1, 1, 1), 16, 5, residual=True
    ),
    "no second product": Case("depthwise", (12, 12), (3, 17), (5, 5), 2, (2, 2, 2, 2), 0, 3),
    "last block begins early": Case("depthwise", (17, 5), (4, 16), (3, 3), 1, (1, 1, 1, 1), 4, 5),
    "nothing shared": Case("max", (12, 12), (8, 32), (2, 2), 2, (0, 0, 0, 0), 0, 2),
    "border rows of pooling": Case("max", (15, 13), (8, 20), (3, 3), 2, (1, 1, 1, 1), 0, 4),
    "averages": Case("avg", (12, 12), (8, 32), (2, 2), 2, (0, 0, 0, 0), 16, 3),
    "border of columns only": Case("depthwise", (8, 8), (4, 16), (3, 3), 1, (0, 1, 0, 1), 4, 3),
    "border of rows only": Case("depthwise", (9, 8), (4, 16), (3, 3), 1, (1, 0, 1, 0), 4, 3),
    "border on one side": Case("depthwise", (8, 8), (4, 16), (3, 3), 2, (0, 0, 1, 1), 4, 2),
    "dilation": Case("depthwise", (12, 13), (4, 16), (3, 3), 1, (2, 2, 2, 2), 4, 6, dilation=2),
    "images": Case("depthwise", (9, 9), (4, 16), (3, 3), 1, (1, 1, 1, 1), 4, 3, batch=3),
    "images on two cores": Case(
        "depthwise", (9, 9), (4, 16), (3, 3), 1, (1, 1, 1, 1), 4, 3, batch=3, cores=2
    ),
    "three pieces of rows": Case(
        "depthwise", (20, 9), (4, 16), (5, 5), 1, (2, 2, 2, 2), 4, 4, cores=3
    ),
    "a piece begins with the last block": Case(
        "max", (12, 22), (3, 40), (3, 3), 1, (0, 0, 0, 0), 0, 7, cores=3
    ),
    "rows that no window reaches": Case("max", (11, 11), (4, 16), (2, 2), 2, (0, 0, 0, 0), 0, 1),
    "double": Case("depthwise", (8, 8), (4, 9), (3, 3), 2, (1, 1, 1, 1), 5, 2, dtype="float64"),
}


@pytest.mark.parametrize("name", list(CASES))
def test_chain_in_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check(CASES[name], monkeypatch) == 1


def test_random_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    for seed in range(8):
        with monkeypatch.context() as patch:
            written += _check(random_case(seed), patch)
    # Blocks of some sizes are not possible, and such a chain is computed image by image.
    assert written >= 4


def test_an_image_that_is_also_returned_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES["stride of two"]
    assert _check(case, monkeypatch, returned=True) == 0


def random_case(seed: int) -> Case:
    random = np.random.default_rng(seed)

    def pick(*values: int) -> int:
        return int(random.choice(values))

    window = (pick(2, 3, 3, 5), pick(1, 2, 3, 5))
    stride = min(pick(1, 1, 2, 2), *window)
    most = min(window[0] - stride, (window[0] - 1) // 2)
    rows, columns = (pick(0, most), pick(0, most)), [pick(0, (window[1] - 1) // 2) for _ in "ab"]
    return Case(
        ("depthwise", "depthwise", "max", "avg")[pick(0, 1, 2, 3)],
        (pick(*range(12, 30)), pick(*range(5, 20))),
        (pick(1, 3, 8, 17), pick(5, 16, 24, 40)),
        window,
        stride,
        (rows[0], columns[0], rows[1], columns[1]),
        pick(0, 3, 16, 24),
        pick(2, 3, 4, 5, 6),
        batch=pick(1, 1, 2),
        cores=pick(1, 2, 3),
    )


def _check(case: Case, monkeypatch: pytest.MonkeyPatch, returned: bool = False) -> int:
    """Compile and run a case; how many chains were written as blocks of rows."""
    written: list[int] = []
    emit = linalg_tile_image_chains.emit_in_blocks

    def counted(b: Any, chain: Any, rows: int, cores: int) -> None:
        written.append(rows)
        emit(b, chain, rows, cores)

    monkeypatch.setattr(linalg_tile_image_chains, "emit_in_blocks", counted)
    tiling = f"linalg-tile-image-chains{{rows={case.rows} num-cores={case.cores}}}"
    kernels = cpu_pipeline.KERNELS.replace("linalg-tile-image-chains", tiling)
    monkeypatch.setattr(cpu_pipeline, "KERNELS", kernels)
    monkeypatch.setenv("RELAX_MLIR_CACHE", "off")
    pipeline = (find_pipeline("relax-default") or "").replace(
        "relax-fuse-image-chains", "relax-fuse-image-chains{always=true}"
    )
    target = {"kind": "llvm", "num-cores": case.cores}
    compiled = relax_mlir.compile(_module(case, returned), target, relax_pipeline=pipeline)
    arguments = _arguments(case)
    got = relax.VirtualMachine(compiled, relax_mlir.cpu())["main"](*arguments)
    results = [part.numpy() for part in got] if returned else [got.numpy()]
    tolerance = 1e-4 if case.dtype == "float32" else 1e-12
    for result, expected in zip(results[::-1], _reference(case, arguments)[::-1], strict=False):
        np.testing.assert_allclose(
            result, expected, rtol=tolerance, atol=tolerance, err_msg=str(case)
        )
    return len(written)


def _module(case: Case, returned: bool) -> Any:
    """`main(x, weights...)`: the chain's result, behind the image if that is `returned`."""
    shapes = [list(a.shape) for a in _arguments(case)]
    names = ["x", "w", "bias", "d", "v"]
    parameters = [
        relax.Var(name, relax.TensorStructInfo(shape, case.dtype))
        for name, shape in zip(names, shapes, strict=False)
    ]
    x, w, bias, d = parameters[:4]
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            image = builder.emit(op.clip(op.add(op.matmul(x, w), bias), 0, 6))
            value = builder.emit(_window(case, image, d))
            if case.outputs:
                value = builder.emit(op.matmul(value, parameters[4]))
            if case.residual:
                value = builder.emit(op.add(value, x))
            results = [image, value] if returned else [value]
            results = [builder.emit_output(result) for result in results]
        builder.emit_func_output(relax.Tuple(results) if returned else results[0])
    return builder.get()


def _window(case: Case, image: Any, weight: Any) -> Any:
    where = {
        "strides": [case.stride] * 2,
        "padding": list(case.padding),
        "dilation": [case.dilation] * 2,
    }
    if case.kind == "depthwise":
        moved = op.nn.conv2d(
            image, weight, groups=case.channels[1],
            data_layout="NHWC", kernel_layout="HWIO", **where,
        )  # fmt: skip
        return op.clip(moved, 0, 6)
    if case.kind == "max":
        return op.nn.max_pool2d(image, list(case.window), layout="NHWC", **where)
    return op.nn.avg_pool2d(
        image, list(case.window), layout="NHWC", count_include_pad=True, **where
    )


def _arguments(case: Case) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    inner, channels = case.channels
    shapes = [(case.batch, *case.size, inner), (inner, channels), (channels,)]
    shapes += [(*case.window, 1, channels), (channels, case.outputs or 1)]
    return [(random.standard_normal(s) + 0.2).astype(case.dtype) for s in shapes]


def _reference(case: Case, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """The image and the result."""
    x, w, bias, d, v = (a.astype(np.float64) for a in arguments)
    image = np.clip(x @ w + bias, 0, 6)
    fill = -np.inf if case.kind == "max" else 0.0
    low, high = case.padding[:2], case.padding[2:]
    around = [(0, 0), *zip(low, high, strict=True), (0, 0)]
    padded = np.pad(image, around, constant_values=fill)
    height, width = case.output_size
    taps: list[np.ndarray] = []
    for i, j in itertools.product(*map(range, case.window)):
        rows = slice(
            i * case.dilation, i * case.dilation + (height - 1) * case.stride + 1, case.stride
        )
        columns = slice(
            j * case.dilation, j * case.dilation + (width - 1) * case.stride + 1, case.stride
        )
        part = padded[:, rows, columns]
        taps.append(part * d[i, j, 0] if case.kind == "depthwise" else part)
    join = {"depthwise": np.sum, "max": np.max, "avg": np.mean}[case.kind]
    result: np.ndarray = join(np.stack(taps), axis=0)
    result = np.clip(result, 0, 6) if case.kind == "depthwise" else result
    result = result @ v if case.outputs else result
    return [image, result + x if case.residual else result]


@dataclass(frozen=True)
class Pooled:
    """A 3x3 convolution of data [batch, *size, channels] with a border of one, relu, and pooling of
    windows that follow each other.

    returned: whether the image is a result too.
    tiles: whether Winograd's tiles are made of whole windows, which are then joined in registers.
    """

    size: tuple[int, int]
    channels: tuple[int, int] = (32, 32)
    window: int = 2
    kind: str = "max"
    batch: int = 1
    cores: int = 1
    residual: bool = False
    returned: bool = False
    tiles: bool = True


POOLED = {
    "whole tiles": Pooled((28, 28)),
    "a row and a column that no window has": Pooled((15, 17)),
    "last tiles of two rows": Pooled((14, 18)),
    "averages": Pooled((16, 16), kind="avg"),
    "a window a tile": Pooled((16, 20), window=4),
    "windows over the seams of tiles": Pooled((24, 24), window=3, tiles=False),
    "channels that are no vectors": Pooled((16, 16), channels=(24, 40)),
    "images on three cores": Pooled((20, 20), batch=3, cores=3),
    "two cores": Pooled((56, 56), cores=2),
    "an operand as large as the image": Pooled((15, 15), residual=True),
    "the image is a result": Pooled((16, 24), returned=True),
    "an image that is a result has positions besides": Pooled((15, 16), returned=True, tiles=False),
}


@pytest.mark.parametrize("name", list(POOLED))
def test_convolution_and_pooling(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = POOLED[name]
    joined: list[int] = []
    join = tile_pooling.PooledOutput.join

    def counted(self: tile_pooling.PooledOutput, values: list[Any]) -> Any:
        joined.append(len(values))
        return join(self, values)

    monkeypatch.setattr(tile_pooling.PooledOutput, "join", counted)
    random = np.random.default_rng(2)
    inner, outer = case.channels
    x = random.standard_normal((case.batch, *case.size, inner)).astype("float32")
    w = (random.standard_normal((3, 3, inner, outer)) / 20).astype("float32")
    r = random.standard_normal((case.batch, *case.size, outer)).astype("float32")
    module = _pooled_module(case, w)
    compiled = relax_mlir.compile(module, {"kind": "llvm", "num-cores": case.cores})
    arguments = [x, r] if case.residual else [x]
    got = relax.VirtualMachine(compiled, relax_mlir.cpu())["main"](*arguments)
    padded = np.pad(x.astype("float64"), [(0, 0), (1, 1), (1, 1), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    image = np.einsum("nyxcij,ijco->nyxo", windows, w.astype("float64"), optimize=True)
    image = np.maximum(image + r if case.residual else image, 0)
    k = case.window
    height, width = (n // k for n in case.size)
    parts = image[:, : height * k, : width * k].reshape(case.batch, height, k, width, k, outer)
    expected = parts.max((2, 4)) if case.kind == "max" else parts.mean((2, 4))
    pooled = got[1] if case.returned else got
    np.testing.assert_allclose(pooled.numpy(), expected, rtol=1e-4, atol=1e-5)
    if case.returned:
        np.testing.assert_allclose(got[0].numpy(), image, rtol=1e-4, atol=1e-5)
    assert set(joined) == ({k * k} if case.tiles else set())


def _pooled_module(case: Pooled, weight: np.ndarray) -> Any:
    inner, outer = case.channels
    shapes = {"x": (case.batch, *case.size, inner), "r": (case.batch, *case.size, outer)}
    names = ["x", "r"] if case.residual else ["x"]
    parameters = [relax.Var(n, relax.TensorStructInfo(list(shapes[n]), "float32")) for n in names]
    pool = {"max": op.nn.max_pool2d, "avg": op.nn.avg_pool2d}[case.kind]
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            value = builder.emit(
                op.nn.conv2d(
                    parameters[0],
                    relax.const(weight),
                    padding=[1, 1, 1, 1],
                    data_layout="NHWC",
                    kernel_layout="HWIO",
                )
            )
            if case.residual:
                value = builder.emit(op.add(value, parameters[1]))
            value = builder.emit(op.nn.relu(value))
            window = [case.window] * 2
            moved = builder.emit(pool(value, window, strides=window, layout="NHWC"))
            results = [builder.emit_output(v) for v in ([value] if case.returned else []) + [moved]]
        builder.emit_func_output(relax.Tuple(results) if case.returned else results[0])
    return builder.get()
