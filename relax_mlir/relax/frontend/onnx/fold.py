"""Nodes whose result is known while importing: constants, and computations on shapes.

Numbers are computed by ONNX's own reference implementation.  Sizes over symbols (`n`, `n + 1`) are
computed here, by numpy on arrays of dimensions, so that the shape arithmetic that exporters write
(Shape, Gather, Concat, Reshape ...) leaves nothing to run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.relax.frontend.known import (
    SYMBOLIC_LIMIT,
    Known,
    absolute,
    divide,
    extreme,
    modulo,
    negative,
    object_array,
    order,
    same,
    total,
)

if TYPE_CHECKING:
    from relax_mlir.relax.frontend.onnx.node import Node

_RESULT_LIMIT = 1 << 20
"""Elements of the largest result that is computed while importing."""

# What random operators, operators with graphs, and those on sequences give is not a constant.
_NEVER = frozenset(
    "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Bernoulli Multinomial Dropout "
    "If Loop Scan SequenceMap Constant Optional OptionalGetElement OptionalHasElement "
    "SequenceConstruct SequenceEmpty SequenceAt SequenceInsert SequenceErase SequenceLength "
    "ConcatFromSequence SplitToSequence ImageDecoder".split()
)


def fold(node: Node) -> list[Any] | None:
    """The results of a node that can be computed now, else None."""
    symbolic = _SYMBOLIC.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if node.op_type in _SHAPES and symbolic is not None:
        result = symbolic(node)
        return None if result is None else [result]
    given = [value for value in node.inputs if value is not None]
    if not given or not all(isinstance(value, Known) for value in given):
        return None
    if any(v.is_parameter and v.array.size > 64 for v in given):
        return None
    if any(value.is_symbolic for value in given):
        result = None if symbolic is None else symbolic(node)
        return None if result is None else [result]
    results = _reference(node)
    if results is not None or symbolic is None or sum(v.array.size for v in given) > SYMBOLIC_LIMIT:
        return results
    if not all(map(_is_integer, given)):
        return None
    result = symbolic(node)
    return None if result is None else [result]


def _reference(node: Node) -> list[Any] | None:
    """The results by ONNX's reference implementation, None when it has none."""
    if node.op_type in _NEVER or node.domain not in ("", "ai.onnx"):
        return None
    if sum(v.array.size for v in node.inputs if v is not None) > _RESULT_LIMIT:
        return None
    if _expands(node) or _is_weight(node):
        return None
    from onnx.reference import ReferenceEvaluator

    names = list(node.proto.input)
    feeds = {
        name: value.array
        for name, value in zip(names, node.inputs, strict=True)
        if value is not None
    }
    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(node.proto, opsets={"": node.version})
            results = evaluator.run(None, feeds)
    except Exception:  # whatever it lacks is converted as other nodes are
        return None
    if not all(isinstance(result, (np.ndarray, np.generic)) for result in results):
        return None
    arrays = [np.asarray(result) for result in results]
    if any(array.dtype.kind not in "fiubV" or array.dtype == object for array in arrays):
        return None
    return [Known(array) for array in arrays]


def _expands(node: Node) -> bool:
    """Whether the result may be far larger than the inputs say."""
    sized = {"Expand": 1, "ConstantOfShape": 0, "Tile": 1, "Resize": 3, "Upsample": 1}
    at = sized.get(node.op_type)
    value = None if at is None else node.value(at)
    if value is None:
        return False
    return float(np.prod(np.abs(value.array.astype("float64")))) > _RESULT_LIMIT


def _is_weight(node: Node) -> bool:
    """Whether a node dequantizes a matrix or a kernel: products may read its bytes."""
    data = node.inputs[0]
    return node.op_type == "DequantizeLinear" and data is not None and len(data.shape or ()) > 1


# -- helpers ---------------------------------------------------------------------------------


def _objects(value: Known) -> np.ndarray:
    return object_array(value.elements(), value.shape)


def _known(array: Any, like: Known | str) -> Known | None:
    array = np.asarray(array, dtype=object)  # numpy gives an element where one is left
    if array.size > SYMBOLIC_LIMIT:
        return None
    return Known(array, like if isinstance(like, str) else like.dtype)


def _is_integer(value: Known) -> bool:
    return value.is_symbolic or value.array.dtype.kind in "iu"


def _dims(node: Node, index: int) -> list[Dim] | None:
    value = node.value(index)
    return None if value is None or isinstance(value, list) else node.importer.dims_of(value)


def _numbers(node: Node, index: int, attribute: str | None = None) -> list[int] | None:
    """Integers of an input or attribute, None when some are symbolic or nothing is given."""
    value = node.value(index)
    if value is None:
        given = node.attr(attribute) if attribute else None
        return None if given is None else [int(v) for v in given]
    array = value.numbers()
    return None if array is None else [int(v) for v in array.reshape(-1)]


# -- shapes ----------------------------------------------------------------------------------


def _shape(node: Node) -> Known | None:
    dims = _dims(node, 0)
    if dims is None:
        return None
    rank = len(dims)
    start, end = (
        min(max(v + rank if v < 0 else v, 0), rank)
        for v in (node.attr("start", 0), node.attr("end", rank))
    )
    return Known(object_array(dims[start:end]), "int64")


def _size(node: Node) -> Known | None:
    dims = _dims(node, 0)
    return None if dims is None else Known(object_array([dim_algebra.product(dims)], ()), "int64")


# -- arithmetic ------------------------------------------------------------------------------


def _elementwise(operation: Callable[..., Any], dtype: str | None = None) -> Any:
    """A fold of broadcast integer operands; `operation` gives None when it does not know."""

    def convert(node: Node) -> Known | None:
        values = [node.value(i) for i in range(len(node.inputs))]
        if not all(map(_is_integer, values)):
            return None
        arrays = np.broadcast_arrays(*(_objects(value) for value in values))
        results = [operation(*row) for row in zip(*(a.reshape(-1) for a in arrays), strict=True)]
        if any(result is None for result in results):
            return None
        if dtype is not None:
            return Known(np.array(results, dtype).reshape(arrays[0].shape))
        return _known(object_array(results, arrays[0].shape), values[0])

    return convert


def _where(node: Node) -> Known | None:
    condition, a, b = (node.value(i) for i in range(3))
    mask = condition.numbers()
    if mask is None or not (_is_integer(a) and _is_integer(b)):
        return None
    mask, x, y = np.broadcast_arrays(mask, _objects(a), _objects(b))
    chosen = [p if m else q for m, p, q in zip(mask.flat, x.flat, y.flat, strict=True)]
    return _known(object_array(chosen, mask.shape), a)


def _cast(node: Node) -> Known | None:
    from relax_mlir.relax.frontend.onnx.attributes import dtype_name

    value = node.value(0)
    target = node.value(1).dtype if node.op_type == "CastLike" else dtype_name(int(node.attr("to")))
    return Known(value.array, target) if target in ("int32", "int64") else None


# -- rearranging -----------------------------------------------------------------------------


def _gather(node: Node) -> Known | None:
    data, indices = node.value(0), node.value(1).numbers()
    if indices is None:
        return None
    return _known(np.take(_objects(data), indices, axis=node.attr("axis", 0), mode="wrap"), data)


def _concat(node: Node) -> Known | None:
    values = node.inputs
    if not all(map(_is_integer, values)):
        return None
    return _known(np.concatenate([_objects(v) for v in values], node.attr("axis", 0)), values[0])


def _slice(node: Node) -> Known | None:
    data = node.value(0)
    starts, ends = _numbers(node, 1, "starts"), _numbers(node, 2, "ends")
    axes = _numbers(node, 3, "axes")
    steps = _numbers(node, 4)
    if starts is None or ends is None or (node.has(3) and axes is None):
        return None
    index: list[slice] = [slice(None)] * data.ndim
    steps = steps or [1] * len(starts)
    for axis, start, end, step in zip(axes or range(len(starts)), starts, ends, steps, strict=True):
        stop = None if step < 0 and end < -data.shape[axis] else end
        index[axis] = slice(start, stop, step)
    return _known(_objects(data)[tuple(index)], data)


def _squeeze(node: Node) -> Known | None:
    data, axes = node.value(0), _numbers(node, 1, "axes")
    return _known(np.squeeze(_objects(data), None if axes is None else tuple(axes)), data)


def _unsqueeze(node: Node) -> Known | None:
    data, axes = node.value(0), _numbers(node, 1, "axes")
    return None if axes is None else _known(np.expand_dims(_objects(data), tuple(axes)), data)


def _reshape(node: Node) -> Known | None:
    data, shape = node.value(0), _numbers(node, 1, "shape")
    if shape is None:
        return None
    if not node.attr("allowzero", 0):
        shape = [data.shape[i] if size == 0 else size for i, size in enumerate(shape)]
    return _known(_objects(data).reshape(shape), data)


def _identity(node: Node) -> Known:
    return node.value(0)


def _expand(node: Node) -> Known | None:
    data, shape = node.value(0), _numbers(node, 1)
    if shape is None or int(np.prod(shape)) > SYMBOLIC_LIMIT:
        return None
    shape = list(np.broadcast_shapes(data.shape, tuple(shape)))
    return _known(np.broadcast_to(_objects(data), shape), data)


def _reduce_product(node: Node) -> Known | None:
    data, axes = node.value(0), _numbers(node, 1, "axes")
    if data.ndim != 1 or axes not in (None, [], [0], [-1]):
        return None
    shape = (1,) if node.attr("keepdims", 1) else ()
    return _known(object_array([dim_algebra.product(data.elements())], shape), data)


def _reduce_sum(node: Node) -> Known | None:
    data, axes = node.value(0), _numbers(node, 1, "axes")
    if data.ndim != 1 or axes not in (None, [], [0], [-1]):
        return None
    if not axes and node.attr("noop_with_empty_axes", 0):
        return data
    shape = (1,) if node.attr("keepdims", 1) else ()
    return _known(object_array([total(*data.elements())], shape), data)


_SHAPES = ("Shape", "Size")
"""Operators that need only the shape of their input."""

_SYMBOLIC: dict[str, Callable[[Any], Known | None]] = {
    "Shape": _shape,
    "Size": _size,
    "Add": _elementwise(dim_algebra.add),
    "Sub": _elementwise(dim_algebra.subtract),
    "Mul": _elementwise(dim_algebra.multiply),
    "Div": _elementwise(divide),
    "Mod": _elementwise(modulo),
    "Neg": _elementwise(negative),
    "Abs": _elementwise(absolute),
    "Sum": _elementwise(total),
    "Min": _elementwise(extreme(dim_algebra.minimum, -1)),
    "Max": _elementwise(extreme(dim_algebra.maximum, 1)),
    "Equal": _elementwise(same, "bool"),
    "Less": _elementwise(order(lambda d: d < 0), "bool"),
    "LessOrEqual": _elementwise(order(lambda d: d <= 0), "bool"),
    "Greater": _elementwise(order(lambda d: d > 0), "bool"),
    "GreaterOrEqual": _elementwise(order(lambda d: d >= 0), "bool"),
    "Where": _where,
    "Cast": _cast,
    "CastLike": _cast,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Reshape": _reshape,
    "Identity": _identity,
    "Expand": _expand,
    "ReduceProd": _reduce_product,
    "ReduceSum": _reduce_sum,
}
"""Operator -> its result for symbolic operands, or None when that is not a shape."""
