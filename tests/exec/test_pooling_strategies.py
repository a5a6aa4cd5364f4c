"""Pooling with channels last, by vectors and without a padded copy, against numpy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import relax_mlir
from relax_mlir import relax
from relax_mlir.relax import op

POOLS = {
    ("max", 1): op.nn.max_pool1d,
    ("max", 2): op.nn.max_pool2d,
    ("max", 3): op.nn.max_pool3d,
    ("avg", 1): op.nn.avg_pool1d,
    ("avg", 2): op.nn.avg_pool2d,
    ("avg", 3): op.nn.avg_pool3d,
}


@dataclass(frozen=True)
class Case:
    kind: str
    sizes: tuple[int, ...]
    channels: int
    window: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    batch: int = 1
    dtype: str = "float32"
    count_padding: bool = True


def _random(seed: int) -> Case:
    random = np.random.default_rng(seed)
    dims = int(random.choice([1, 2, 2, 2, 3]))

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(n) for n in random.integers(low, high, dims))

    window, dilation = numbers(1, 5), tuple(int(n) for n in random.choice([1, 1, 2], dims))
    spans = [(w - 1) * d + 1 for w, d in zip(window, dilation, strict=True)]
    padding = tuple((int(random.integers(0, w)), int(random.integers(0, w))) for w in window)
    if seed % 3 == 0:
        padding = ((0, 0),) * dims
    sizes = tuple(s + int(random.integers(0, 12)) for s in spans)
    return Case(
        "max" if seed % 2 else "avg",
        sizes,
        int(random.choice([1, 3, 16, 20, 33, 64])),
        window,
        numbers(1, 4),
        padding,
        dilation,
        batch=int(random.integers(1, 3)),
        dtype=["float32", "float64", "float16", "int32"][seed % 4] if seed % 2 else "float32",
        count_padding=bool(seed % 4),
    )


def _module(case: Case, batch: Any) -> Any:
    dims = len(case.sizes)
    x = relax.Var("x", relax.TensorStructInfo([batch, *case.sizes, case.channels], case.dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        pooled = POOLS[case.kind, dims](
            x,
            list(case.window),
            list(case.strides),
            [p[0] for p in case.padding] + [p[1] for p in case.padding],
            list(case.dilation),
            count_include_pad=case.count_padding,
            layout=f"N{'DHW'[3 - dims :]}C",
        )
        builder.emit_func_output(builder.emit(pooled))
    return builder.get()


def _main(case: Case, batch: Any, cores: int = 1) -> Any:
    target = relax_mlir.target.Target({"kind": "llvm", "num-cores": cores})
    executable = relax_mlir.compile(_module(case, batch), target=target)
    return relax.VirtualMachine(executable, relax_mlir.cpu())["main"]


def _data(case: Case, batch: int) -> np.ndarray:
    random = np.random.default_rng(batch)
    shape = (batch, *case.sizes, case.channels)
    if case.dtype.startswith("int"):
        return random.integers(-(2**31), 2**31 - 1, shape).astype(case.dtype)
    return random.standard_normal(shape).astype(case.dtype)


def _expected(case: Case, x: np.ndarray) -> np.ndarray:
    low = np.iinfo(x.dtype).min if x.dtype.kind == "i" else -np.inf
    around = ((0, 0), *case.padding, (0, 0))
    padded = np.pad(x, around, constant_values=low if case.kind == "max" else 0)
    inside = np.pad(np.ones(x.shape), around, constant_values=float(case.count_padding))
    outs = [
        (size + sum(p) - (w - 1) * d - 1) // s + 1
        for size, p, w, d, s in zip(
            case.sizes, case.padding, case.window, case.dilation, case.strides, strict=True
        )
    ]
    parts, counts = [], []
    for tap in itertools.product(*map(range, case.window)):
        cut = [slice(None)]
        for t, d, s, n in zip(tap, case.dilation, case.strides, outs, strict=True):
            cut.append(slice(t * d, t * d + (n - 1) * s + 1, s))
        parts.append(padded[tuple(cut)])
        counts.append(inside[tuple(cut)])
    if case.kind == "max":
        return np.max(parts, axis=0)
    return np.sum(parts, axis=0, dtype=np.float64) / np.maximum(np.sum(counts, axis=0), 1)


def _check(main: Any, case: Case, x: np.ndarray) -> None:
    got = main(relax_mlir.runtime.tensor(x)).numpy()
    assert got.dtype == x.dtype
    if case.kind == "max":
        np.testing.assert_array_equal(got, _expected(case, x))
    else:
        np.testing.assert_allclose(got, _expected(case, x), 1e-5, 1e-6)


@pytest.mark.parametrize("seed", range(16))
def test_random_pools(seed: int) -> None:
    case = _random(seed)
    _check(_main(case, case.batch), case, _data(case, case.batch))


STEM = Case("max", (23, 18), 40, (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1))


def test_nan_wins() -> None:
    x = _data(STEM, 1)
    x[0, 3::7, 4::5, ::3] = np.nan
    x[0, 10, 10] = -np.inf
    _check(_main(STEM, 1), STEM, x)


def test_any_batch() -> None:
    n = relax_mlir.tir.Var("n", "int64")
    main = _main(STEM, n)
    for batch in (1, 3):
        _check(main, STEM, _data(STEM, batch))


def test_two_threads() -> None:
    case = Case("max", (90, 81), 48, (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1))
    _check(_main(case, 1, cores=2), case, _data(case, 1))


def test_the_mean_of_an_image() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2, 7, 9, 20], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.nn.adaptive_avg_pool2d(x, 1, layout="NHWC")))
    executable = relax_mlir.compile(builder.get())
    data = np.random.default_rng(0).standard_normal((2, 7, 9, 20)).astype("float32")
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    got = main(relax_mlir.runtime.tensor(data)).numpy()
    np.testing.assert_allclose(got, data.mean((1, 2), keepdims=True), 1e-5, 1e-6)
