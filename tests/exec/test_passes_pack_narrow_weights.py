"""Constant weights of bfloat16 and of bytes laid out in groups: matmuls and convolutions against
numpy's in float64 and int64, and which operators stay as they are."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir
from relax_mlir.lowering.linalg_to_vector.cpu_target import CPUTarget, host_cpu
from relax_mlir.lowering.relax import pack_narrow_weights
from relax_mlir.relax import op
from relax_mlir.target import Target
from relax_mlir.transform import PassPipeline

PACK = PassPipeline("relax-pack-narrow-weights")
# Dtypes of data, weight and result.
KINDS = {
    "u8": ("uint8", "int8", "int32"),
    "u8 u8": ("uint8", "uint8", "int32"),
    "s8": ("int8", "int8", "int32"),
    "bf16": ("bfloat16", "bfloat16", "bfloat16"),
    "bf16 to f32": ("bfloat16", "bfloat16", "float32"),
}
needs_instructions = pytest.mark.skipif(
    {"avx512_vnni", "avx512_bf16"} - host_cpu().features != set(),
    reason="the CPU has no dot-product instructions",
)


def _random(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    if dtype == "bfloat16":
        return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def _exact(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64 if array.dtype == ml_dtypes.bfloat16 else np.int64)


def _compare(result: np.ndarray, expected: np.ndarray) -> None:
    if result.dtype == np.int32:
        np.testing.assert_array_equal(result, expected)
        return
    tolerance = 1e-5 if result.dtype == np.float32 else 2.0**-7
    scale = np.abs(expected).max(initial=1e-30)
    np.testing.assert_allclose(result.astype(np.float64) / scale, expected / scale, atol=tolerance)


def _module(shape: list[Any], dtype: str, emit: Any) -> Any:
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(emit(builder, x))
        builder.emit_func_output(result)
    return builder.get()


def _matmul(
    lead: list[Any], weight: np.ndarray, kind: str, twice: bool = False, transposed: bool = False
) -> Any:
    data, stored, out = KINDS[kind]

    def emit(builder: Any, x: Any) -> Any:
        if transposed:
            constant = relax.const(np.ascontiguousarray(weight.T), stored)
            right = builder.emit(op.permute_dims(constant))
        else:
            right = relax.const(weight, stored)
        product = builder.emit(op.matmul(x, right, out_dtype=out))
        return builder.emit(op.add(product, product)) if twice else product

    return _module([*lead, weight.shape[0]], data, emit)


def _run(module: Any, data: np.ndarray, cores: int = 1) -> np.ndarray:
    target = Target({"kind": "llvm", "num-cores": cores})
    main = relax.VirtualMachine(relax_mlir.compile(module, target), relax_mlir.cpu())["main"]
    return main(relax_mlir.runtime.tensor(data)).numpy()


def _is_packed(module: Any) -> bool:
    return "_groups" in PACK(module).script()


@needs_instructions
@pytest.mark.parametrize("kind", ["u8", "s8", "bf16", "bf16 to f32"])
@pytest.mark.parametrize(
    ("lead", "depth", "columns"),
    [((1,), 64, 64), ((8,), 36, 40), ((2, 5), 16, 17), ((49,), 100, 192), ((3,), 4160, 80)],
)
def test_products(kind: str, lead: tuple[int, ...], depth: int, columns: int) -> None:
    data, stored, _ = KINDS[kind]
    weight, x = _random((depth, columns), stored), _random((*lead, depth), data)
    module = _matmul(list(lead), weight, kind, transposed=len(lead) > 1)
    assert _is_packed(module)
    _compare(_run(module, x), _exact(x) @ _exact(weight))


@needs_instructions
@pytest.mark.parametrize("kind", ["u8", "s8", "bf16"])
def test_any_number_of_rows_and_epilogues(kind: str) -> None:
    data, stored, _ = KINDS[kind]
    weight = _random((64, 96), stored)
    module = _matmul([tir.Var("n", "int64")], weight, kind, twice=True)
    assert _is_packed(module)
    main = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())["main"]
    for rows in (0, 1, 7, 33):
        x = _random((rows, 64), data)
        result = main(relax_mlir.runtime.tensor(x)).numpy()
        _compare(result, 2 * (_exact(x) @ _exact(weight)))


@needs_instructions
@pytest.mark.parametrize("kind", ["u8", "s8", "bf16"])
def test_two_cores(kind: str) -> None:
    data, stored, _ = KINDS[kind]
    weight, x = _random((256, 192), stored), _random((96, 256), data)
    _compare(_run(_matmul([96], weight, kind), x, 2), _exact(x) @ _exact(weight))


@needs_instructions
def test_a_weight_of_two_products() -> None:
    weight, x = _random((32, 32), "int8"), _random((4, 32), "uint8")

    def emit(builder: Any, x: Any) -> Any:
        right = builder.emit(op.permute_dims(relax.const(weight)))
        first, second = (builder.emit(op.matmul(x, right, out_dtype="int32")) for _ in range(2))
        return builder.emit(op.add(first, second))

    module = _module([4, 32], "uint8", emit)
    assert "R.matmul" not in PACK(module).script()
    _compare(_run(module, x), 2 * (_exact(x) @ _exact(weight.T)))


@needs_instructions
def test_unsigned_weights() -> None:
    """Small ones are signed ones, too; larger ones have no instruction."""
    x = _random((5, 32), "uint8")
    for most, packed in ((127, True), (128, False)):
        weight = np.full((32, 48), most, "uint8")
        module = _matmul([5], weight, "u8 u8")
        assert _is_packed(module) is packed
        _compare(_run(module, x), _exact(x) @ _exact(weight))


@needs_instructions
@pytest.mark.parametrize(("depth", "columns"), [(30, 48), (33, 48), (12, 48), (32, 8)])
def test_what_stays(depth: int, columns: int) -> None:
    weight, x = _random((depth, columns), "int8"), _random((6, depth), "uint8")
    module = _matmul([6], weight, "u8")
    assert not _is_packed(module)
    _compare(_run(module, x), _exact(x) @ _exact(weight))


def test_without_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_narrow_weights, "host_cpu", lambda: CPUTarget(256, 16))
    for kind in KINDS:
        assert not _is_packed(_matmul([8], _random((64, 64), KINDS[kind][1]), kind))


# Convolutions


def _convolution(x: np.ndarray, weight: np.ndarray, stride: int, pad: int) -> np.ndarray:
    x, weight = _exact(x), _exact(weight)
    rows, columns = weight.shape[:2]
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (rows, columns), (1, 2))
    return np.einsum("nyxcij,ijco->nyxo", windows[:, ::stride, ::stride], weight)


def _conv2d(shape: list[Any], weight: np.ndarray, kind: str, stride: int, pad: int) -> Any:
    data, stored, out = KINDS[kind]

    def emit(builder: Any, x: Any) -> Any:
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": out}
        right = relax.const(weight, stored)
        result = builder.emit(op.nn.conv2d(x, right, strides=stride, padding=pad, **layouts))
        return builder.emit(op.add(result, result))

    return _module([*shape, weight.shape[2]], data, emit)


IMAGES = [
    ((1, 8, 8, 32), 64, 3, 1, 1),
    ((2, 7, 9, 16), 40, 3, 2, 1),
    ((1, 14, 14, 20), 17, 1, 2, 0),
    ((1, 6, 16, 64), 192, 1, 1, 0),
    ((2, 11, 11, 8), 48, 7, 2, 3),
    ((1, 2, 2, 16), 16, 3, 1, 1),
]


@needs_instructions
@pytest.mark.parametrize("kind", ["u8", "s8", "bf16"])
@pytest.mark.parametrize(("shape", "outputs", "size", "stride", "pad"), IMAGES)
def test_convolutions(
    kind: str, shape: tuple[int, int, int, int], outputs: int, size: int, stride: int, pad: int
) -> None:
    data, stored, _ = KINDS[kind]
    weight, x = _random((size, size, shape[3], outputs), stored), _random(shape, data)
    module = _conv2d(list(shape[:3]), weight, kind, stride, pad)
    assert _is_packed(module)
    _compare(_run(module, x), 2 * _convolution(x, weight, stride, pad))


@needs_instructions
def test_channels_of_one_group_stay() -> None:
    """The kernel packs such a weight itself: it is small, and its taps are one loop."""
    weight, x = _random((7, 7, 4, 64), "int8"), _random((1, 16, 16, 4), "uint8")
    module = _conv2d([1, 16, 16], weight, "u8", 2, 3)
    assert not _is_packed(module)
    _compare(_run(module, x), 2 * _convolution(x, weight, 2, 3))


@needs_instructions
@pytest.mark.parametrize("kind", ["u8", "s8", "bf16"])
def test_convolutions_on_two_cores(kind: str) -> None:
    data, stored, _ = KINDS[kind]
    for shape, outputs in (((1, 14, 14, 64), 96), ((1, 7, 7, 32), 136), ((2, 7, 7, 64), 256)):
        weight, x = _random((3, 3, shape[3], outputs), stored), _random(shape, data)
        module = _conv2d(list(shape[:3]), weight, kind, 1, 1)
        _compare(_run(module, x, 2), 2 * _convolution(x, weight, 1, 1))


@needs_instructions
@pytest.mark.parametrize("kind", ["u8", "s8", "bf16"])
def test_convolutions_of_images_of_any_size(kind: str) -> None:
    data, stored, _ = KINDS[kind]
    weight = _random((3, 3, 16, 48), stored)
    sizes = [tir.Var(name, "int64") for name in "nhw"]
    module = _conv2d(sizes, weight, kind, 1, 1)
    assert _is_packed(module)
    main = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())["main"]
    for shape in ((1, 5, 9, 16), (3, 4, 2, 16)):
        x = _random(shape, data)
        result = main(relax_mlir.runtime.tensor(x)).numpy()
        _compare(result, 2 * _convolution(x, weight, 1, 1))
