"""Crops, grayscale dilation and gradients of pooling in topi."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relax_mlir import te, topi
from relax_mlir.errors import Error

from .te_harness import check, run

RNG = np.random.default_rng(13)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def cropped(
    data: np.ndarray, boxes: np.ndarray, images: np.ndarray, size: Any, nearest: bool, value: float
) -> np.ndarray:
    """As TensorFlow defines it, one element after the other."""
    height, width = data.shape[2:]
    out = np.full((len(boxes), data.shape[1], *size), value, "float32")
    for b, i, j in np.ndindex(len(boxes), *size):
        place = []
        for k, (n, full) in enumerate(zip(size, (height, width), strict=True)):
            low, high = boxes[b, k], boxes[b, k + 2]
            part = (high - low) * (full - 1) / (n - 1) if n > 1 else 0
            start = low * (full - 1) if n > 1 else 0.5 * (low + high) * (full - 1)
            place.append(start + (i, j)[k] * part)
        y, x = place
        if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
            continue
        image = data[images[b]]
        if nearest:
            out[b, :, i, j] = image[:, int(np.floor(y + 0.5)), int(np.floor(x + 0.5))]
            continue
        top, left = int(y), int(x)
        bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
        dy, dx = y - top, x - left
        upper = image[:, top, left] * (1 - dx) + image[:, top, right] * dx
        lower = image[:, bottom, left] * (1 - dx) + image[:, bottom, right] * dx
        out[b, :, i, j] = upper * (1 - dy) + lower * dy
    return out


@pytest.mark.parametrize("size", [(3, 4), (1, 5), (6, 1)])
@pytest.mark.parametrize("method", ["bilinear", "nearest_neighbor"])
def test_crops(size: Any, method: str) -> None:
    data = draw(2, 3, 7, 6)
    corners = [[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [0.9, 0.8, 0.2, 0.1], [-0.3, 0, 0.5, 1.4]]
    boxes = np.array(corners, "float32")
    images = np.array([0, 1, 1, 0])
    nearest = method == "nearest_neighbor"
    expected = cropped(data, boxes, images, size, nearest, 2.5)
    check(
        lambda d, b, i: topi.image.crop_and_resize(d, b, i, size, "NCHW", method, 2.5),
        lambda *_: expected, data, boxes, images, tolerance=1e-4,
    )  # fmt: skip
    last = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    check(
        lambda d, b, i: topi.image.crop_and_resize(d, b, i, size, "NHWC", method, 2.5),
        lambda *_: expected.transpose(0, 2, 3, 1), last, boxes, images, tolerance=1e-4,
    )  # fmt: skip


def test_grayscale_dilation() -> None:
    def reference(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (2, 2)])
        rows, columns = (padded.shape[2] - 3) // 2 + 1, padded.shape[3] - 4
        out = np.zeros((*x.shape[:2], rows, columns), "float32")
        for i, j in np.ndindex(rows, columns):
            window = padded[:, :, 2 * i : 2 * i + 3, j : j + 5 : 2]
            out[:, :, i, j] = (window + w).max((2, 3))
        return out

    def build(x: Any, w: Any) -> Any:
        return topi.image.dilation2d_nchw(x, w, (2, 1), (1, 2), (1, 2))

    x, w = draw(2, 3, 6, 7), draw(3, 3, 3)
    check(build, reference, x, w)
    check(
        lambda x, w: topi.image.dilation2d_nhwc(x, w, (2, 1), (1, 2), (1, 2)),
        lambda *_: reference(x, w).transpose(0, 2, 3, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(w.transpose(1, 2, 0)),
    )


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_gradients_of_pooling(kind: str) -> None:
    torch = pytest.importorskip("torch")
    x = draw(2, 3, 7, 8)
    leaf = torch.from_numpy(x).requires_grad_()
    pool = torch.nn.functional.max_pool2d if kind == "max" else torch.nn.functional.avg_pool2d
    made = pool(leaf, 3, 2, 1)
    gradient = draw(*made.shape)
    (wanted,) = torch.autograd.grad(made, leaf, torch.from_numpy(gradient))
    check(
        lambda g, x: topi.nn.pool_grad(g, x, (3, 3), (2, 2), (1, 1, 1, 1), kind),
        lambda *_: wanted.numpy(), gradient, x,
    )  # fmt: skip
    with pytest.raises(Error, match="max or avg, not sum"):
        grads, data = te.placeholder((1, 1, 2, 2)), te.placeholder((1, 1, 4, 4))
        topi.nn.pool_grad(grads, data, 2, 2, 0, "sum")


def test_regions_by_layout() -> None:
    data, rois = draw(2, 3, 8, 8), np.array([[0, 1, 1, 6, 5], [1, 0, 2, 7, 7]], "float32")
    p = [te.placeholder(a.shape) for a in (data, rois)]
    plain = run(topi.vision.roi_align(*p, (2, 3), 1.0, "avg", 2), p, data, rois)
    named = run(topi.vision.roi_align_nchw(*p, (2, 3), 1.0, "avg", 2), p, data, rois)
    np.testing.assert_array_equal(plain, named)
    pooled = run(topi.vision.roi_pool_nchw(*p, (2, 2), 1.0), p, data, rois)
    np.testing.assert_array_equal(pooled, run(topi.vision.roi_pool(*p, (2, 2), 1.0), p, data, rois))
    last = np.ascontiguousarray(data.transpose(0, 2, 3, 1))
    p = [te.placeholder(a.shape) for a in (last, rois)]
    turned = run(topi.vision.roi_align_nhwc(*p, (2, 3), 1.0, "avg", 2), p, last, rois)
    np.testing.assert_allclose(turned.transpose(0, 3, 1, 2), plain, rtol=1e-5, atol=1e-6)
