"""`tir-lower-asserts`: a failed `T.Assert` is an error for the caller.

A function that checks conditions may raise, which whoever calls it has to know (`ffi.may_raise`).
A parallel loop cannot be left: it notes that a condition failed, and the check is made after it.
What is then left of a check becomes an exit with an error in `cf-assert-to-error`.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.ffi_signature import MAY_RAISE, is_prim_func
from relax_mlir.mlir import arith, cf, ir, memref, operations_named, scf

__all__ = ["LowerAsserts", "asserts_in"]


@register_pass("tir-lower-asserts")
@dataclass(frozen=True)
class LowerAsserts(Pass):
    """Mark TensorIR functions that check conditions, and take the checks out of parallel loops."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if not is_prim_func(function):
                continue
            checks = asserts_in(function)
            if checks:
                function.attributes[MAY_RAISE] = ir.UnitAttr.get()
            for op in checks:
                loop = _outermost_parallel(op)
                if loop is not None:
                    _check_after(function, op, loop)


def asserts_in(function: ir.Operation) -> list[ir.Operation]:
    """The checks of a function, in order."""
    return operations_named(function, ("cf.assert",))


def _outermost_parallel(op: ir.Operation) -> ir.Operation | None:
    found, outer = None, op.parent
    while outer is not None:
        if outer.operation.name == "scf.parallel":
            found = outer.operation
        outer = outer.operation.parent
    return found


def _check_after(function: ir.Operation, op: ir.Operation, loop: ir.Operation) -> None:
    """The loop stores where the condition does not hold, and the check comes after it."""
    byte = ir.IntegerType.get_signless(8)
    with op.location:
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
            flag = memref.alloca(ir.MemRefType.get([], byte), [], [])
        with ir.InsertionPoint(loop):
            memref.store(arith.constant(byte, 0), flag, [])
        with ir.InsertionPoint(op):
            always = arith.constant(ir.IntegerType.get_signless(1), 1)
            failed = scf.IfOp(arith.xori(op.operands[0], always))
            with ir.InsertionPoint(failed.then_block):
                memref.store(arith.constant(byte, 1), flag, [])
                scf.yield_([])
        with ir.InsertionPoint.after(loop):
            zero = arith.constant(byte, 0)
            held = arith.cmpi(arith.CmpIPredicate.eq, memref.load(flag, []), zero)
            cf.assert_(held, ir.StringAttr(op.attributes["msg"]).value)
    op.erase()
