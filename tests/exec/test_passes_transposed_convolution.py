"""Transposed convolutions as convolutions, against float64."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax, tir
from relax_mlir.relax import op
from relax_mlir.transform import PassPipeline
from tests.exec.convolution_cases import Case as Shape
from tests.exec.convolution_cases import transposed_reference

PASS = PassPipeline("relax-transposed-convolution-to-convolution")
CONVOLVE = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}


@dataclass(frozen=True)
class Case:
    """A transposed convolution of two images; `symbolic`, sizes that only run time knows."""

    sizes: list[int]
    taps: list[int]
    strides: list[int]
    padding: list[int]
    extra: list[int]
    dilation: list[int] = field(default_factory=list)
    groups: int = 1
    inputs: int = 5
    outputs: int = 18
    layout: str = "channels last"
    kernel_layout: str = "channels last"
    constant: bool = True
    symbolic: bool = False
    dtype: str = "float32"

    @property
    def letters(self) -> str:
        return "DHW"[-len(self.sizes) :]

    @property
    def spread(self) -> list[int]:
        return self.dilation or [1] * len(self.sizes)


def _reference(case: Case, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x: channels last; w: taps, I, O of a group."""
    shape = Shape(
        tuple(case.sizes), case.inputs, case.groups * case.outputs, tuple(case.taps),
        tuple(case.strides), tuple(case.padding), tuple(case.spread), case.groups, x.shape[0],
    )  # fmt: skip
    return transposed_reference(shape, case.extra, x, w)


def _module(case: Case, shape: list[Any], weight: np.ndarray) -> Any:
    letters = case.letters
    data = relax.Var("x", relax.TensorStructInfo(shape, case.dtype))
    parameters = [data]
    right: Any = relax.const(weight, case.dtype)
    if not case.constant:
        right = relax.Var("w", relax.TensorStructInfo(list(weight.shape), case.dtype))
        parameters.append(right)
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            value = CONVOLVE[len(letters)](
                data, right, strides=case.strides, padding=case.padding,
                output_padding=case.extra, dilation=case.spread, groups=case.groups,
                data_layout=f"N{letters}C" if case.layout == "channels last" else f"NC{letters}",
                kernel_layout=_kernel_layout(case),
            )  # fmt: skip
            result = builder.emit_output(builder.emit(op.nn.relu(builder.emit(value))))
        builder.emit_func_output(result)
    return builder.get()


def _kernel_layout(case: Case) -> str:
    return f"{case.letters}IO" if case.kernel_layout == "channels last" else f"IO{case.letters}"


def _check(case: Case, tolerance: float = 1e-5) -> None:
    dims = len(case.sizes)
    numbers = np.random.default_rng(sum(case.sizes) + sum(case.taps))
    x = numbers.standard_normal((2, *case.sizes, case.inputs)).astype(case.dtype)
    w = numbers.standard_normal((*case.taps, case.inputs, case.outputs)).astype(case.dtype)
    expected = np.maximum(_reference(case, x, w), 0)
    if case.kernel_layout != "channels last":
        w = np.ascontiguousarray(w.transpose(dims, dims + 1, *range(dims)))
    first = case.layout != "channels last"
    if first:
        x = np.ascontiguousarray(x.transpose(0, dims + 1, *range(1, dims + 1)))
        expected = expected.transpose(0, dims + 1, *range(1, dims + 1))
    shape: list[Any] = list(x.shape)
    if case.symbolic:
        spatial = range(2, dims + 2) if first else range(1, dims + 1)
        for axis in (0, *spatial):
            shape[axis] = tir.Var(f"size{axis}", "int64")
    module = PASS(_module(case, shape, w))
    assert "_transpose" not in module.script()
    main = relax.VirtualMachine(relax_mlir.compile(module, "llvm"), relax_mlir.cpu())["main"]
    got = main(x) if case.constant else main(x, w)
    assert got.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(got.numpy(), expected, atol=tolerance * scale, err_msg=str(case))


def _square(taps: int, stride: int, padding: int, extra: int, **others: Any) -> Case:
    return Case([6, 5], [taps] * 2, [stride] * 2, [padding] * 4, [extra] * 2, **others)


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
        (2, 1, 2, 0),
    ],
)
@pytest.mark.parametrize("symbolic", [False, True])
def test_images(taps: int, stride: int, padding: int, extra: int, symbolic: bool) -> None:
    _check(_square(taps, stride, padding, extra, symbolic=symbolic))


@pytest.mark.parametrize("dims", [1, 3])
@pytest.mark.parametrize("symbolic", [False, True])
def test_lines_and_volumes(dims: int, symbolic: bool) -> None:
    case = Case([4] * dims, [3] * dims, [2] * dims, [1] * (2 * dims), [1] * dims)
    _check(replace(case, symbolic=symbolic))


OTHERS = {
    "groups": _square(4, 2, 1, 0, groups=2, inputs=6, outputs=4),
    "depthwise": _square(4, 2, 1, 0, groups=18, inputs=18, outputs=1),
    "depthwise, long": Case([5, 6], [16] * 2, [8] * 2, [4] * 4, [0] * 2, groups=3, inputs=3,
                            outputs=1),
    "few outputs": _square(4, 2, 1, 0, inputs=16, outputs=3),
    "dilated": _square(3, 1, 1, 0, dilation=[2, 3]),
    "dilated, stride": _square(3, 2, 2, 1, dilation=[2, 1]),
    "channels first": _square(4, 2, 1, 0, layout="channels first", kernel_layout="channels first"),
    "groups, channels first": _square(3, 2, 1, 1, groups=3, inputs=6, outputs=2,
                                      layout="channels first", kernel_layout="channels first"),
    "argument": _square(4, 2, 1, 0, constant=False),
    "argument, dilated": _square(3, 2, 2, 1, dilation=[2, 3], constant=False, groups=2, inputs=4,
                                 kernel_layout="channels first"),
    "float64": _square(4, 2, 1, 0, dtype="float64"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    _check(OTHERS[name])


@pytest.mark.parametrize("seed", range(12))
def test_random_shapes(seed: int) -> None:
    pick = random.Random(seed)
    dims = pick.choice([1, 2, 2, 3])
    taps = [pick.randint(1, 5) for _ in range(dims)]
    strides = [pick.randint(1, 4) for _ in range(dims)]
    dilation = [pick.choice([1, 1, 2, 3]) for _ in range(dims)]
    reach = [(k - 1) * d for k, d in zip(taps, dilation, strict=True)]
    padding = [pick.randint(0, reach[i % dims]) for i in range(2 * dims)]
    extra = [pick.randint(0, s - 1) for s in strides]
    sizes = [pick.randint(2, 7) + 2 * reach[i] // strides[i] for i in range(dims)]
    groups = pick.choice([1, 1, 2, 3])
    case = Case(
        sizes, taps, strides, padding, extra, dilation, groups, groups * pick.randint(1, 5),
        pick.randint(1, 12), pick.choice(["channels last", "channels first"]),
        pick.choice(["channels last", "channels first"]), pick.random() < 0.7,
        pick.random() < 0.3,
    )  # fmt: skip
    _check(case)
