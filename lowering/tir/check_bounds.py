"""Refuse what cannot run: accesses that are certainly outside their buffer, buffers that no memory
holds, elements that take less than a byte.

Only what certainly happens is refused: accesses in loops of known extents, under no condition,
whose index takes a value outside.  Everything else is left to run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relax_mlir.dialects.names import name_of
from relax_mlir.errors import CompileError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import dynamic, ir

ADDRESS_BITS = 46
"""Larger buffers than 2^46 bytes do not fit the address space that processors give a program."""


@dataclass(frozen=True)
class Range:
    """The values [low, high] of an index.  `exact`: both ends are taken; `loops` it depends on."""

    low: int
    high: int
    exact: bool = True
    loops: frozenset[ir.Value] = frozenset()


@register_pass("tir-check-bounds")
@dataclass(frozen=True)
class CheckBounds(Pass):
    """Refuse accesses outside buffers of known size and buffers larger than the address space."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" in function.attributes:
                name = ir.StringAttr(function.attributes["sym_name"]).value
                for block in function.regions[0].blocks:
                    for argument in block.arguments:
                        require_addressable(argument, name)
                for region in function.regions:
                    _check_region(region, name, "root", {})


def _check_region(
    region: ir.Region, function: str, block: str, ranges: dict[ir.Value, Range | None]
) -> None:
    for child in region.blocks:
        for view in child.operations:
            op = view.operation
            if op.name == "tir.alloc_buffer":
                require_addressable(op.results[0], function)
            elif op.name == "tir.free_variable":
                raise CompileError(
                    f"variable {name_of(op.results[0])} is not defined in function {function}",
                    hint="it is a part of a program: make the variable a parameter, or the size of "
                    "a buffer parameter",
                )
            elif op.name == "memref.load":
                if not _is_selected(op):
                    _check_access(op, 0, function, block, ranges)
            elif op.name == "memref.store":
                _check_access(op, 1, function, block, ranges)
            elif op.name == "tir.for":
                loop = op.opview
                if _bind_loop(loop, ranges):
                    _check_region(loop.body, function, block, ranges)
            elif op.name == "tir.block":
                inner = op.opview
                for variable, binding in zip(inner.iter_vars, inner.bindings, strict=True):
                    ranges[variable] = _range(binding, ranges)
                if not len(inner.predicate):
                    _check_region(inner.body, function, inner.sym_name.value, ranges)


def _bind_loop(loop: ir.OpView, ranges: dict[ir.Value, Range | None]) -> bool:
    """Whether the loop certainly runs; then its variable has a range, if it is known."""
    low, extent = loop.min, loop.extent
    if not isinstance(extent, int) or extent < 1:
        return False
    variable = loop.induction_variable
    known = isinstance(low, int)
    loops = frozenset([variable])
    ranges[variable] = Range(low, low + extent - 1, True, loops) if known else None
    return True


def require_addressable(buffer: ir.Value, function: str) -> None:
    """Raise CompileError for a buffer that no address space holds, however small its dynamic sizes
    are."""
    if not isinstance(buffer.type, ir.MemRefType):
        return
    require_whole_bytes(buffer, function)
    kind = ir.MemRefType(buffer.type)
    count = math.prod(size for size in kind.shape if size != dynamic())
    width = getattr(kind.element_type, "width", 64)
    if count * width > 8 << ADDRESS_BITS:
        shape = ", ".join("?" if size == dynamic() else str(size) for size in kind.shape)
        raise CompileError(
            f"{function}: buffer '{name_of(buffer)}' of shape ({shape}) takes "
            f"{count * width // 8} bytes, more than the 2^{ADDRESS_BITS} of the address space"
        )


def require_whole_bytes(buffer: ir.Value, function: str) -> None:
    """Raise CompileError for a buffer of elements of two to seven bits.

    MLIR would pack them, two four-bit integers a byte, while tensors hold one a byte.
    """
    element = ir.MemRefType(buffer.type).element_type
    width = getattr(element, "width", 8)
    if 1 < width < 8:
        raise CompileError(
            f"{function}: buffer '{name_of(buffer)}' has elements of type {element}, which the CPU "
            "back end does not compute with",
            hint="cast to int8 (or float32) before the tensor enters the program",
        )


def _is_selected(load: ir.Operation) -> bool:
    """Whether a choice decides if what is loaded matters."""
    pending = [load.results[0]]
    # Values are shared: rounds of a hash have as many ways through them as a tree has leaves.
    seen: set[ir.Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op = use.owner.operation
            if op.name == "arith.select":
                return True
            if op.name.startswith(("arith.", "math.")):
                pending += op.results
    return False


def _check_access(
    op: ir.Operation,
    position: int,
    function: str,
    block: str,
    ranges: dict[ir.Value, Range | None],
) -> None:
    buffer = op.operands[position]
    shape = ir.MemRefType(buffer.type).shape
    for axis, (size, index) in enumerate(
        zip(shape, list(op.operands)[position + 1 :], strict=True)
    ):
        found = None if size == dynamic() else _range(index, ranges)
        if found is None or (found.low >= 0 and found.high < size):
            continue
        if found.exact or found.low >= size or found.high < 0:
            action = "reads" if position == 0 else "writes"
            raise CompileError(
                f"{function}: block '{block}' {action} buffer '{name_of(buffer)}' outside: index "
                f"{axis} goes from {found.low} to {found.high}, the size is {size} "
                f"(in {op.location})"
            )


def _range(value: ir.Value, ranges: dict[ir.Value, Range | None]) -> Range | None:
    if value in ranges:
        return ranges[value]
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    found: Range | None = None
    if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.IntegerAttr):
        number = ir.IntegerAttr(op.attributes["value"]).value
        found = Range(number, number)
    elif op.name == "affine.apply":
        expr = ir.AffineMapAttr(op.attributes["map"]).value
        operands = [_range(operand, ranges) for operand in op.operands]
        found = _of_expression(expr.results[0], operands, expr.n_dims)
    ranges[value] = found
    return found


def _of_expression(expr: ir.AffineExpr, operands: list[Range | None], n_dims: int) -> Range | None:
    if isinstance(expr, ir.AffineConstantExpr):
        return Range(expr.value, expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return operands[expr.position]
    if isinstance(expr, ir.AffineSymbolExpr):
        return operands[n_dims + expr.position]
    left = _of_expression(expr.lhs, operands, n_dims)
    right = _of_expression(expr.rhs, operands, n_dims)
    if left is None or right is None:
        return None
    return _combined(expr, left, right)


def _combined(expr: ir.AffineExpr, left: Range, right: Range) -> Range | None:
    loops = left.loops | right.loops
    exact = left.exact and right.exact and not left.loops & right.loops
    if isinstance(expr, ir.AffineAddExpr):
        return Range(left.low + right.low, left.high + right.high, exact, loops)
    if right.low != right.high:
        return None
    factor = right.low
    if isinstance(expr, ir.AffineMulExpr):
        ends = sorted((left.low * factor, left.high * factor))
        return Range(ends[0], ends[1], exact, loops)
    if factor < 1:
        return None
    low, high = left.low // factor, left.high // factor
    if isinstance(expr, ir.AffineFloorDivExpr):
        return Range(low, high, exact, loops)
    if isinstance(expr, ir.AffineModExpr):
        if low == high:
            return Range(left.low % factor, left.high % factor, exact, loops)
        return Range(0, factor - 1, False, loops)
    return None
