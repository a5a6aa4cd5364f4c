"""Gradients of matmul and the operators of networks."""

from __future__ import annotations

from typing import Any

from relax_mlir.lowering.relax.gradients.rules import Gradient, Step, gradient
from relax_mlir.lowering.relax.rewriting import dtype_of
from relax_mlir.mlir import ir


def _transposed(s: Step, value: ir.Value) -> ir.Value:
    rank = len(s.dims(value))
    return s("permute_dims", value, axes=[*range(rank - 2), rank - 1, rank - 2])


@gradient("matmul")
def matmul(s: Step, grad: ir.Value) -> list[Gradient]:
    a, b = s.operands
    rank_a, rank_b = len(s.dims(a)), len(s.dims(b))
    # Vectors as matrices, as matmul takes them.
    if rank_b == 1:
        grad, b = s("expand_dims", grad, axis=[-1]), s("expand_dims", b, axis=[1])
    if rank_a == 1:
        grad, a = s("expand_dims", grad, axis=[-2]), s("expand_dims", a, axis=[0])
    of_a = s("matmul", grad, _transposed(s, b))
    of_b = s("matmul", _transposed(s, a), grad)
    of_a = s("squeeze", of_a, axis=[len(s.dims(of_a)) - 2]) if rank_a == 1 else of_a
    of_b = s("squeeze", of_b, axis=[len(s.dims(of_b)) - 1]) if rank_b == 1 else of_b
    return [of_a, of_b]


@gradient("outer")
def outer(s: Step, grad: ir.Value) -> list[Gradient]:
    a, b = s.operands
    return [s("matmul", grad, b), s("matmul", a, grad)]


@gradient("nn.softmax")
def softmax(s: Step, grad: ir.Value) -> list[Gradient]:
    axis = int(s.attributes["axis"])
    weighted = s("multiply", grad, s.result)
    total = s("sum", weighted, axis=[axis], keepdims=True)
    return [s("subtract", weighted, s("multiply", total, s.result))]


@gradient("nn.log_softmax")
def log_softmax(s: Step, grad: ir.Value) -> list[Gradient]:
    axis = int(s.attributes["axis"])
    total = s("sum", grad, axis=[axis], keepdims=True)
    return [s("subtract", grad, s("multiply", total, s("exp", s.result)))]


@gradient("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(s: Step, grad: ir.Value) -> list[Gradient]:
    predictions, labels = s.operands
    dims = s.dims(predictions)
    scale = s("negative", grad)
    if len(dims) > 1:
        if not isinstance(dims[0], int):
            raise s.refuse(f"of a batch whose size '{dims[0]}' is not known")
        scale = s("divide", scale, s.number(float(dims[0]), grad))
    return [s("multiply", scale, labels), s("multiply", scale, predictions)]


@gradient("nn.nll_loss")
def nll_loss(s: Step, grad: ir.Value) -> list[Gradient]:
    """Of predictions of shape (C,) or (N, C); the weights have no gradient."""
    predictions, targets, weights = s.operands
    dims = s.dims(predictions)
    classes = dims[-1] if dims else None
    if len(dims) > 2 or not isinstance(classes, int):
        raise s.refuse("of predictions with more axes than batch and classes")
    dtype = dtype_of(predictions)
    ignored, reduction = s.attributes["ignore_index"], s.attributes["reduction"]
    kept = s("not_equal", targets, s.write.constant(ignored, dtype_of(targets) or "int64"))
    on, off = (s.write.prim(value, dtype or "float32") for value in (1.0, 0.0))
    hot = s("one_hot", targets, on, off, depth=classes, axis=-1)
    if weights is not None:
        hot = s("multiply", hot, weights)
    weight = s("multiply", s("sum", hot, axis=[-1]), s("astype", kept, dtype=dtype))
    if reduction == "mean":
        grad = s("divide", grad, s("sum", weight))
    slope = s("multiply", hot, s("astype", _last(s, kept, dims), dtype=dtype))
    if reduction == "none":
        grad = _last(s, grad, dims)
    return [s("negative", s("multiply", slope, grad)), None, None]


def _last(s: Step, value: ir.Value, dims: Any) -> ir.Value:
    """One value a row of the batch, as a column."""
    return s("expand_dims", value, axis=[-1]) if len(dims) > 1 else value


@gradient("nn.dropout")
def dropout(s: Step, grad: list[Any]) -> list[Gradient]:
    """The result is the operand, or where training drops elements, times the mask."""
    if grad[0] is None:
        return [None]
    return [s("multiply", grad[0], s.write.field(s.result, 1))]


def _constant_dims(s: Step, value: ir.Value) -> list[int]:
    dims = s.dims(value)
    known = [dim for dim in dims if isinstance(dim, int)]
    if len(known) < len(dims):
        raise s.refuse("of sizes that are not known")
    return known


@gradient("nn.conv2d")
def conv2d(s: Step, grad: ir.Value) -> list[Gradient]:
    """NCHW and OIHW, one group, constant sizes."""
    data, weight = s.operands
    own = s.attributes
    layouts = (own["data_layout"], own["kernel_layout"], own["out_layout"] or own["data_layout"])
    if layouts != ("NCHW", "OIHW", "NCHW") or own["groups"] != 1:
        raise s.refuse("in other layouts than NCHW and OIHW, or in groups")
    sizes, kernel, out = (_constant_dims(s, value) for value in (data, weight, grad))
    strides, dilation = _two(own["strides"]), _two(own["dilation"])
    padding = _four(own["padding"])
    reached = [
        (out[2 + i] - 1) * strides[i] + (kernel[2 + i] - 1) * dilation[i] + 1 for i in range(2)
    ]
    left_over = [sizes[2 + i] + padding[i] + padding[2 + i] - reached[i] for i in range(2)]
    of_data = s(
        "nn.conv2d_transpose",
        grad,
        weight,
        strides=strides,
        padding=padding,
        output_padding=left_over,
        dilation=dilation,
    )
    swapped = s(
        "nn.conv2d",
        s("permute_dims", data, axes=[1, 0, 2, 3]),
        s("permute_dims", grad, axes=[1, 0, 2, 3]),
        strides=dilation,
        padding=padding,
        dilation=strides,
    )
    of_weight = s("permute_dims", swapped, axes=[1, 0, 2, 3])
    if s.dims(of_weight) != kernel:
        bounds = ([2, 3], [0, 0], kernel[2:], [1, 1])
        of_weight = s("strided_slice", of_weight, *(s.write.shape(b) for b in bounds))
    return [of_data, of_weight]


def _list(value: Any) -> list[int]:
    return [value] if isinstance(value, int) else [int(v) for v in value]


def _two(value: Any) -> list[int]:
    given = _list(value)
    return given * 2 if len(given) == 1 else given


def _four(padding: Any) -> list[int]:
    given = _list(padding)
    if len(given) == 1:
        return given * 4
    return given if len(given) == 4 else [*given, *given]
