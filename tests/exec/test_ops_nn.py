"""Convolution, pooling, attention and resizing against direct numpy definitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from relax_mlir.dialects.relax.marks import MARKS
from tests.exec.operator_cases import Case, Program, random


def _pairs(padding: Any, ndim: int) -> list[tuple[int, int]]:
    given = [padding] * ndim if isinstance(padding, int) else list(padding)
    if len(given) == 2 * ndim:
        return list(zip(given[:ndim], given[ndim:], strict=True))
    return [(p, p) for p in given]


def convolve(
    x: Any, w: Any, strides: Any, padding: Any, dilation: Any, groups: int = 1
) -> np.ndarray:
    """Convolution of NC... data with an OI... kernel."""
    ndim = x.ndim - 2
    pads = _pairs(padding, ndim)
    data = np.pad(x.astype("float64"), [(0, 0), (0, 0), *pads])
    kernel = w.shape[2:]
    out = [
        (data.shape[2 + i] - (kernel[i] - 1) * dilation[i] - 1) // strides[i] + 1
        for i in range(ndim)
    ]
    result = np.zeros((x.shape[0], w.shape[0], *out))
    per_group, inner = w.shape[0] // groups, w.shape[1]
    for place in itertools.product(*map(range, kernel)):
        window = tuple(
            slice(k * d, k * d + (o - 1) * s + 1, s)
            for k, d, o, s in zip(place, dilation, out, strides, strict=True)
        )
        for g in range(groups):
            part = data[(slice(None), slice(g * inner, (g + 1) * inner), *window)]
            taps = w[(slice(g * per_group, (g + 1) * per_group), slice(None), *place)]
            own = slice(g * per_group, (g + 1) * per_group)
            result[:, own] += np.einsum("nc...,oc->no...", part, taps)
    return result.astype(x.dtype)


def transposed(
    x: Any, w: Any, strides: Any, padding: Any, extra: Any, dilation: Any, groups: int = 1
) -> np.ndarray:
    """Transposed convolution of NC... data with an IO... kernel."""
    ndim = x.ndim - 2
    pads, kernel = _pairs(padding, ndim), w.shape[2:]
    full = [
        (x.shape[2 + i] - 1) * strides[i] + (kernel[i] - 1) * dilation[i] + 1 + extra[i]
        for i in range(ndim)
    ]
    outer, inner = w.shape[1], x.shape[1] // groups
    result = np.zeros((x.shape[0], outer * groups, *full))
    for place in itertools.product(*map(range, kernel)):
        window = tuple(
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(place, dilation, x.shape[2:], strides, strict=True)
        )
        for g in range(groups):
            part = x[:, g * inner : (g + 1) * inner].astype("float64")
            taps = w[(slice(g * inner, (g + 1) * inner), slice(None), *place)]
            own = (slice(None), slice(g * outer, (g + 1) * outer), *window)
            result[own] += np.einsum("nc...,co->no...", part, taps)
    cut = tuple(slice(p[0], n - p[1]) for p, n in zip(pads, full, strict=True))
    return result[(slice(None), slice(None), *cut)].astype(x.dtype)


def _convolution_cases() -> list[Case]:
    def case(
        ndim: int,
        x: Any,
        w: Any,
        strides: int = 1,
        padding: Any = 0,
        dilation: int = 1,
        groups: int = 1,
        **more: Any,
    ) -> Case:
        steps, holes = [strides] * ndim, [dilation] * ndim
        pads = [padding] * ndim if isinstance(padding, int) else padding
        return Case(
            f"nn.conv{ndim}d",
            [x, w],
            lambda x, w: convolve(x, w, steps, pads, holes, groups),
            {"strides": steps, "padding": pads, "dilation": holes, "groups": groups},
            **more,
        )

    images = [[random((n, 3, 8, 9)), random((4, 3, 3, 3))] for n in (1, 2, 5)]
    cases = [
        case(2, random((2, 3, 8, 9)), random((4, 3, 3, 3))),
        case(2, random((1, 3, 9, 9)), random((4, 3, 3, 3)), 2, 1),
        case(2, random((1, 3, 9, 9)), random((4, 3, 2, 3)), 1, [0, 1, 2, 3]),
        case(2, random((1, 3, 11, 9)), random((4, 3, 3, 3)), 1, 2, 2),
        case(2, random((1, 4, 7, 7)), random((6, 2, 3, 3)), 1, 1, 1, 2),
        case(2, random((1, 5, 7, 7)), random((5, 1, 3, 3)), 1, 1, 1, 5),
        case(2, random((1, 8, 4, 4)), random((16, 8, 1, 1))),
        case(2, *images[0], 1, 1, dims={0: ("n", 3, 8, 9)}, calls=images),
        case(1, random((2, 3, 17)), random((4, 3, 5)), 2, 2),
        case(3, random((1, 2, 4, 5, 6)), random((3, 2, 2, 3, 3)), 1, 1),
    ]
    rows = [[random((1, 3, n, 7)), random((2, 3, 3, 3))] for n in (3, 8, 13)]
    cases.append(case(2, *rows[0], 2, 1, dims={0: (1, 3, "m", 7)}, calls=rows))
    x, w = random((2, 3, 8, 9)), random((4, 3, 3, 3))
    cases.append(
        Case(
            "nn.conv2d",
            [x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy()],
            lambda x, w: (
                convolve(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), (1, 1), (1, 1), (1, 1))
                .transpose(0, 2, 3, 1)
                .copy()
            ),
            {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": [1, 1]},
        )
    )
    for ndim, x, w, strides, padding, extra, dilation, groups in (
        (2, random((2, 3, 4, 5)), random((3, 4, 3, 3)), 2, 1, 1, 1, 1),
        (2, random((1, 4, 4, 4)), random((4, 3, 2, 2)), 1, 0, 0, 2, 2),
        (1, random((2, 3, 6)), random((3, 2, 4)), 3, 1, 0, 1, 1),
        (3, random((1, 2, 3, 3, 2)), random((2, 2, 2, 2, 2)), 2, 0, 0, 1, 1),
    ):
        steps, pads = [strides] * ndim, [padding] * ndim
        more, holes = [extra] * ndim, [dilation] * ndim
        cases.append(
            Case(
                f"nn.conv{ndim}d_transpose",
                [x, w],
                lambda x, w, s=steps, p=pads, m=more, d=holes, g=groups: transposed(
                    x, w, s, p, m, d, g
                ),
                {
                    "strides": steps,
                    "padding": pads,
                    "output_padding": more,
                    "dilation": holes,
                    "groups": groups,
                },
            )
        )
    return cases  # fmt: skip


def pool(
    x: Any,
    kind: str,
    size: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> np.ndarray:
    """Pooling of NC... data, window by window."""
    ndim = x.ndim - 2
    pads = _pairs(padding, ndim)
    out = []
    for i in range(ndim):
        room = x.shape[2 + i] + sum(pads[i]) - (size[i] - 1) * dilation[i] - 1
        count = (-(-room // strides[i]) if ceil_mode else room // strides[i]) + 1
        if ceil_mode and (count - 1) * strides[i] >= x.shape[2 + i] + pads[i][0]:
            count -= 1
        out.append(count)
    result = np.zeros((*x.shape[:2], *out))
    for place in itertools.product(*map(range, out)):
        inside, counted = [], 1
        for i, o in enumerate(place):
            first = o * strides[i] - pads[i][0]
            reach = [first + k * dilation[i] for k in range(size[i])]
            inside.append([r for r in reach if 0 <= r < x.shape[2 + i]])
            limit = x.shape[2 + i] + pads[i][1]
            padded = [r for r in reach if r < limit]
            counted *= len(padded if count_include_pad else inside[-1])
        window = x[(slice(None), slice(None), *np.ix_(*inside))]
        axes = tuple(range(2, x.ndim))
        total = window.max(axes) if kind == "max" else window.sum(axes, dtype="float64") / counted
        result[(slice(None), slice(None), *place)] = total
    return result.astype(x.dtype)  # fmt: skip


def adaptive(x: Any, wanted: Any) -> np.ndarray:
    result = np.zeros((*x.shape[:2], *wanted))
    for place in itertools.product(*map(range, wanted)):
        window = [
            slice(o * n // w, -(-(o + 1) * n // w))
            for o, n, w in zip(place, x.shape[2:], wanted, strict=True)
        ]
        part = x[(slice(None), slice(None), *window)]
        result[(slice(None), slice(None), *place)] = part.mean(tuple(range(2, x.ndim)))
    return result.astype(x.dtype)


def _pooling_cases() -> list[Case]:
    cases = []
    for kind in ("max", "avg"):
        for size, strides, padding, dilation, ceil, counted in (
            (2, 2, 0, 1, False, False),
            (3, 2, 1, 1, False, False),
            (3, 2, 1, 1, True, True),
            (2, 1, 1, 2, False, True),
            (3, 3, 0, 1, True, False),
        ):
            window, steps = [size, size], [strides, strides]
            pads, holes = [padding, padding], [dilation, dilation]
            cases.append(
                Case(
                    f"nn.{kind}_pool2d",
                    [random((2, 3, 8, 9))],
                    lambda x, k=kind, w=window, s=steps, p=pads, d=holes, c=ceil, n=counted: pool(
                        x, k, w, s, p, d, c, n
                    ),
                    {
                        "pool_size": window,
                        "strides": steps,
                        "padding": pads,
                        "dilation": holes,
                        "ceil_mode": ceil,
                        "count_include_pad": counted,
                    },
                )
            )
        cases.append(
            Case(
                f"nn.{kind}_pool1d",
                [random((2, 3, 9))],
                lambda x, k=kind: pool(x, k, [3], [2], [1], [1], count_include_pad=True),
                {"pool_size": [3], "strides": [2], "padding": [1], "count_include_pad": True},
            )
        )
        cases.append(
            Case(
                f"nn.{kind}_pool3d",
                [random((1, 2, 4, 5, 6))],
                lambda x, k=kind: pool(x, k, [2] * 3, [2] * 3, [0] * 3, [1] * 3),
                {"pool_size": [2] * 3, "strides": [2] * 3},
            )
        )
        batches = [[random((n, 2, 6, 6))] for n in (1, 3)]
        cases.append(
            Case(
                f"nn.{kind}_pool2d",
                batches[0],
                lambda x, k=kind: pool(x, k, [2, 2], [2, 2], [0, 0], [1, 1]),
                {"pool_size": [2, 2], "strides": [2, 2]},
                {0: ("n", 2, 6, 6)},
                calls=batches,
            )
        )
    for shape, wanted in (((2, 3, 8, 9), (1, 1)), ((2, 3, 8, 9), (3, 4)), ((1, 2, 6, 6), (2, 3))):
        cases.append(
            Case(
                "nn.adaptive_avg_pool2d",
                [random(shape)],
                lambda x, w=wanted: adaptive(x, w),
                {"output_size": list(wanted)},
            )
        )
    cases.append(
        Case(
            "nn.adaptive_avg_pool1d",
            [random((2, 3, 7))],
            lambda x: adaptive(x, (3,)),
            {"output_size": [3]},
        )
    )
    cases.append(
        Case(
            "nn.adaptive_avg_pool3d",
            [random((1, 2, 3, 4, 5))],
            lambda x: adaptive(x, (2, 2, 2)),
            {"output_size": [2, 2, 2]},
        )
    )
    return cases  # fmt: skip


def attend(q: Any, k: Any, v: Any, bias: Any = None, scale: Any = None, mask: Any = None) -> Any:
    scores = np.einsum("bihd,bjhd->bhij", q.astype("float64"), k)
    scores *= 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        offset = k.shape[1] - q.shape[1] if mask == "BottomRight" else 0
        seen = np.arange(k.shape[1])[None] <= np.arange(q.shape[1])[:, None] + offset
        scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhij,bjhd->bihd", weights, v).astype(q.dtype)


def _attention_cases() -> list[Case]:
    q, k, v = random((2, 5, 3, 8)), random((2, 7, 3, 8)), random((2, 7, 3, 6))
    calls = [[random((2, n, 3, 8)), random((2, n, 3, 8)), random((2, n, 3, 8))] for n in (1, 4, 17)]
    dims = dict.fromkeys(range(3), (2, "n", 3, 8))
    return [
        Case("nn.attention", [q, k, v], attend),
        Case("nn.attention", [q, k, v], lambda *a: attend(*a, scale=0.3), {"scale": 0.3}),
        Case("nn.attention", [q, k, v], lambda *a: attend(*a, mask="TopLeft"),
             {"causal_mask": "TopLeft"}),
        Case("nn.attention", [q, k, v], lambda *a: attend(*a, mask="BottomRight"),
             {"causal_mask": "BottomRight"}),
        Case("nn.attention_bias", [q, k, v, random((2, 1, 5, 7))], attend),
        Case("nn.attention", calls[1], attend, {}, dims, calls=calls),
    ]  # fmt: skip


def resize(x: Any, size: Any, method: str, mode: str) -> np.ndarray:
    """Resampling of NC... data, one dimension after the other."""
    data = x.astype("float64")
    for axis, wanted in zip(range(2, x.ndim), size, strict=True):
        n = data.shape[axis]
        i = np.arange(wanted, dtype="float64")
        at = {
            "half_pixel": (i + 0.5) * n / wanted - 0.5,
            "asymmetric": i * n / wanted,
            "align_corners": i * ((n - 1) / max(wanted - 1, 1)),
        }[mode]
        moved = np.moveaxis(data, axis, -1)
        if method == "nearest_neighbor":
            mixed = moved[..., np.clip(np.floor(at + 0.5), 0, n - 1).astype(int)]
        else:
            low = np.floor(at)
            part = at - low
            taps = (0, 1) if method == "linear" else (-1, 0, 1, 2)
            weights = [1 - part, part] if method == "linear" else _cubic_weights(part)
            mixed = sum(
                moved[..., np.clip(low + tap, 0, n - 1).astype(int)] * weight
                for tap, weight in zip(taps, weights, strict=True)
            )
        data = np.moveaxis(mixed, -1, axis)
    return np.ascontiguousarray(data).astype(x.dtype)


def _cubic_weights(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    def weight(d: np.ndarray) -> np.ndarray:
        near = (a + 2) * d**3 - (a + 3) * d**2 + 1
        return np.where(d <= 1, near, a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a)

    return [weight(1 + t), weight(t), weight(1 - t), weight(2 - t)]


def _resize_cases() -> list[Case]:
    volumes = [
        Case(
            "image.resize3d",
            [random((1, 2, 3, 4, 5)), (6, 3, 7)],
            lambda x, s, m=method: resize(x, s, m, "half_pixel"),
            {"method": method},
            tolerance=1e-4,
        )
        for method in ("nearest_neighbor", "linear")
    ]
    return volumes + [
        Case("image.resize2d", [random((1, 2, 5, 6)), size],
             lambda x, s, m=method, c=mode: resize(x, s, m, c),
             {"method": method, "coordinate_transformation_mode": mode}, tolerance=1e-4)
        for method in ("nearest_neighbor", "linear", "cubic")
        for mode in ("half_pixel", "asymmetric", "align_corners")
        for size in ((10, 12), (3, 7))
    ]  # fmt: skip


def affine_grid(matrices: Any, size: Any, align_corners: bool) -> np.ndarray:
    axes = [
        np.arange(n) * 2 / max(n - 1, 1) - 1 if align_corners else (np.arange(n) * 2 + 1) / n - 1
        for n in size
    ]
    y, x = np.meshgrid(*axes, indexing="ij")
    ones = np.stack([x, y, np.ones_like(x)])
    return np.einsum("bdk,khw->bdhw", matrices, ones).astype("float32")


def grid_sample(x: Any, grid: Any, method: str, padding: str, align_corners: bool) -> np.ndarray:
    """Sampling pixel by pixel, as torch.nn.functional.grid_sample defines it."""
    n, c, h, w = x.shape
    result = np.zeros((n, c, *grid.shape[2:]))

    def reflect(i: int, size: int) -> int:
        period = max(2 * size - 2, 1) if align_corners else 2 * size
        i %= period
        return min(i, period - i if align_corners else period - 1 - i)

    def read(b: int, i: int, j: int) -> Any:
        if padding == "zeros" and not (0 <= i < h and 0 <= j < w):
            return 0.0
        if padding == "reflection":
            i, j = reflect(i, h), reflect(j, w)
        return x[b, :, min(max(i, 0), h - 1), min(max(j, 0), w - 1)].astype("float64")

    def taps(at: float) -> list[tuple[int, float]]:
        if method == "nearest":
            return [(int(np.rint(at)), 1.0)]
        low = int(np.floor(at))
        if method == "bilinear":
            return [(low, 1 - (at - low)), (low + 1, at - low)]
        weights = [float(v) for v in _cubic_weights(np.float64(at - low))]
        return list(zip(range(low - 1, low + 3), weights, strict=True))

    for b, i, j in np.ndindex(n, *grid.shape[2:]):
        sizes = (w, h)
        at = [
            (g + 1) * (s - 1) / 2 if align_corners else ((g + 1) * s - 1) / 2
            for g, s in zip(grid[b, :, i, j].astype("float64"), sizes, strict=True)
        ]
        for (row, a), (column, e) in itertools.product(taps(at[1]), taps(at[0])):
            result[b, :, i, j] += read(b, row, column) * a * e
    return result.astype("float32")


def _sampling_cases() -> list[Case]:
    cases = [
        Case(
            "image.affine_grid",
            [random((2, 2, 3)), (4, 5)],
            lambda m, s, a=align: affine_grid(m, s, a),
            {"align_corners": align},
        )
        for align in (True, False)
    ]
    for method in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (True, False):
                attributes = {"method": method, "padding_mode": padding, "align_corners": align}
                cases.append(
                    Case(
                        "image.grid_sample",
                        [random((2, 3, 5, 6)), random((2, 2, 3, 4), low=-1.4, high=1.4)],
                        lambda x, g, m=method, p=padding, a=align: grid_sample(x, g, m, p, a),
                        attributes,
                        tolerance=2e-4,
                    )
                )
    prob = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]], "float32")
    sample = np.array([[0.05], [0.15], [0.95], [0.6], [1.0]], "float32")
    row = np.array([[0], [0], [0], [1], [1]], "int64")
    cases.append(
        Case(
            "multinomial_from_uniform",
            [prob, sample, row],
            lambda *_: np.array([[0], [1], [2], [1], [2]], "int64"),
        )
    )
    cases += [Case(name, [random((3, 4))], lambda x: x) for name in MARKS]
    return cases  # fmt: skip


CONVOLUTION = Program(_convolution_cases())
POOLING = Program(_pooling_cases())
ATTENTION = Program([*_attention_cases(), *_resize_cases()])
SAMPLING = Program(_sampling_cases())


@pytest.mark.parametrize("case", CONVOLUTION.cases, ids=repr)
def test_convolution(case: Case) -> None:
    CONVOLUTION.check(case)


@pytest.mark.parametrize("case", POOLING.cases, ids=repr)
def test_pooling(case: Case) -> None:
    POOLING.check(case)


@pytest.mark.parametrize("case", ATTENTION.cases, ids=repr)
def test_attention_and_resize(case: Case) -> None:
    ATTENTION.check(case)


@pytest.mark.parametrize("case", SAMPLING.cases, ids=repr)
def test_sampling(case: Case) -> None:
    SAMPLING.check(case)
