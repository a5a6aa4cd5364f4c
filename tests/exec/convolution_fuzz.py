"""Convolutions of everything at random, against float64: dtypes, layouts, transposed ones, groups,
sizes that are symbols, weights that are arguments, targets and threads.

`python -m tests.exec.convolution_fuzz FIRST LAST` runs the seeds of a range.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

import relax_mlir
from relax_mlir import relax, tir
from relax_mlir.relax import op
from tests.exec.convolution_cases import Case, reference, transposed_reference

# Dtypes of data, weight and result; relative to the largest output, what may be rounded.
KINDS = {
    "float32": ("float32", "float32", "float32", 3e-5),
    "float64": ("float64", "float64", "float64", 1e-12),
    "float16": ("float16", "float16", "float16", 4e-3),
    "bfloat16": ("bfloat16", "bfloat16", "bfloat16", 2e-2),
    "int32": ("int32", "int32", "int32", 0.0),
    "bytes": ("uint8", "int8", "int32", 0.0),
    "signed bytes": ("int8", "int8", "int32", 0.0),
}
_HASWELL = {"kind": "llvm", "mcpu": "haswell"}
_TARGETS: tuple[Any, ...] = ("llvm", "llvm", "llvm -num-cores=2", _HASWELL)
_CONVOLVE = {
    (1, False): op.nn.conv1d, (2, False): op.nn.conv2d, (3, False): op.nn.conv3d,
    (1, True): op.nn.conv1d_transpose, (2, True): op.nn.conv2d_transpose,
    (3, True): op.nn.conv3d_transpose,
}  # fmt: skip
_MOST_PIXELS = {1: 60, 2: 24, 3: 8}


@dataclass(frozen=True)
class Sample:
    """A convolution and how it is written.

    extra: output padding of a transposed one, None for others.  symbols: which sizes of the data
    are symbols, "n" that of the batch, "s" those of the image.
    """

    case: Case
    kind: str
    extra: tuple[int, ...] | None
    symbols: str
    constant: bool
    channels_first: bool
    target: Any


def sample(seed: int) -> Sample:
    """A convolution that exists."""
    pick = random.Random(seed)
    dims = pick.choice([1, 2, 2, 2, 3])
    kinds = [*["float32"] * 4, *list(KINDS)[1:]]
    kind = pick.choice(kinds)
    is_transposed = pick.random() < 0.25 and "bytes" not in kind
    groups, channels, outputs = _channels(pick)
    kernel, strides, dilation = _windows(pick, dims)
    padding = _padding(pick, kernel, dilation)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    room = [pick.randint(0, _MOST_PIXELS[dims]) for _ in range(dims)]
    around = [padding[i] + padding[dims + i] for i in range(dims)]
    extra = None
    if is_transposed:
        extra = tuple(pick.randint(0, s - 1) for s in strides)
        least = [
            max(1, -(-(a - r + 1) // s) + 1) for a, r, s in zip(around, reach, strides, strict=True)
        ]
        sizes = tuple(n + r // 2 for n, r in zip(least, room, strict=True))
    else:
        sizes = tuple(
            max(1, r - a) + more for r, a, more in zip(reach, around, room, strict=True)
        )
    symbols = pick.choice(["n", "s", "ns"]) if pick.random() < 0.3 else ""
    epilogues = ["", "b"] if KINDS[kind][2] == "int32" else ["", "b", "m", "bm", "brm", "s"]
    case = Case(
        sizes, channels, outputs, kernel, strides, padding, dilation, groups,
        pick.choice([1, 1, 2, 3]), pick.choice(epilogues),
    )  # fmt: skip
    return Sample(
        case, kind, extra, symbols, pick.random() < 0.6, pick.random() < 0.4, pick.choice(_TARGETS)
    )


def _channels(pick: random.Random) -> tuple[int, int, int]:
    """Groups, channels of the data and of the result."""
    way = pick.choice(["one", "one", "one", "some", "each"])
    if way == "one":
        inputs = [1, 3, 4, 5, 7, 8, 16, 17, 24, 32, 64, 96]
        return 1, pick.choice(inputs), pick.choice([1, 3, 5, 8, 16, 24, 31, 32, 33, 64, 100])
    groups = pick.choice([2, 3, 4, 8, 32] if way == "some" else [1, 3, 8, 16, 17, 33, 64])
    if way == "each":
        return groups, groups, groups * pick.choice([1, 1, 2, 3, 4])
    return groups, groups * pick.choice([1, 2, 3, 4, 5, 8, 16]), groups * pick.choice(
        [1, 2, 3, 4, 6, 8, 16, 32]
    )


def _windows(pick: random.Random, dims: int) -> tuple[tuple[int, ...], ...]:
    """Kernel, strides and dilation."""
    taps = [1, 2, 3] if dims == 3 else [1, 2, 3, 3, 3, 4, 5, 7]
    found = [
        [pick.choice(choices) for _ in range(dims)]
        for choices in (taps, [1, 1, 1, 2, 2, 3], [1, 1, 1, 1, 2, 3])
    ]
    same = pick.random() < 0.6
    return tuple(tuple(values[:1] * dims if same else values) for values in found)


def _padding(
    pick: random.Random, kernel: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[int, ...]:
    if pick.random() < 0.5:
        return tuple((k - 1) // 2 * d for k, d in zip(kernel, dilation, strict=True)) * 2
    most = 1 if len(kernel) == 3 else 3
    return tuple(pick.randint(0, most) for _ in range(2 * len(kernel)))


def check(seed: int) -> None:
    """Compile, run and compare a sample; AssertionError names it."""
    given = sample(seed)
    random_ = np.random.default_rng(seed)
    data, weight, result, tolerance = KINDS[given.kind]
    case = given.case
    x = _random(random_, (case.batch, *case.sizes, case.channels), data)
    shape = case.weight_shape
    if given.extra is not None:
        shape = (*case.kernel, case.channels, case.outputs // case.groups)
    w = _random(random_, shape, weight)
    if tolerance:
        w = (w.astype(float) / np.sqrt(np.prod(shape[:-1]))).astype(w.dtype)
    if given.extra is None:
        expected = reference(case, x, w)
    else:
        expected = transposed_reference(case, given.extra, x, w)
    others: list[np.ndarray] = []
    for letter in case.epilogue:
        if letter in "br":
            size = (case.outputs,) if letter == "b" else expected.shape
            others.append(_random(random_, size, result))
            expected = expected + others[-1].astype(float)
        else:
            expected = np.maximum(expected, 0) if letter == "m" else _silu(expected)
    got = _run(given, x, w, others)
    expected = _turned(given, expected)
    assert got.shape == expected.shape, given
    if tolerance:
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        np.testing.assert_allclose(
            got.astype(float), expected, rtol=0, atol=tolerance * scale, err_msg=str(given)
        )
    else:
        whole = expected.astype(np.int64).astype(np.int32)
        np.testing.assert_array_equal(got, whole, err_msg=str(given))


def _silu(values: np.ndarray) -> np.ndarray:
    return values / (1 + np.exp(-values))


def _random(numbers: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype in ("uint8", "int8"):
        limits = np.iinfo(dtype)
        return numbers.integers(limits.min, limits.max + 1, shape).astype(dtype)
    if dtype == "int32":
        return numbers.integers(-50, 50, shape).astype(dtype)
    return numbers.standard_normal(shape).astype(getattr(ml_dtypes, dtype, dtype))


def _turned(given: Sample, values: np.ndarray) -> np.ndarray:
    """Values with channels last as the program has them."""
    if not given.channels_first or values.ndim < 3:
        return values
    return np.ascontiguousarray(np.moveaxis(values, -1, 1))


def _run(given: Sample, x: np.ndarray, w: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    case, dims = given.case, len(given.case.sizes)
    letters, first = case.letters, given.channels_first
    outside = "OI" if given.extra is None else "IO"
    kernel_layout = f"{outside}{letters}" if first else f"{letters}IO"
    if first:
        axes = (dims, dims + 1) if given.extra is not None else (dims + 1, dims)
        w = np.ascontiguousarray(w.transpose(*axes, *range(dims)))
    x = _turned(given, x)
    wide = [
        value.reshape(-1, *[1] * dims) if first and value.ndim == 1 else _turned(given, value)
        for value in others
    ]
    module = _module(given, x, w, wide, kernel_layout)
    executable = relax_mlir.compile(module, given.target)
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    arguments = [x, *([] if given.constant else [w]), *wide]
    return main(*[relax_mlir.runtime.tensor(argument) for argument in arguments]).numpy()


def _module(
    given: Sample, x: np.ndarray, w: np.ndarray, others: list[np.ndarray], kernel_layout: str
) -> Any:
    case, dims = given.case, len(given.case.sizes)
    data, weight, result, _ = KINDS[given.kind]
    shape: list[Any] = list(x.shape)
    # What is added as large as the result has the sizes that are numbers.
    symbols = "" if "r" in case.epilogue else given.symbols
    spatial = range(2, dims + 2) if given.channels_first else range(1, dims + 1)
    for axis in [*([0] if "n" in symbols else []), *(spatial if "s" in symbols else [])]:
        shape[axis] = tir.Var(f"size{axis}", "int64")
    parameters = [relax.Var("x", relax.TensorStructInfo(shape, data))]
    right: Any = relax.const(w, weight)
    if not given.constant:
        right = relax.Var("w", relax.TensorStructInfo(list(w.shape), weight))
        parameters.append(right)
    added = [
        relax.Var(f"other{i}", relax.TensorStructInfo(list(value.shape), result))
        for i, value in enumerate(others)
    ]
    letters, left = case.letters, iter(added)
    settings: dict[str, Any] = {} if given.extra is None else {"output_padding": list(given.extra)}
    builder = relax.BlockBuilder()
    with builder.function("main", [*parameters, *added]):
        with builder.dataflow():
            value = _CONVOLVE[dims, given.extra is not None](
                parameters[0], right, strides=list(case.strides), padding=list(case.padding),
                dilation=list(case.dilation), groups=case.groups,
                data_layout=f"NC{letters}" if given.channels_first else f"N{letters}C",
                kernel_layout=kernel_layout, out_dtype=result if result != data else None,
                **settings,
            )  # fmt: skip
            value = builder.emit(value)
            for letter in case.epilogue:
                value = builder.emit(_EPILOGUE[letter](value, left))
            made = builder.emit_output(value)
        builder.emit_func_output(made)
    return builder.get()


_EPILOGUE: dict[str, Any] = {
    "b": lambda value, left: op.add(value, next(left)),
    "r": lambda value, left: op.add(value, next(left)),
    "m": lambda value, left: op.nn.relu(value),
    "s": lambda value, left: op.nn.silu(value),
}


def main() -> None:
    first, last = map(int, sys.argv[1:3])
    failed = 0
    for seed in range(first, last):
        try:
            check(seed)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {sample(seed)}\n  {type(error).__name__}: {str(error)[:400]}")
    print(f"{last - first} convolutions, {failed} failed")


if __name__ == "__main__":
    main()
