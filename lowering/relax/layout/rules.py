"""How operators take over a layout: a rule an operator, in one table.

A rule gets the conversion, the operation, its name and the order of axes (new axis i is old axis
order[i]) of an operand.  It writes the operation anew and notes its result, or returns False when
the operation has to see the layout it was written for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.dialects.relax import binary, layouts, nn, statistical, unary
from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.lowering.relax.layout import regroup
from relax_mlir.lowering.relax.layout.moved_values import MovedValues, Order, shape_dims
from relax_mlir.lowering.relax.rewriting import OperatorWriter, dims_of
from relax_mlir.mlir import ir

Rule = Callable[[MovedValues, ir.Operation, str, Order], bool]


def _elementwise(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    rank = len(order)
    ranks = [dims_of(value) for value in op.operands]
    if any(dims is None or len(dims) > rank for dims in ranks):
        return False
    write = c.writer(op)
    operands: list[ir.Value] = []
    for value, dims in zip(op.operands, ranks, strict=True):
        missing = rank - len(dims or ())
        if missing == rank:
            operands.append(value)
            continue
        operands.append(_broadcastable(c, write, value, missing, order))
    c.note(op, write.op(name, *operands, **attributes_of(op)), order)
    return True


def _broadcastable(
    c: MovedValues, write: OperatorWriter, value: ir.Value, missing: int, order: Order
) -> ir.Value:
    """An operand with as many axes as the result has, in its order."""
    if not missing:
        return c.into(write, value, order)
    array = None if value in c.moved else c.values.of(value)
    if array is not None:
        wide = array.reshape((1,) * missing + array.shape)
        return write.constant(wide.transpose(order).copy(), str(array.dtype))
    plain = c.restore(value) if value in c.moved else value
    wide = write.op("expand_dims", plain, axis=list(range(missing)))
    return c.permuted(write, wide, order)


def _pool(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    attributes = attributes_of(op)
    layout = attributes["layout"]
    data, *others = op.operands
    if data not in c.moved or len(layout) != len(order):
        return False
    if attributes.get("out_layout") not in (None, layout) or attributes.get("roi") is not None:
        return False
    attributes["layout"] = "".join(layout[i] for i in order)
    if attributes.get("out_layout"):
        attributes["out_layout"] = attributes["layout"]
    write = c.writer(op)
    c.note(op, write.op(name, c.into(write, data, order), *others, **attributes), order)
    return True


def _axis(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    attributes = attributes_of(op)
    axis = attributes["axis"]
    if isinstance(axis, list) and len(axis) == 1:
        axis = axis[0]
    if not isinstance(axis, int) or any(len(dims_of(v) or ()) != len(order) for v in op.operands):
        return False
    attributes["axis"] = order.index(axis % len(order))
    write = c.writer(op)
    operands = [c.into(write, value, order) for value in op.operands]
    made = write.op(name, operands if name == "concat" else operands[0], **attributes)
    c.note(op, made, order)
    return True


def _channel_vector(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    """An operator of data and a vector along `axis`."""
    data, vector = op.operands
    if data not in c.moved:
        return False
    attributes = attributes_of(op)
    attributes["axis"] = order.index(attributes["axis"] % len(order))
    write = c.writer(op)
    c.note(op, write.op(name, c.into(write, data, order), vector, **attributes), order)
    return True


def _reduction(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    attributes = attributes_of(op)
    axis = attributes["axis"]
    if axis is None:
        return False
    old = [a % len(order) for a in ([axis] if isinstance(axis, int) else axis)]
    axes = sorted(order.index(a) for a in old)
    attributes["axis"] = axes[0] if isinstance(axis, int) else axes
    write = c.writer(op)
    made = write.op(name, c.into(write, op.operands[0], order), **attributes)
    if not attributes["keepdims"]:
        left = [a for a in range(len(order)) if a not in old]
        order = tuple(left.index(a) for a in order if a in left)
    c.note(op, made, order)
    return True


def _pad(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    attributes = attributes_of(op)
    given = list(attributes["pad_width"])
    attributes["pad_width"] = [x for i in order for x in given[2 * i : 2 * i + 2]]
    write = c.writer(op)
    c.note(op, write.op(name, c.into(write, op.operands[0], order), **attributes), order)
    return True


def _permute_dims(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    """Another way to see the value that is there."""
    rank = len(order)
    axes = attributes_of(op)["axes"]
    axes = [a % rank for a in axes] if axes is not None else list(reversed(range(rank)))
    c.take_over(op, c.moved[op.operands[0]][0], tuple(axes.index(a) for a in order))
    return True


def _strided_slice(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    data, axes, *bounds = op.operands
    dims = shape_dims(axes)
    if data not in c.moved or dims is None or not all(isinstance(d, int) for d in dims):
        return False
    write = c.writer(op)
    moved = write.shape([order.index(int(d) % len(order)) for d in dims])
    made = write.op(name, c.into(write, data, order), moved, *bounds, **attributes_of(op))
    c.note(op, made, order)
    return True


def _broadcast_to(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    data, shape = op.operands
    dims = shape_dims(shape)
    if dims is None or len(dims) != len(order):
        return False
    write = c.writer(op)
    made = write.op(name, c.into(write, data, order), write.shape([dims[i] for i in order]))
    c.note(op, made, order)
    return True


def _normalisation(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    """Layer, group, instance and root-mean-square normalisation; what scales several axes is
    permuted as they are."""
    attributes = attributes_of(op)
    data, *others = op.operands
    axes = attributes["axes"]
    axes = [a % len(order) for a in ([axes] if isinstance(axes, int) else axes)]
    if data not in c.moved:
        return False
    write = c.writer(op)
    attributes["axes"] = sorted(order.index(a) for a in axes)
    if "channel_axis" in attributes:
        attributes["channel_axis"] = order.index(attributes["channel_axis"] % len(order))
    elif len(axes) > 1:
        own = tuple(axes.index(a) for a in order if a in axes)
        others = [c.into(write, value, own) for value in others]
    c.note(op, write.op(name, c.into(write, data, order), *others, **attributes), order)
    return True


def _stack(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    """The new axis is the outermost, wherever it was to be."""
    if any(len(dims_of(value) or ()) != len(order) for value in op.operands):
        return False
    axis = attributes_of(op)["axis"] % (len(order) + 1)
    write = c.writer(op)
    made = write.op(name, [c.into(write, value, order) for value in op.operands], axis=0)
    c.note(op, made, (axis, *(old + (old >= axis) for old in order)))
    return True


def _batch_norm(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    data, *others = op.operands
    if data not in c.moved:
        return False
    attributes = attributes_of(op)
    attributes["axis"] = order.index(attributes["axis"] % len(order))
    write = c.writer(op)

    def make() -> ir.Value:
        return write.op(name, c.into(write, data, order), *others, **attributes)

    return _fields(c, op, make, {0: order})


def _split(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    attributes = attributes_of(op)
    attributes["axis"] = order.index(attributes["axis"] % len(order))
    write = c.writer(op)

    def make() -> ir.Value:
        return write.op(name, c.into(write, op.operands[0], order), **attributes)

    return _fields(c, op, make, order)


def _fields(
    c: MovedValues,
    op: ir.Operation,
    make: Callable[[], ir.Value],
    orders: Mapping[int, Order] | Order,
) -> bool:
    """An operator of a tuple, whose fields have the same order, or those that are given."""
    users = [use.owner.operation for use in op.results[0].uses]
    if not all(user.name == "relax.tuple_get_item" for user in users):
        return False
    made = make()
    made.owner.operation.location = op.location
    c.done(op)
    for user in users:
        index = ir.IntegerAttr(user.attributes["index"]).value
        order = orders if isinstance(orders, tuple) else orders.get(index, (0,))
        c.note(user, OperatorWriter(user).field(made, index), order)
    return True


def _pixel_shuffle(c: MovedValues, op: ir.Operation, name: str, order: Order) -> bool:
    """Blocks of channels become blocks of pixels: a transposition that keeps channels last."""
    factor = attributes_of(op)["upscale_factor"]
    new, _ = c.moved[op.operands[0]]
    dims = dims_of(new)
    if order != (0, 2, 3, 1) or dims is None or not all(isinstance(d, int) for d in dims[1:]):
        return False
    batch, height, width, channels = dims[0], *(int(d) for d in dims[1:])
    left = channels // factor**2
    write = c.writer(op)
    apart = write.op("reshape", new, write.shape([batch, height, width, left, factor, factor]))
    mixed = write.op("permute_dims", apart, axes=[0, 1, 4, 2, 5, 3])
    shape = write.shape([batch, height * factor, width * factor, left])
    c.note(op, write.op("reshape", mixed, shape), order)
    return True


def _names(prefix: str, suffix: str = "") -> list[str]:
    return [f"{prefix}{ndim}d{suffix}" for ndim in layouts.SPATIAL]


ELEMENTWISE: tuple[str, ...] = (
    *(name for names, _ in unary.FAMILIES for name in names),
    *binary.ARITHMETIC,
    *binary.COMPARISONS,
    *(f"nn.{row[0]}" for row in nn.ACTIVATIONS),
    *"astype clip ewise_fma where logical_and logical_or logical_xor".split(),
)

_FAMILIES: tuple[tuple[Sequence[str], Any], ...] = (
    (ELEMENTWISE, _elementwise),
    ("concat nn.softmax nn.log_softmax flip cumsum cumprod repeat".split(), _axis),
    ((*statistical.REDUCTIONS, "argmax", "argmin"), _reduction),
    (
        [
            *_names("nn.max_pool"),
            *_names("nn.avg_pool"),
            *_names("nn.adaptive_avg_pool"),
            *_names("image.resize"),
        ],
        _pool,
    ),
    (("nn.prelu",), _channel_vector),
    (("nn.pad",), _pad),
    (("permute_dims",), _permute_dims),
    (("strided_slice",), _strided_slice),
    (("broadcast_to",), _broadcast_to),
    (
        ("nn.layer_norm", "nn.rms_norm", "nn.group_norm", "nn.instance_norm"),
        _normalisation,
    ),
    (("nn.batch_norm",), _batch_norm),
    (("split",), _split),
    (("stack",), _stack),
    (("nn.pixel_shuffle",), _pixel_shuffle),
    (("reshape", "flatten", "nn.batch_flatten", "squeeze", "expand_dims"), regroup.reshape),
)

RULES: dict[str, Rule] = {name: rule for names, rule in _FAMILIES for name in names}
"""The rule of each operator that takes over a layout."""
