"""Functions inside functions: their definition, and calls of functions that are values.

No `from __future__ import annotations` here: the bindings evaluate the field annotations.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.dialect import CallableType, Relax
from relax_mlir.dialects.relax.structure import VariadicOperation
from relax_mlir.mlir import ext, ir


class LocalFunctionOp(Relax.Operation, name="local_function", traits=[ext.Pure]):
    """`@R.function` inside a function: a value that may use those around it.

    The body takes the parameters and ends in `relax.yield`.  With the unit attribute `recursive`
    the first argument of the body is the function itself.  Discardable: `pure` (false),
    `attrs` (a dictionary).
    """

    result: ext.Result[Any]
    body: ext.Region

    def verify_region_invariants(self) -> bool:
        kind = self.operation.results[0].type
        if not isinstance(kind, ir.FunctionType):
            return self._fail(f"makes a function, not {kind}")
        blocks = list(self.body.blocks)
        if len(blocks) != 1 or not len(blocks[0].operations):
            return self._fail("needs one block that ends in relax.yield")
        own = [kind] if "recursive" in self.operation.attributes else []
        given = [argument.type for argument in blocks[0].arguments]
        if given != [*own, *kind.inputs]:
            return self._fail(f"the body of a {kind} takes its parameters")
        last = list(blocks[0].operations)[-1].operation
        if last.name != "relax.yield":
            return self._fail(f"must end in relax.yield, ends in {last.name}")
        reason = types.conflict(last.operands[0].type, kind.results[0])
        return reason is None or self._fail(f"gives another type than {kind}: {reason}")

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"relax.local_function: {message}")
        return False


class CallValueOp(VariadicOperation, name="call_value"):
    """A call of a function that is a value: a parameter, or one defined inside the function."""

    callee: ext.Operand[Any]
    arguments: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind = self.operation.operands[0].type
        given = len(self.operation.operands) - 1
        if isinstance(kind, ir.FunctionType):
            wanted = len(kind.inputs)
            return wanted == given or self._fail(f"{kind} takes {wanted} arguments, {given} given")
        if kind == types.object_type() or isinstance(kind, CallableType):
            return True
        return self._fail(f"only functions can be called, this is {kind}")

    def _fail(self, message: str) -> bool:
        self.location.emit_error(f"relax.call_value: {message}")
        return False


class MakeClosureOp(VariadicOperation, name="make_closure", traits=[ext.Pure]):
    """`R.make_closure`: a function of the module whose last parameters are given already."""

    callee: ir.FlatSymbolRefAttr
    captured: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]

    def verify_invariants(self) -> bool:
        kind = self.operation.results[0].type
        if _may_be_called(kind):
            return True
        self.location.emit_error(f"relax.make_closure: makes a function, not {kind}")
        return False


class _InvokesClosure(VariadicOperation):
    """Calls a closure; the type of the result is declared."""

    def verify_invariants(self) -> bool:
        kind = self.operation.operands[0].type
        if _may_be_called(kind):
            return True
        name = self.operation.name
        self.location.emit_error(f"{name}: only functions can be called, this is {kind}")
        return False


class InvokeClosureOp(_InvokesClosure, name="invoke_closure"):
    """`R.invoke_closure`: calls a closure, which may have effects."""

    closure: ext.Operand[Any]
    arguments: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]


class InvokePureClosureOp(_InvokesClosure, name="invoke_pure_closure", traits=[ext.Pure]):
    """`R.invoke_pure_closure`: calls a closure that is promised to have no effects."""

    closure: ext.Operand[Any]
    arguments: Sequence[ext.Operand[Any]]
    result: ext.Result[Any]


def _may_be_called(kind: ir.Type) -> bool:
    return isinstance(kind, (ir.FunctionType, CallableType)) or kind == types.object_type()
