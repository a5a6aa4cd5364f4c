"""Converters for Fourier transforms, as products with matrices of cosines and sines."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.relax.frontend.onnx.node import Node, Row


def _matrices(length: int, bins: int, inverse: bool) -> tuple[np.ndarray, np.ndarray]:
    """cos and -sin (sin for the inverse, scaled by 1 / length) of shape (length, bins)."""
    angle = 2 * np.pi * (np.outer(np.arange(length), np.arange(bins)) % length) / length
    cosine, sine = np.cos(angle), -np.sin(angle)
    return (cosine / length, -sine / length) if inverse else (cosine, sine)


def _resized(node: Node, x: Any, axis: int, length: int) -> Any:
    """Cut or filled with zeros to a length."""
    size = node.static_shape(x)[axis]
    if size > length:
        return node.slice(x, axis, 0, length)
    if size == length:
        return x
    widths = [0] * (2 * node.rank(x))
    widths[2 * axis + 1] = length - size
    return node.ops.nn.pad(x, pad_width=widths, pad_value=0.0)


def dft(node: Node) -> Any:
    """Over one axis of (..., n, ..., 1 or 2); the last axis has the real and imaginary part."""
    x, ops = node.tensor(0), node.ops
    rank = node.rank(x)
    if node.version >= 20:
        given = int(node.array(2, "the axis").reshape(-1)[0]) if node.has(2) else -2
    else:
        given = node.attr("axis", 1)
    axis = node.axis(given, rank)
    onesided, inverse = bool(node.attr("onesided", 0)), bool(node.attr("inverse", 0))
    length = int(node.array(1, "the length").reshape(-1)[0]) if node.has(1) else None
    if inverse and onesided:
        return _inverse_real(node, x, axis, length)
    length = node.static_shape(x)[axis] if length is None else length
    x = _resized(node, x, axis, length)
    bins = length // 2 + 1 if onesided else length
    order = [*(i for i in range(rank - 1) if i != axis), axis]
    parts = [
        node.slice(x, rank - 1, i, i + 1, squeeze=True) for i in range(node.static_shape(x)[-1])
    ]
    parts = [node.permute(part, order) for part in parts]
    cosine, sine = (node.const(m, node.dtype(x)) for m in _matrices(length, bins, inverse))
    real, imaginary = ops.matmul(parts[0], cosine), ops.matmul(parts[0], sine)
    if len(parts) == 2:
        real = ops.subtract(real, ops.matmul(parts[1], sine))
        imaginary = ops.add(imaginary, ops.matmul(parts[1], cosine))
    back = [order.index(i) for i in range(rank - 1)]
    return ops.stack([node.permute(v, back) for v in (real, imaginary)], axis=rank - 1)


def _inverse_real(node: Node, x: Any, axis: int, length: int | None) -> Any:
    """The real signal of `length` samples whose transform starts with the given bins."""
    ops, rank = node.ops, node.rank(x)
    length = 2 * (node.static_shape(x)[axis] - 1) if length is None else length
    bins = length // 2 + 1
    x = _resized(node, x, axis, bins)
    angle = 2 * np.pi * (np.outer(np.arange(bins), np.arange(length)) % length) / length
    # Bins but the first and, for even lengths, the last stand for their conjugates as well.
    weight = np.full((bins, 1), 2.0 / length)
    weight[0] = 1 / length
    if length % 2 == 0:
        weight[-1] = 1 / length
    order = [*(i for i in range(rank - 1) if i != axis), axis]
    parts = [node.slice(x, rank - 1, i, i + 1, squeeze=True) for i in range(2)]
    parts = [node.permute(part, order) for part in parts]
    cosine, sine = (node.const(weight * m, node.dtype(x)) for m in (np.cos(angle), np.sin(angle)))
    signal = ops.subtract(ops.matmul(parts[0], cosine), ops.matmul(parts[1], sine))
    back = [order.index(i) for i in range(rank - 1)]
    return ops.expand_dims(node.permute(signal, back), axis=[rank - 1])


def stft(node: Node) -> Any:
    """Frames of the signal, times the window, transformed: (batch, frames, bins, 2)."""
    signal, ops = node.tensor(0), node.ops
    step = int(node.array(1, "the frame step").reshape(-1)[0])
    window = node.optional(2)
    if node.has(3):
        length = int(node.array(3, "the frame length").reshape(-1)[0])
    else:
        length = node.static_shape(window)[0]
    batch, size, *parts = node.static_shape(signal)
    if parts and parts[0] == 2:
        node.refuse("a complex signal")
    signal = node.reshape(signal, [batch, size])
    frames = (size - length) // step + 1
    index = np.arange(frames)[:, None] * step + np.arange(length)
    picked = ops.take(signal, node.const(index.reshape(-1), "int64"), axis=1)
    picked = node.reshape(picked, [batch, frames, length])
    if window is not None:
        picked = ops.multiply(picked, window)
    bins = length // 2 + 1 if node.attr("onesided", 1) else length
    matrices = [node.const(m, node.dtype(signal)) for m in _matrices(length, bins, False)]
    return ops.stack([ops.matmul(picked, m) for m in matrices], axis=3)


def mel_weights(node: Node) -> Any:
    """Of known parameters, which fold.py has computed then."""
    for index in range(len(node.inputs)):
        node.array(index)
    node.refuse("its parameters are known, but ONNX's reference does not compute it")


CONVERTERS: dict[str, Row] = {"DFT": dft, "MelWeightMatrix": mel_weights, "STFT": stft}
"""By operator; see `node.Row`."""
