"""Regions, boxes and non-maximum suppression; gradients of pooling, losses and take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.exec.operator_cases import Case, Program, random


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    shared = np.prod(np.maximum(high - low, 0))
    union = np.prod(np.abs(a[2:] - a[:2])) + np.prod(np.abs(b[2:] - b[:2])) - shared
    return float(shared / union) if union > 0 else 0.0


def _bilinear(image: np.ndarray, y: float, x: float) -> np.ndarray:
    height, width = image.shape[1:]
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(image.shape[0])
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    upper = image[:, top, left] * (1 - dx) + image[:, top, right] * dx
    lower = image[:, bottom, left] * (1 - dx) + image[:, bottom, right] * dx
    return upper * (1 - dy) + lower * dy


def _roi_align(size: int, scale: float, ratio: int, aligned: bool, mode: str) -> Any:
    def reference(data: np.ndarray, rois: np.ndarray) -> np.ndarray:
        out = np.zeros((len(rois), data.shape[1], size, size))
        shift = 0.5 if aligned else 0.0
        for r, (batch, *box) in enumerate(rois):
            x1, y1, x2, y2 = np.asarray(box) * scale - shift
            height, width = y2 - y1, x2 - x1
            if not aligned:
                height, width = max(height, 1), max(width, 1)
            ph, pw = height / size, width / size
            ny = ratio if ratio > 0 else int(np.ceil(ph))
            nx = ratio if ratio > 0 else int(np.ceil(pw))
            for i in range(size):
                for j in range(size):
                    samples = [
                        _bilinear(
                            data[int(batch)],
                            y1 + i * ph + (a + 0.5) * ph / ny,
                            x1 + j * pw + (b + 0.5) * pw / nx,
                        )
                        for a in range(ny)
                        for b in range(nx)
                    ]
                    out[r, :, i, j] = np.max(samples, 0) if mode == "max" else np.mean(samples, 0)
        return out.astype(data.dtype)

    return reference


def _roi_pool(size: int, scale: float) -> Any:
    def reference(data: np.ndarray, rois: np.ndarray) -> np.ndarray:
        height, width = data.shape[2:]
        out = np.zeros((len(rois), data.shape[1], size, size), data.dtype)
        for r, (batch, *box) in enumerate(rois):
            x1, y1, x2, y2 = np.floor(np.asarray(box) * scale + 0.5)
            ph, pw = max(y2 - y1 + 1, 1) / size, max(x2 - x1 + 1, 1) / size
            for i in range(size):
                for j in range(size):
                    rows = np.clip([np.floor(i * ph) + y1, np.ceil((i + 1) * ph) + y1], 0, height)
                    cols = np.clip([np.floor(j * pw) + x1, np.ceil((j + 1) * pw) + x1], 0, width)
                    (top, bottom), (left, right) = rows.astype(int), cols.astype(int)
                    part = data[int(batch), :, top:bottom, left:right]
                    if part.size:
                        out[r, :, i, j] = part.max(axis=(1, 2))
        return out

    return reference


def _rois(count: int, batch: int, size: float) -> np.ndarray:
    corners = random((count, 2, 2), low=0, high=size)
    ordered = np.sort(corners, axis=1).reshape(count, 4)
    index = random((count, 1), "int64", 0, batch - 1).astype("float32")
    return np.concatenate([index, ordered], 1)


DATA = random((2, 3, 9, 11))
ROIS = _rois(5, 2, 18)

REGIONS = Program([
    Case("vision.roi_align", [DATA, ROIS], _roi_align(3, 0.5, ratio, aligned, mode),
         {"pooled_size": [3, 3], "spatial_scale": 0.5, "sample_ratio": ratio, "aligned": aligned,
          "mode": mode}, tolerance=1e-4)
    for ratio, aligned, mode in ((2, False, "avg"), (-1, True, "avg"), (2, True, "max"))
] + [
    Case("vision.roi_pool", [DATA, ROIS], _roi_pool(3, 0.5),
         {"pooled_size": [3, 3], "spatial_scale": 0.5}),
])  # fmt: skip


def _boxes(batch: int, count: int) -> np.ndarray:
    corners = np.sort(random((batch, count, 2, 2), low=0, high=4), axis=2)
    return corners.reshape(batch, count, 4)


def _valid_counts(data: np.ndarray) -> list[np.ndarray]:
    batch, count, _ = data.shape
    moved, places = np.full_like(data, -1), np.full((batch, count), -1, "int32")
    counts = np.zeros(batch, "int32")
    for b in range(batch):
        kept = [i for i in range(count) if data[b, i, 1] > 0.3 and data[b, i, 0] >= 0]
        counts[b] = len(kept)
        moved[b, : len(kept)] = data[b, kept]
        places[b, : len(kept)] = kept
    return [counts, moved, places]


def _detections(batch: int, count: int) -> np.ndarray:
    classes = random((batch, count, 1), "int64", -1, 1).astype("float32")
    scores = random((batch, count, 1), low=0, high=1)
    return np.concatenate([classes, scores, _boxes(batch, count)], 2)


def _kept(data: np.ndarray, count: int, limit: float, forced: bool, top_k: int) -> list[int]:
    order = sorted(range(count), key=lambda i: (-data[i, 1], i))
    order = order[:top_k] if top_k > 0 else order
    kept: list[int] = []
    for i in order:
        rivals = [j for j in kept if forced or data[i, 0] == data[j, 0]]
        if all(_iou(data[i, 2:], data[j, 2:]) < limit for j in rivals):
            kept.append(i)
    return kept


def _suppressed(limit: float, forced: bool, top_k: int, most: int) -> Any:
    def reference(data: np.ndarray, counts: np.ndarray, places: np.ndarray) -> list[np.ndarray]:
        out = np.full(places.shape, -1, "int32")
        numbers = np.zeros((len(data), 1), "int32")
        for b, boxes in enumerate(data):
            kept = _kept(boxes, counts[b], limit, forced, top_k)
            kept = kept[:most] if most > 0 else kept
            out[b, : len(kept)] = places[b, kept]
            numbers[b] = len(kept)
        return [out, numbers]

    return reference


def _moved(data: np.ndarray, counts: np.ndarray, places: np.ndarray) -> np.ndarray:
    out = np.full_like(data, -1)
    for b, boxes in enumerate(data):
        kept = _kept(boxes, counts[b], 0.5, False, -1)
        out[b, : len(kept)] = boxes[kept]
    return out


FOUND = _detections(2, 17)
COUNTS, PLACES = np.array([17, 9], "int32"), np.tile(np.arange(17, dtype="int32"), (2, 1))

BOXES, SCORES = _boxes(2, 13), random((2, 3, 13), low=0, high=1)


def _all_classes(boxes: np.ndarray, scores: np.ndarray, *_: Any) -> list[np.ndarray]:
    rows = []
    for b, c in np.ndindex(scores.shape[:2]):
        kept: list[int] = []
        for i in np.argsort(-scores[b, c], kind="stable"):
            fits = all(_iou(boxes[b, i], boxes[b, j]) <= 0.4 for j in kept)
            if scores[b, c, i] > 0.2 and fits and len(kept) < 4:
                kept.append(int(i))
        rows += [(b, c, i) for i in kept]
    return [np.array(rows, "int64").reshape(-1, 3), np.array([len(rows)])]


LIMITS = [np.array(4), np.array(0.4, "float32"), np.array(0.2, "float32")]

SUPPRESSION = Program([
    Case("vision.get_valid_counts", [FOUND], _valid_counts, {"score_threshold": 0.3}),
    Case("vision.non_max_suppression", [FOUND, COUNTS, PLACES], _suppressed(0.5, False, -1, -1)),
    Case("vision.non_max_suppression", [FOUND, COUNTS, PLACES], _suppressed(0.3, True, 8, 3),
         {"iou_threshold": 0.3, "force_suppress": True, "top_k": 8, "max_output_size": 3}),
    Case("vision.non_max_suppression", [FOUND, COUNTS, PLACES], _moved,
         {"return_indices": False, "invalid_to_bottom": True}),
    Case("vision.all_class_non_max_suppression", [BOXES, SCORES, *LIMITS], _all_classes),
])  # fmt: skip


def _multibox(scores: np.ndarray, offsets: np.ndarray, anchor: np.ndarray) -> list[np.ndarray]:
    x, y, w, h = np.moveaxis(offsets.reshape(len(scores), -1, 4), 2, 0)
    left, top, right, bottom = np.moveaxis(anchor, 2, 0)
    cy = y * 0.2 * (bottom - top) + (top + bottom) / 2
    cx = x * 0.1 * (right - left) + (left + right) / 2
    hh, hw = np.exp(h * 0.4) * (bottom - top) / 2, np.exp(w * 0.3) * (right - left) / 2
    boxes = np.clip(np.stack([cy - hh, cx - hw, cy + hh, cx + hw], 2), 0, 1)
    likely = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    kept = np.where(likely >= 0.2, likely, 0)
    kept[:, 0] = 0
    return [boxes.astype("float32"), kept.astype("float32")]


MULTIBOX = Program([
    Case("vision.multibox_transform_loc",
         [random((2, 3, 5)), random((2, 20)), _boxes(1, 5) / 4], _multibox,
         {"clip": True, "threshold": 0.2, "variances": [0.1, 0.2, 0.3, 0.4],
          "keep_background": False}),
])  # fmt: skip


def _windows(data: np.ndarray, grad: np.ndarray) -> Any:
    """(output position, rows, columns inside the data) of 3x3 windows, stride 2, padding 1."""
    for at in np.ndindex(grad.shape):
        rows = [r for r in range(at[2] * 2 - 1, at[2] * 2 + 2) if 0 <= r < data.shape[2]]
        cols = [c for c in range(at[3] * 2 - 1, at[3] * 2 + 2) if 0 <= c < data.shape[3]]
        yield at, rows, cols


def _max_grad(grad: np.ndarray, data: np.ndarray) -> np.ndarray:
    out = np.zeros_like(data)
    for at, rows, cols in _windows(data, grad):
        places = [(r, c) for r in rows for c in cols]
        best = max(places, key=lambda p: data[at[0], at[1], p[0], p[1]])
        out[at[0], at[1], best[0], best[1]] += grad[at]
    return out


def _avg_grad(include: bool) -> Any:
    def reference(grad: np.ndarray, data: np.ndarray) -> np.ndarray:
        out = np.zeros_like(data)
        for at, rows, cols in _windows(data, grad):
            count = 9 if include else len(rows) * len(cols)
            out[at[0], at[1], rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1] += grad[at] / count
        return out

    return reference


def _nll_grad(reduction: str) -> Any:
    def reference(grad: np.ndarray, x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        weight = np.where(y == 1, 0, w[y])
        share = grad * weight / (weight.sum() if reduction == "mean" else 1)
        for at in np.ndindex(y.shape):
            out[(at[0], y[at], *at[1:])] = -np.broadcast_to(share, y.shape)[at]
        return out

    return reference


def _take_grad(axis: int) -> Any:
    def reference(grad: np.ndarray, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        np.add.at(np.moveaxis(out, axis, 0), indices, np.moveaxis(grad, axis, 0))
        return out

    return reference


POOL = {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1]}
IMAGE, IMAGE_GRAD = random((2, 3, 7, 9)), random((2, 3, 4, 5))
TARGETS = random((4, 3), "int64", 0, 4)
LOSS = {"ignore_index": 1}

GRADIENTS = Program([
    Case("grad.max_pool2d_backward", [IMAGE_GRAD, IMAGE], _max_grad, POOL),
    Case("grad.avg_pool2d_backward", [IMAGE_GRAD, IMAGE], _avg_grad(False), POOL),
    Case("grad.avg_pool2d_backward", [IMAGE_GRAD, IMAGE], _avg_grad(True),
         {**POOL, "count_include_pad": True}),
    Case("grad.nll_loss_backward",
         [np.array(2, "float32"), random((4, 5, 3)), TARGETS, random(5, low=0.1)],
         _nll_grad("mean"), LOSS),
    Case("grad.nll_loss_backward", [random((4, 3)), random((4, 5, 3)), TARGETS, random(5, low=0.1)],
         _nll_grad("none"), {**LOSS, "reduction": "none"}),
    Case("grad.take_backward", [random((4, 6)), random((5, 6)), np.array([1, 4, 1, 0])],
         _take_grad(0), {"axis": 0}),
    Case("grad.take_backward", [random((5, 3)), random((5, 6)), np.array([2, 2, 5], "int32")],
         _take_grad(1), {"axis": 1}),
])  # fmt: skip


@pytest.mark.parametrize("case", REGIONS.cases, ids=repr)
def test_regions(case: Case) -> None:
    REGIONS.check(case)


@pytest.mark.parametrize("case", SUPPRESSION.cases, ids=repr)
def test_suppression(case: Case) -> None:
    SUPPRESSION.check(case)


@pytest.mark.parametrize("case", MULTIBOX.cases, ids=repr)
def test_multibox(case: Case) -> None:
    MULTIBOX.check(case)


@pytest.mark.parametrize("case", GRADIENTS.cases, ids=repr)
def test_gradients(case: Case) -> None:
    GRADIENTS.check(case)
