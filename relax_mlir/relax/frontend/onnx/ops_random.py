"""Converters for random numbers, and for dropout in training.

A `seed` makes each call of the program draw the same numbers; without one they are the process's,
which `relax_mlir.runtime.seed` makes repeatable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.onnx.attributes import dtype_name
from relax_mlir.relax.frontend.onnx.node import Converter, Node, Row
from relax_mlir.relax.frontend.random_numbers import classes, draw, seed_words
from relax_mlir.topi import random


def _drawn(
    node: Node, function: Callable[..., Any], shape: Sequence[Dim], dtype: str, **options: Any
) -> Any:
    if dtype not in ("float16", "bfloat16", "float32", "float64"):
        node.refuse(f"random numbers of {dtype}; floating ones are drawn")
    given, builder = node.attr("seed"), node.importer.block_builder
    key = None if given is None else node.const(seed_words(float(given)))
    return draw(builder, function, list(shape), key, dtype=dtype, **options)


def _named_dtype(node: Node, otherwise: str) -> str:
    given = node.attr("dtype")
    return otherwise if given is None else dtype_name(int(given))


def _of_shape(numbers: Callable[[Node, Sequence[Dim], str], Any]) -> Converter:
    def convert(node: Node) -> Any:
        shape = node.attr("shape")
        if shape is None:
            node.refuse("needs the attribute 'shape'")
        return numbers(node, [int(size) for size in shape], _named_dtype(node, "float32"))

    return convert


def _like(numbers: Callable[[Node, Sequence[Dim], str], Any]) -> Converter:
    def convert(node: Node) -> Any:
        x = node.tensor(0)
        return numbers(node, node.shape(x), _named_dtype(node, node.dtype(x)))

    return convert


def _normal(node: Node, shape: Sequence[Dim], dtype: str) -> Any:
    mean, deviation = (float(node.attr(k, v)) for k, v in (("mean", 0.0), ("scale", 1.0)))
    return _drawn(node, random.normal, shape, dtype, mean=mean, std=deviation)


def _uniform(node: Node, shape: Sequence[Dim], dtype: str) -> Any:
    low, high = (float(node.attr(k, v)) for k, v in (("low", 0.0), ("high", 1.0)))
    return _drawn(node, random.uniform, shape, dtype, low=low, high=high)


def bernoulli(node: Node) -> Any:
    """1 with the probability that the input has there, else 0."""
    x = node.tensor(0)
    sample = _drawn(node, random.uniform, node.shape(x), node.dtype(x))
    return node.cast(node.ops.less(sample, x), _named_dtype(node, node.dtype(x)))


def multinomial(node: Node) -> Any:
    """Classes drawn with replacement; the input has the logarithms of their weights."""
    x, dtype = node.tensor(0), _named_dtype(node, "int32")
    if dtype not in ("int32", "int64"):
        node.refuse(f"classes as {dtype}; int32 and int64 are what ONNX has")
    node.shape_of_rank(x, 2)
    count, given = int(node.attr("sample_size", 1)), node.attr("seed")
    key = None if given is None else node.const(seed_words(float(given)))
    return node.cast(node.emit(classes(node.importer.block_builder, x, count, key)), dtype)


def dropout(node: Node) -> Any:
    """In inference the input itself, and a mask of true; in training a part `ratio` is dropped, and
    the rest scaled so that the mean stays."""
    x, training = node.value(0), node.value(2)
    ratio = 0.0
    if training is not None and bool(node.array(2, "training_mode").reshape(-1)[0]):
        ratio = float(node.scalar(1, 0.5))
    if ratio == 0:
        if not node.wants(1):
            return x
        dims = node.importer.shape_expr(node.shape(x))
        return [x, node.ops.full(dims, node.const(True), "bool")]
    if not 0 < ratio < 1:
        node.refuse(f"the ratio of what is dropped is in [0, 1), given {ratio}")
    x = node.tensor(0)
    sample = _drawn(node, random.uniform, node.shape(x), node.dtype(x))
    kept = node.ops.greater_equal(sample, node.like(ratio, x))
    scaled = node.ops.multiply(x, node.like(1 / (1 - ratio), x))
    result = node.ops.where(kept, scaled, node.like(0.0, x))
    return [result, kept] if node.wants(1) else result


CONVERTERS: dict[str, Row] = {
    "RandomNormal": _of_shape(_normal),
    "RandomNormalLike": _like(_normal),
    "RandomUniform": _of_shape(_uniform),
    "RandomUniformLike": _like(_uniform),
    "Bernoulli": bernoulli,
    "Multinomial": multinomial,
    "Dropout": dropout,
}
