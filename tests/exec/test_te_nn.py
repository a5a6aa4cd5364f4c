"""Convolutions and pooling of topi against plain loops in numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from relax_mlir import te, topi
from relax_mlir.errors import Error

from .te_harness import check


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def conv(x: np.ndarray, w: np.ndarray, stride: int, pad: int, dilation: int, groups: int) -> Any:
    """NC... with OI... kernels, one output element at a time."""
    dims = x.ndim - 2
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0)] + [(pad, pad)] * dims)
    taps = w.shape[2:]
    sizes = [
        (n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], taps, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    inner, outer = w.shape[1], w.shape[0] // groups
    for f in range(w.shape[0]):
        channels = slice(f // outer * inner, (f // outer + 1) * inner)
        for at in itertools.product(*map(range, sizes)):
            window = tuple(
                slice(p * stride, p * stride + dilation * (k - 1) + 1, dilation)
                for p, k in zip(at, taps, strict=True)
            )
            patch = x[(slice(None), channels, *window)]
            out[(slice(None), f, *at)] = (patch * w[f]).sum(axis=tuple(range(1, x.ndim)))
    return out


CONVOLUTIONS = [
    # input, kernel, stride, padding, dilation, groups
    ((1, 4, 6, 6), (8, 4, 3, 3), 1, 1, 1, 1),
    ((2, 3, 7, 5), (4, 3, 3, 3), 2, 1, 1, 1),
    ((1, 4, 9, 9), (6, 2, 3, 3), 1, 2, 2, 2),
    ((1, 4, 6, 6), (4, 1, 3, 3), 1, 1, 1, 4),
    ((1, 5, 4, 4), (7, 5, 1, 1), 1, 0, 1, 1),
    ((2, 3, 11), (4, 3, 3), 2, 1, 1, 1),
    ((1, 2, 4, 5, 4), (3, 2, 3, 3, 3), 1, 1, 1, 1),
]


@pytest.mark.parametrize(("data", "kernel", "stride", "pad", "dilation", "groups"), CONVOLUTIONS)
def test_convolution(
    data: Any, kernel: Any, stride: int, pad: int, dilation: int, groups: int
) -> None:
    layout = {3: "NCW", 4: "NCHW", 5: "NCDHW"}[len(data)]
    check(
        lambda x, w: topi.nn.conv(x, w, stride, pad, dilation, groups, layout),
        lambda x, w: conv(x, w, stride, pad, dilation, groups),
        draw(*data), draw(*kernel, seed=1), tolerance=1e-4,
    )  # fmt: skip


def test_convolution_in_nhwc() -> None:
    check(
        lambda x, w: topi.nn.conv2d_nhwc(x, w, 1, 1, 1),
        lambda x, w: conv(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), 1, 1, 1, 1).transpose(
            0, 2, 3, 1
        ),
        draw(1, 6, 6, 4), draw(3, 3, 4, 8, seed=1), tolerance=1e-4,
    )  # fmt: skip


def test_convolution_mistakes() -> None:
    x, w = te.placeholder((1, 4, 6, 6)), te.placeholder((8, 3, 3, 3))
    with pytest.raises(Error, match="4 input channels, 3 in the kernel"):
        topi.nn.conv2d_nchw(x, w, 1, 1, 1)
    with pytest.raises(Error, match="no data layout"):
        topi.nn.conv(x, w, 1, 1, 1, 1, "NCXY")


def conv_transpose(x: np.ndarray, w: np.ndarray, stride: int, pad: int, extra: int) -> Any:
    sizes = [(n - 1) * stride + k for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]
    out = np.zeros((x.shape[0], w.shape[1], *[s + extra for s in sizes]))
    for i, j in itertools.product(range(x.shape[2]), range(x.shape[3])):
        rows = slice(i * stride, i * stride + w.shape[2])
        columns = slice(j * stride, j * stride + w.shape[3])
        out[:, :, rows, columns] += np.einsum("nc,cokl->nokl", x[:, :, i, j], w)
    return out[:, :, pad : out.shape[2] - pad, pad : out.shape[3] - pad]


@pytest.mark.parametrize(("stride", "pad", "extra"), [(1, 0, 0), (2, 1, 0), (2, 1, 1), (3, 0, 2)])
def test_transposed_convolution(stride: int, pad: int, extra: int) -> None:
    check(
        lambda x, w: topi.nn.conv2d_transpose_nchw(x, w, stride, pad, None, extra),
        lambda x, w: conv_transpose(x, w, stride, pad, extra),
        draw(2, 3, 4, 5), draw(3, 2, 3, 3, seed=1), tolerance=1e-4,
    )  # fmt: skip


def test_grouped_transposed_convolution() -> None:
    check(
        lambda x, w: topi.nn.group_conv2d_transpose_nchw(x, w, 2, 1, None, 0, 2),
        lambda x, w: np.concatenate(
            [conv_transpose(x[:, :2], w[:2], 2, 1, 0), conv_transpose(x[:, 2:], w[2:], 2, 1, 0)], 1
        ),
        draw(1, 4, 4, 4), draw(4, 3, 3, 3, seed=1), tolerance=1e-4,
    )  # fmt: skip


def pool(
    x: np.ndarray, kernel: int, stride: int, pad: int, kind: str, ceil: bool, include: bool
) -> np.ndarray:
    def size(n: int) -> int:
        return (n + 2 * pad - kernel + (stride - 1 if ceil else 0)) // stride + 1

    out = np.zeros((*x.shape[:2], size(x.shape[2]), size(x.shape[3])))
    for i, j in itertools.product(range(out.shape[2]), range(out.shape[3])):
        spans = []
        counted = 1
        for at, n in ((i, x.shape[2]), (j, x.shape[3])):
            start, end = at * stride - pad, at * stride - pad + kernel
            spans.append(slice(max(start, 0), min(end, n)))
            counted *= min(end, n + pad) - start if include else min(end, n) - max(start, 0)
        patch = x[:, :, spans[0], spans[1]]
        if kind == "max":
            out[:, :, i, j] = patch.max((2, 3))
        else:
            out[:, :, i, j] = patch.sum((2, 3)) / counted
    return out


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "ceil", "include"),
    [(2, 2, 0, False, True), (3, 2, 1, False, True), (3, 2, 1, False, False),
     (3, 2, 1, True, True), (3, 2, 1, True, False), (1, 1, 0, False, True)],
)  # fmt: skip
def test_pooling(kind: str, kernel: int, stride: int, pad: int, ceil: bool, include: bool) -> None:
    check(
        lambda x: topi.nn.pool2d(x, kernel, stride, 1, pad, kind, ceil, "NCHW", include),
        lambda x: pool(x, kernel, stride, pad, kind, ceil, include),
        draw(2, 3, 8, 7),
    )


def test_pooling_in_other_layouts_and_ranks() -> None:
    check(
        lambda x: topi.nn.pool2d(x, 2, 2, 1, 0, "max", layout="NHWC"),
        lambda x: pool(x.transpose(0, 3, 1, 2), 2, 2, 0, "max", False, True).transpose(0, 2, 3, 1),
        draw(1, 6, 6, 3),
    )
    x, halves = draw(2, 3, 8), (2, 3, 4, 2)
    check(lambda v: topi.nn.pool1d(v, 2, 2, 1, 0, "avg"), lambda v: v.reshape(halves).mean(3), x)
    x, halves = draw(1, 2, 4, 4, 4), (1, 2, 2, 2, 2, 2, 2, 2)
    check(
        lambda v: topi.nn.pool3d(v, 2, 2, 1, 0, "max"),
        lambda v: v.reshape(halves).max((3, 5, 7)),
        x,
    )


def adaptive(x: np.ndarray, targets: tuple[int, int], kind: str) -> np.ndarray:
    out = np.zeros((*x.shape[:2], *targets))
    for i, j in itertools.product(*map(range, targets)):
        spans = [
            slice(at * n // t, -(-((at + 1) * n) // t))
            for at, n, t in zip((i, j), x.shape[2:], targets, strict=True)
        ]
        out[:, :, i, j] = getattr(x[:, :, spans[0], spans[1]], kind)((2, 3))
    return out


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("targets", [(1, 1), (2, 3), (4, 4), (6, 6), (5, 7)])
def test_adaptive_pooling(kind: str, targets: tuple[int, int]) -> None:
    check(
        lambda x: topi.nn.adaptive_pool(x, targets, kind),
        lambda x: adaptive(x, targets, {"avg": "mean"}.get(kind, kind)),
        draw(2, 3, 6, 6),
    )


def test_global_pooling() -> None:
    check(lambda x: topi.nn.global_pool(x, "avg"), lambda x: x.mean((2, 3), keepdims=True),
          draw(2, 3, 5, 7))  # fmt: skip
