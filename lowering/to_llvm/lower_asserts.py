"""`tir-lower-asserts` and `cf-assert-to-error`: a failed `T.Assert` is an error for the caller.

Upstream's lowering of `cf.assert` ends the process.  Here the function leaves with an error raised
in the thread, which whoever called it finds (`ffi.may_raise`).  A parallel loop cannot be left: it
notes that a condition failed, and the check is made after it.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.ffi_signature import MAY_RAISE, is_prim_func
from relax_mlir.lowering.to_llvm.ffi_support import DECLARATIONS
from relax_mlir.lowering.to_llvm.llvm_module import call_c, declare, string_address
from relax_mlir.mlir import arith, cf, ir, memref, scf

__all__ = ["CfAssertToError", "LowerAsserts"]

ERROR_KIND = "RuntimeError"
"""What TVM raises for a failed assertion."""
_RAISE = "TVMFFIErrorSetRaisedFromCStr"


@register_pass("tir-lower-asserts")
@dataclass(frozen=True)
class LowerAsserts(Pass):
    """Mark TensorIR functions that check conditions, and take the checks out of parallel loops."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if not is_prim_func(function):
                continue
            checks = _asserts_in(function)
            if checks:
                function.attributes[MAY_RAISE] = ir.UnitAttr.get()
            for op in checks:
                loop = _outermost_parallel(op)
                if loop is not None:
                    _check_after(function, op, loop)


def _asserts_in(function: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "cf.assert":
            found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    return found


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


@register_pass("cf-assert-to-error")
@dataclass(frozen=True)
class CfAssertToError(Pass):
    """Leave a function with an error where a condition does not hold; for functions of blocks."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            for op in _asserts_in(function):
                _leave(state, function, op)


def _leave(state: ModuleState, function: ir.Operation, op: ir.Operation) -> None:
    """Split the block at a check: on with what follows, or out with the error."""
    block = op.block
    following = list(block.operations)
    following = following[[o.operation for o in following].index(op) + 1 :]
    goes_on, fails = block.create_after(), block.create_after()
    for later in following:
        goes_on.append(later.operation)
    body = state.module.body
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    with op.location:
        with ir.InsertionPoint(block):
            cf.CondBranchOp(op.operands[0], [], [], goes_on, fails)
        with ir.InsertionPoint(fails):
            declare(body, _RAISE, f"llvm.func @{_RAISE}{DECLARATIONS[_RAISE]}")
            message = ir.StringAttr(op.attributes["msg"]).value
            call_c(_RAISE, [string_address(body, t) for t in (ERROR_KIND, message)], None)
            zeros = [arith.constant(k, 0.0 if isinstance(k, ir.FloatType) else 0) for k in results]
            ir.Operation.create("func.return", operands=zeros)
    op.erase()
