"""What types leave open about sizes, settled before an operator is legalised.

Sizes that must be equal and are not provably so (`n` and `m`) are compared at run time, by a
`relax.match_cast` of one to the other.  Operands of elementwise operators, `where` and `matmul`
whose sizes may also be one are first stretched to the shape that `relax.broadcast_shapes` finds.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import te
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_of
from relax_mlir.dialects.relax import binary, types
from relax_mlir.dialects.relax.shape import broadcast_shape
from relax_mlir.dialects.relax.spec import (
    SPECS,
    InferError,
    attributes_of,
    build,
    infer_result,
    operand_groups,
    spec_of,
)
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax_to_tir.operands import call_tensors, unnamed
from relax_mlir.lowering.relax_to_tir.prim_funcs import PrimFuncs
from relax_mlir.lowering.relax_to_tir.refine import refine
from relax_mlir.mlir import ir
from relax_mlir.tir import operators as O

_ELEMENTWISE = {name for names, _ in binary.FAMILIES for name in names} | {"where"}


def settle_sizes(op: ir.Operation, state: ModuleState, made: PrimFuncs) -> ir.Operation:
    """Check at run time what inference could not; returns the operation to legalise, a new one when
    its operands had to be broadcast."""
    spec = spec_of(op)
    if spec is None or not any(types.symbols_of(value.type) for value in op.operands):
        return op
    kinds = [_types(group) for group in operand_groups(op)]
    with dim_algebra.undecided_sizes() as pairs:
        try:
            inferred = infer_result(spec, kinds, attributes_of(op))
        except InferError:
            return op
    for given, wanted in dict.fromkeys(pairs):
        _require_equal(op, given, wanted)
    info = types.tensor_info(inferred)
    if info is not None and info.dims is None and (_is_open(op) or spec.name == "matmul"):
        return _broadcast_operands(op, spec.name, made, state)
    if _is_open_type(op.results[0].type) and not _is_open_type(inferred):
        refine(op.results[0], inferred)
    return op


def _is_open_type(kind: ir.Type) -> bool:
    """True for a tensor of unknown shape, and for a tuple that has one."""
    fields = types.tuple_fields(kind)
    if fields is not None:
        return any(map(_is_open_type, fields))
    info = types.tensor_info(kind)
    return info is not None and info.dims is None


def name_sizes(op: ir.Operation, made: PrimFuncs) -> None:
    """Give operands of known rank whose sizes only run time knows symbols for them."""
    for value in op.operands:
        info = types.tensor_info(value.type)
        if info is None or info.dims is not None or info.ndim < 0 or info.dtype is None:
            continue
        hint = name_of(value) or ""
        hint = hint if hint.isidentifier() else "size"
        symbols = [made.fresh_symbol(f"{hint}_{axis}") for axis in range(info.ndim)]
        _cast(value, types.tensor_type(symbols, info.dtype))


def _cast(value: ir.Value, kind: ir.Type) -> None:
    """Read `value` as of type `kind`, checked at run time, in all operators that use it."""
    users = [(use.owner.operation, use.operand_number) for use in value.uses]
    if isinstance(value, ir.BlockArgument):
        point = ir.InsertionPoint.at_block_begin(value.owner)
    else:
        definition = value.owner.operation
        point = ir.InsertionPoint.after(definition)
    with point:
        loc = unnamed(value.location)
        known = create("relax.match_cast", [kind], [value], loc=loc).result
    for user, position in users:
        if spec_of(user) is not None:
            user.operands[position] = known


def _types(group: ir.Value | list[ir.Value] | None) -> object:
    if isinstance(group, list):
        return [value.type for value in group]
    return None if group is None else group.type


def _is_open(op: ir.Operation) -> bool:
    spec = spec_of(op)
    return spec is not None and spec.name in _ELEMENTWISE


def _require_equal(op: ir.Operation, given: Dim, wanted: Dim) -> None:
    loc = unnamed(op.location)
    with ir.InsertionPoint(op):
        shape = create("relax.shape_expr", [types.shape_type([given])], loc=loc).result
        create("relax.match_cast", [types.shape_type([wanted])], [shape], loc=loc)


def _broadcast_operands(
    op: ir.Operation, name: str, made: PrimFuncs, state: ModuleState
) -> ir.Operation:
    """The same operation on operands of the shape that all of them broadcast to."""
    kept = 2 if name == "matmul" else 0  # the matrices do not broadcast
    shapes: list[list[Dim]] = []
    for value in op.operands:
        info = types.tensor_info(value.type)
        if info is None or info.dims is None:
            return op  # a scalar, or nothing is known
        shapes.append(list(info.dims[: len(info.dims) - kept] if info.ndim > kept else []))
    target = _common_shape(op, shapes, made)
    values = [
        _stretched(op, value, shape, target, made, state)
        for value, shape in zip(op.operands, shapes, strict=True)
    ]
    with ir.InsertionPoint(op):
        result = build(SPECS[name], values, attributes_of(op), loc=op.location)
    refine(op.results[0], result.type)
    op.results[0].replace_all_uses_with(result)
    op.erase()
    return result.owner.operation


def _common_shape(op: ir.Operation, shapes: Sequence[list[Dim]], made: PrimFuncs) -> list[Dim]:
    """The shape all broadcast to; sizes that only run time knows get symbols."""
    known = broadcast_shape(shapes)
    target = [made.fresh_symbol(f"size_{i}") if d is None else d for i, d in enumerate(known)]
    loc = unnamed(op.location)
    with ir.InsertionPoint(op):
        given = [create("relax.shape_expr", [types.shape_type(s)], loc=loc).result for s in shapes]
        joined = build(SPECS["broadcast_shapes"], [given], {}, loc=loc)
        create("relax.match_cast", [types.shape_type(target)], [joined], loc=loc)
    return target


def _stretched(
    op: ir.Operation,
    value: ir.Value,
    shape: Sequence[Dim],
    target: Sequence[Dim],
    made: PrimFuncs,
    state: ModuleState,
) -> ir.Value:
    """`value` with the sizes of `target`, where its own may be one at run time."""
    own = list(target[len(target) - len(shape) :])
    may = [d != 1 and not dim_algebra.equal(d, t) for d, t in zip(shape, own, strict=True)]
    if not any(may):
        return value
    info = types.tensor_info(value.type)
    assert info is not None and info.dims is not None
    new = [t if stretches else d for d, t, stretches in zip(shape, own, may, strict=True)]
    kind = types.tensor_type([*new, *info.dims[len(shape) :]], info.dtype)

    def copy(x: te.Tensor, sizes: Sequence[object]) -> te.Tensor:
        def element(*index: object) -> object:
            read = list(index)
            for axis, stretches in enumerate(may):
                if stretches:
                    zero = te.const(0, "int64")
                    one = x.shape[axis].equal(te.const(1, "int64"))
                    read[axis] = O.select(one, zero, index[axis])
            return x(*read)

        return te.compute(sizes, element, name="broadcast_to")

    return call_tensors(op, "broadcast_to", copy, [value], kind, state, made)
