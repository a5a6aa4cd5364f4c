"""Loops of TensorIR to TVMScript."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.tir import mixed
from relax_mlir.ir.text import name_of
from relax_mlir.mlir import ir
from relax_mlir.script.printer.tir_expr import region_end
from relax_mlir.tir import expr as E
from relax_mlir.tir.builder import loop_dtype
from relax_mlir.tir.expr_text import expr_text

if TYPE_CHECKING:
    from relax_mlir.script.printer.tir import PrimFuncPrinter

_SPELLINGS = {"parallel": "parallel", "vectorized": "vectorized", "unrolled": "unroll"}

Bounds = tuple[E.PrimExpr, E.PrimExpr, str]
"""Where a loop begins, how often it runs, and the dtype of its variable."""


def loop(printer: PrimFuncPrinter, op: ir.Operation) -> None:
    """`for i in range(8):`, or `for i, j in T.grid(8, 4):` of loops that nothing stands between."""
    nest = _grid(op) if printer.printer.options.syntax_sugar else [op]
    with ExitStack() as scopes:
        scopes.enter_context(printer.names.scope())
        bounds = [_bounds(printer, loop) for loop in nest]
        if not all(_shows_dtype(b) for b in bounds):
            nest, bounds = nest[:1], bounds[:1]
        names = [_induction(printer, loop, b) for loop, b in zip(nest, bounds, strict=True)]
        if len(nest) > 1:
            extents = ", ".join(expr_text(extent) for _, extent, _ in bounds)
            header = f"{printer.T}.grid({extents})"
        else:
            header = _iterator(printer, op, bounds[0])
        printer.printer.line(f"for {', '.join(names)} in {header}:")
        with printer.printer.indent():
            if not printer.body(nest[-1].regions[0].blocks[0]):
                printer.printer.line(f"{printer.T}.evaluate(0)")


def _grid(op: ir.Operation) -> list[ir.Operation]:
    """The loops from `op` in that T.grid can join: serial, from zero, without annotations, nothing
    between them, and no extent that is computed inside."""
    nest: list[ir.Operation] = []
    while _joinable(op, nest) and not _stored_annotations(op):
        nest.append(op)
        children = [v.operation for v in op.regions[0].blocks[0].operations]
        if len(children) != 1 or children[0].name != "tir.for":
            break
        op = children[0]
    return nest or [op]


def _joinable(op: ir.Operation, outer: list[ir.Operation]) -> bool:
    attributes = op.attributes
    if ir.StringAttr(attributes["kind"]).value != "serial":
        return False
    low, extent = mixed.join(attributes["bounds"], list(op.operands))
    if low != 0:
        return False
    variables = [loop.regions[0].blocks[0].arguments[0] for loop in outer]
    return isinstance(extent, int) or extent not in variables


def _bounds(printer: PrimFuncPrinter, op: ir.Operation) -> Bounds:
    attributes = op.attributes
    dtype = ir.StringAttr(attributes["dtype"]).value if "dtype" in attributes else "int32"
    low, extent = mixed.join(attributes["bounds"], list(op.operands))
    return printer.reader.index(low, dtype), printer.reader.index(extent, dtype), dtype


def _shows_dtype(bounds: Bounds) -> bool:
    """Whether the bounds as they are printed say the dtype of the variable."""
    low, extent, dtype = bounds
    return loop_dtype(low, extent) == dtype


def _induction(printer: PrimFuncPrinter, op: ir.Operation, bounds: Bounds) -> str:
    value = op.regions[0].blocks[0].arguments[0]
    name = printer.names.define(value, name_of(value) or "i")
    printer.reader.variables[value] = E.Var(name, bounds[2])
    low, extent = mixed.join(op.attributes["bounds"], list(op.operands))
    printer.loops[value] = (low, extent, bounds[2])
    return name


def _iterator(printer: PrimFuncPrinter, op: ir.Operation, bounds: Bounds) -> str:
    low, extent, dtype = bounds
    kind = ir.StringAttr(op.attributes["kind"]).value
    if isinstance(low, E.IntImm) and low.value == 0:
        arguments = [expr_text(extent)]
    else:
        arguments = [expr_text(low), expr_text(region_end(low, extent, dtype))]
    if kind == "thread_binding":
        arguments.append(f'thread="{ir.StringAttr(op.attributes["thread"]).value}"')
    annotations = _stored_annotations(op)
    if annotations:
        arguments.append(f"annotations={printer.annotations(annotations)}")
    if kind != "serial":
        return f"{printer.T}.{_SPELLINGS.get(kind, kind)}({', '.join(arguments)})"
    if not _shows_dtype(bounds):
        arguments.append(f'dtype="{dtype}"')
    is_range = len(arguments) <= 2 and not annotations and _shows_dtype(bounds)
    return f"{'range' if is_range else printer.T + '.serial'}({', '.join(arguments)})"


def _stored_annotations(op: ir.Operation) -> dict[str, Any]:
    attributes = op.attributes
    return from_attribute(attributes["annotations"]) if "annotations" in attributes else {}
