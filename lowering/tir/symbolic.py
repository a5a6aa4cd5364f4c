"""What an index value or a buffer's size is in terms of the function's symbols.

Two sizes are the same number exactly when their dimensions (`dialects/dims.py`) are equal; sizes
that no symbol describes get a name of their own, which equals only itself.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects import dims
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.dims import Dim
from relax_mlir.mlir import dynamic, ir

_Combine = Callable[[Dim, Dim], Dim]
_Reader = Callable[[ir.Operation], "Dim | None"]


def argument_attributes(argument: ir.BlockArgument) -> dict[str, ir.Attribute]:
    """The attributes of a function argument (empty for the arguments of other blocks)."""
    function = argument.owner.owner.operation
    if function.name != "func.func" or "arg_attrs" not in function.attributes:
        return {}
    entry = ir.ArrayAttr(function.attributes["arg_attrs"])[argument.arg_number]
    return {named.name: named.attr for named in ir.DictAttr(entry)}


def dimension(value: int | ir.Value) -> Dim:
    """The dimension an index value holds."""
    if isinstance(value, int):
        return value
    if isinstance(value, ir.BlockArgument):
        name = argument_attributes(value).get("tir.name")
        return ir.StringAttr(name).value if name is not None else _own_name(value)
    op = value.owner.operation
    read = _READERS.get(op.name)
    result = read(op) if read is not None else None
    return _own_name(value) if result is None else result


def buffer_dimension(buffer: ir.Value, axis: int) -> Dim:
    """The size of a memref in one dimension."""
    size = ir.MemRefType(buffer.type).shape[axis]
    if size != dynamic():
        return size
    if isinstance(buffer, ir.BlockArgument):
        shape = argument_attributes(buffer).get("tir.shape")
        if shape is not None:
            return dims.canonical(from_attribute(shape)[axis])
        return _own_name(buffer, axis)
    op = buffer.owner.operation
    if op.name in ("tir.alloc_buffer", "memref.alloc", "memref.alloca"):
        shape = ir.MemRefType(buffer.type).shape
        return dimension(op.operands[sum(s == dynamic() for s in shape[:axis])])
    return _own_name(buffer, axis)


def _own_name(value: ir.Value, axis: int | None = None) -> str:
    name = value.get_name(use_local_scope=True).strip("%").replace("#", "_").replace("-", "m")
    return f"_v{name}" if axis is None else f"_v{name}_{axis}"


def _constant(op: ir.Operation) -> Dim | None:
    value = op.attributes["value"]
    return ir.IntegerAttr(value).value if isinstance(value, ir.IntegerAttr) else None


def _memref_dim(op: ir.Operation) -> Dim | None:
    axis = dimension(op.operands[1])
    return buffer_dimension(op.operands[0], axis) if isinstance(axis, int) else None


def _index_cast(op: ir.Operation) -> Dim | None:
    return dimension(op.operands[0])


def _affine_apply(op: ir.Operation) -> Dim | None:
    affine_map = ir.AffineMapAttr(op.attributes["map"]).value
    names = [str(dimension(v)) for v in op.operands]
    return _expression(affine_map.results[0], names, affine_map.n_dims)


def _expression(expr: ir.AffineExpr, names: list[str], n_dims: int) -> Dim | None:
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return dims.canonical(names[expr.position])
    if isinstance(expr, ir.AffineSymbolExpr):
        return dims.canonical(names[n_dims + expr.position])
    combine = _COMBINE.get(type(expr))
    if combine is None:
        return None
    left, right = (_expression(e, names, n_dims) for e in (expr.lhs, expr.rhs))
    return None if left is None or right is None else combine(left, right)


def _arith(combine: _Combine) -> _Reader:
    def read(op: ir.Operation) -> Dim:
        left, right = (dimension(v) for v in op.operands)
        return combine(left, right)

    return read


_COMBINE: dict[type[ir.AffineExpr], _Combine] = {
    ir.AffineAddExpr: dims.add,
    ir.AffineMulExpr: dims.multiply,
    ir.AffineFloorDivExpr: dims.floordiv,
    ir.AffineModExpr: dims.floormod,
}
_READERS: dict[str, _Reader] = {
    "arith.constant": _constant,
    "memref.dim": _memref_dim,
    "arith.index_cast": _index_cast,
    "affine.apply": _affine_apply,
    "arith.addi": _arith(dims.add),
    "arith.subi": _arith(dims.subtract),
    "arith.muli": _arith(dims.multiply),
    "arith.floordivsi": _arith(dims.floordiv),
    "arith.maxsi": _arith(dims.maximum),
    "arith.minsi": _arith(dims.minimum),
}
