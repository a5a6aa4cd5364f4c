"""`cf-assert-to-error`: where a condition does not hold, a function leaves with an error.

Upstream's lowering of `cf.assert` ends the process.  Here the error is raised in the thread, and
whoever called the function finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.ffi_support import DECLARATIONS
from relax_mlir.lowering.to_llvm.llvm_module import call_c, declare, string_address
from relax_mlir.lowering.to_llvm.lower_asserts import asserts_in
from relax_mlir.mlir import arith, cf, ir

__all__ = ["ERROR_KIND", "CfAssertToError"]

ERROR_KIND = "RuntimeError"
"""What TVM raises for a failed assertion."""
_RAISE = "TVMFFIErrorSetRaisedFromCStr"


@register_pass("cf-assert-to-error")
@dataclass(frozen=True)
class CfAssertToError(Pass):
    """Leave a function with an error where a condition does not hold; for functions of blocks."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            for op in asserts_in(function):
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
