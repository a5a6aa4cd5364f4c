"""Convolutions of random shapes as Relax modules, and what they compute, in float64."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax import op


@dataclass(frozen=True)
class Case:
    """A convolution of data [batch, *sizes, channels] in NHWC.

    padding: elements before each axis, then after each.  epilogue: letters of what follows, from
    "b" bias, "r" residual, "m" relu (max), "s" silu.
    """

    sizes: tuple[int, ...]
    channels: int
    outputs: int
    kernel: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    batch: int = 1
    epilogue: str = ""
    dtype: str = "float32"

    @property
    def letters(self) -> str:
        return "DHW"[-len(self.sizes) :]

    @property
    def weight_shape(self) -> tuple[int, ...]:
        return (*self.kernel, self.channels // self.groups, self.outputs)

    @property
    def output_sizes(self) -> tuple[int, ...]:
        dims = len(self.sizes)
        return tuple(
            (size + self.padding[i] + self.padding[dims + i] - (k - 1) * d - 1) // s + 1
            for i, (size, k, s, d) in enumerate(
                zip(self.sizes, self.kernel, self.strides, self.dilation, strict=True)
            )
        )


def reference(case: Case, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The convolution in float64, one tap at a time."""
    dims = len(case.sizes)
    x, w = data.astype(np.float64), weight.astype(np.float64)
    around = [(0, 0), *zip(case.padding[:dims], case.padding[dims:], strict=True), (0, 0)]
    x = np.pad(x, around)
    out = np.zeros((case.batch, *case.output_sizes, case.outputs))
    inner, width = case.channels // case.groups, case.outputs // case.groups
    for tap in itertools.product(*map(range, case.kernel)):
        cut = [slice(None)]
        for t, d, s, n in zip(tap, case.dilation, case.strides, case.output_sizes, strict=True):
            cut.append(slice(t * d, t * d + (n - 1) * s + 1, s))
        part = x[tuple(cut)]
        for g in range(case.groups):
            channels = slice(g * inner, (g + 1) * inner)
            columns = slice(g * width, (g + 1) * width)
            out[..., columns] += part[..., channels] @ w[tap][:, columns]
    return out


def transposed_reference(
    case: Case, extra: Sequence[int], data: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The transposed convolution in float64, one tap at a time: each adds where it lands.  weight:
    [taps..., channels, outputs of a group]; extra: elements behind the end."""
    dims, groups = len(case.sizes), case.groups
    full = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, s, k, d, e in zip(
            data.shape[1:-1], case.strides, case.kernel, case.dilation, extra, strict=True
        )
    ]
    parts = data.astype(np.float64).reshape(*data.shape[:-1], groups, -1)
    kernel = weight.astype(np.float64).reshape(
        *case.kernel, groups, data.shape[-1] // groups, weight.shape[-1]
    )
    out = np.zeros((data.shape[0], *full, groups, weight.shape[-1]))
    for tap in itertools.product(*map(range, case.kernel)):
        at = tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, s, n in zip(tap, case.dilation, case.strides, data.shape[1:-1], strict=True)
        )
        out[(slice(None), *at)] += np.einsum("...gi,gio->...go", parts, kernel[tap])
    out = out.reshape(*out.shape[:-2], -1)
    ends = [out.shape[1 + i] - case.padding[dims + i] for i in range(dims)]
    cut = [slice(low, end) for low, end in zip(case.padding[:dims], ends, strict=True)]
    return out[(slice(None), *cut)]


def module_of(case: Case, weight: np.ndarray | None = None) -> Any:
    """`main(data, [weight,] *others)`; with `weight`, it is a constant."""
    dims = len(case.sizes)
    data = relax.Var(
        "x", relax.TensorStructInfo([case.batch, *case.sizes, case.channels], case.dtype)
    )
    parameters = [data]
    right: Any = None if weight is None else relax.const(weight)
    if weight is None:
        right = relax.Var("w", relax.TensorStructInfo(list(case.weight_shape), case.dtype))
        parameters.append(right)
    shapes = {"b": [case.outputs], "r": [case.batch, *case.output_sizes, case.outputs]}
    others = {
        letter: relax.Var(letter, relax.TensorStructInfo(shapes[letter], case.dtype))
        for letter in case.epilogue
        if letter in shapes
    }
    convolve = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}[dims]
    builder = relax.BlockBuilder()
    with builder.function("main", [*parameters, *others.values()]):
        with builder.dataflow():
            value = builder.emit(
                convolve(
                    data,
                    right,
                    strides=list(case.strides),
                    padding=list(case.padding),
                    dilation=list(case.dilation),
                    groups=case.groups,
                    data_layout=f"N{case.letters}C",
                    kernel_layout=f"{case.letters}IO",
                )
            )
            for letter in case.epilogue:
                if letter in others:
                    value = builder.emit(op.add(value, others[letter]))
                else:
                    value = builder.emit((op.nn.relu if letter == "m" else op.nn.silu)(value))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


def arguments_of(case: Case, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Data, weight and the others, and the result, in float64."""
    random = np.random.default_rng(seed)

    def normal(shape: tuple[int, ...], scale: float = 1.0) -> np.ndarray:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    depth = case.channels // case.groups * int(np.prod(case.kernel))
    data = normal((case.batch, *case.sizes, case.channels))
    weight = normal(case.weight_shape, 1 / np.sqrt(depth))
    result = reference(case, data, weight)
    others: list[np.ndarray] = []
    for letter in case.epilogue:
        if letter in "br":
            full = letter == "r"
            others.append(normal(result.shape if full else (case.outputs,)))
            result = result + others[-1]
        else:
            result = np.maximum(result, 0) if letter == "m" else result / (1 + np.exp(-result))
    return [data, weight, *others], result


def check(
    case: Case,
    seed: int = 0,
    constant: bool = False,
    target: Any = "llvm",
    tolerance: float = 2e-5,
) -> None:
    """Compile and run a case, compare with the reference; the tolerance is relative to the
    largest output."""
    arguments, expected = arguments_of(case, seed)
    module = module_of(case, arguments[1] if constant else None)
    if constant:
        del arguments[1]
    main = relax.VirtualMachine(relax_mlir.compile(module, target), relax_mlir.cpu())["main"]
    got = main(*[relax_mlir.runtime.tensor(argument) for argument in arguments]).numpy()
    assert got.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale, err_msg=str(case))
