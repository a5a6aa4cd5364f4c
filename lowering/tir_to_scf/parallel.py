"""`T.parallel`: iterations that run on the cores, as `scf.parallel`.

The outermost parallel loop is divided among the cores; those inside it run one iteration after the
other, each on the core that runs the outer iteration.  A loop that calls registered functions stays
on its thread: they may be Python, which runs one thread at a time, and their errors belong to the
thread that called.
"""

from __future__ import annotations

from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.tir_to_scf.structure import (
    bounds_of,
    enclosing,
    serial_loop,
    take_body,
)
from relax_mlir.lowering.to_llvm.num_threads import mark_parallel
from relax_mlir.mlir import ir

__all__ = ["lower_parallel"]


def lower_parallel(loop: ForOp) -> None:
    """Replace a parallel `tir.for`, whose body is lowered, by an `scf.parallel`."""
    if _is_nested(loop.operation) or _calls_registered_functions(loop.operation):
        serial_loop(loop)
        return
    created = ir.Operation.create(
        "scf.parallel",
        operands=list(bounds_of(loop)),
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 0])},
        regions=1,
    )
    function = enclosing(loop.operation, "func.func")
    assert function is not None, "a loop is inside a function"
    mark_parallel(function)
    body = created.regions[0].blocks.append(ir.IndexType.get())
    with ir.InsertionPoint(body):
        end = ir.Operation.create("scf.reduce")
    take_body(loop, body, end)


def _calls_registered_functions(op: ir.Operation) -> bool:
    found = False

    def visit(inner: ir.Operation) -> ir.WalkResult:
        nonlocal found
        if inner.name == "tir.call" and ir.StringAttr(inner.attributes["kind"]).value == "packed":
            found = True
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(visit)
    return found


def _is_nested(op: ir.Operation) -> bool:
    outer = op.parent
    while outer is not None:
        view = outer.operation.opview
        if isinstance(view, ForOp) and view.kind.value == "parallel":
            return True
        if outer.operation.name == "scf.parallel":
            return True
        outer = outer.operation.parent
    return False
